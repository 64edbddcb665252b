/**
 * The key of encrypted backups, in the format of age (https://age-encryption.org): an identity, which can open them, or
 * only its recipient (`age1…`), which can write them.
 */
import { access, constants, lstat, open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { StartupError } from '../startup/startup-error.ts'
import { inheritOwner } from './place/inherit-owner.ts'

export interface BackupKey {
  recipient: string
  /** Null: the file has only the recipient. */
  identity: string | null
}

export async function readKeyFile(path: string): Promise<BackupKey> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new StartupError(`The key file ${path} cannot be read: ${error.message}. Nothing was changed.`)
  })
  const lines = text.split('\n').map((line) => line.trim())
  const identity = lines.find((line) => line.startsWith('AGE-SECRET-KEY-')) ?? null
  const recipient =
    identity === null ? lines.find((line) => line.startsWith('age1')) : await recipientOf(identity, path)
  if (recipient !== undefined) return { recipient, identity }
  throw new StartupError(
    `The key file ${path} has neither an age identity (AGE-SECRET-KEY-…) nor a recipient (age1…). Nothing was changed.`,
  )
}

export interface WritingKey extends BackupKey {
  /** Saves a new key in its file. Null: the file was there. */
  save: (() => Promise<void>) | null
}

/** A missing file is made later, by `save`, so that a backup that fails before it needs the key leaves none. */
export async function readOrMakeKey(path: string): Promise<WritingKey> {
  if (await isThere(path)) return { ...(await readKeyFile(path)), save: null }
  await access(dirname(path), constants.W_OK).catch((error: NodeJS.ErrnoException) => notMade(path, error))
  const identity = await generateX25519Identity()
  const recipient = await identityToRecipient(identity)
  return { recipient, identity, save: () => saveKey(path, { recipient, identity }) }
}

/** A link to a missing file counts, too: it is read, and refused. */
async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    return notMade(path, error as NodeJS.ErrnoException)
  }
}

/** Never overwrites a file. */
async function saveKey(path: string, { recipient, identity }: { recipient: string; identity: string }): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => notMade(path, error))
  try {
    await file.writeFile(
      `# The key of backups of svc, in the format of age.\n# public key: ${recipient}\n${identity}\n`,
    )
    await inheritOwner(path)
    await file.sync()
  } catch (error) {
    await rm(path, { force: true })
    return notMade(path, error as NodeJS.ErrnoException)
  } finally {
    await file.close()
  }
}

function notMade(path: string, { code, message }: NodeJS.ErrnoException): never {
  throw new StartupError(
    code === 'EEXIST'
      ? `Another program made the key file ${path} meanwhile. Run the command again. Nothing was changed.`
      : `The key file ${path} cannot be made: ${message}. Choose another file, or mend this. Nothing was changed.`,
  )
}

async function recipientOf(identity: string, path: string): Promise<string> {
  try {
    return await identityToRecipient(identity)
  } catch {
    throw new StartupError(`The identity in the key file ${path} is damaged. Nothing was changed.`)
  }
}
