/**
 * The key of encrypted backups, in the format of age (https://age-encryption.org): an identity, which can open them, or
 * only its recipient (`age1…`), which can write them.
 */
import { open, readFile } from 'node:fs/promises'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { StartupError } from '../startup/startup-error.ts'

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

/** Makes the key at the first encrypted backup. Never overwrites a file. */
export async function readOrMakeKeyFile(path: string): Promise<BackupKey & { isNew: boolean }> {
  const identity = await generateX25519Identity()
  const recipient = await identityToRecipient(identity)
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return null
    throw new StartupError(`The key file ${path} cannot be made: ${error.message}. Nothing was changed.`)
  })
  if (file === null) return { ...(await readKeyFile(path)), isNew: false }
  try {
    await file.writeFile(
      `# The key of backups of svc, in the format of age.\n# public key: ${recipient}\n${identity}\n`,
    )
    await file.sync()
  } finally {
    await file.close()
  }
  return { recipient, identity, isNew: true }
}

async function recipientOf(identity: string, path: string): Promise<string> {
  try {
    return await identityToRecipient(identity)
  } catch {
    throw new StartupError(`The identity in the key file ${path} is damaged. Nothing was changed.`)
  }
}
