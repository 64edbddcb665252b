/** The master key file: 32 bytes in base64, readable by its owner only. It is never partially written or briefly readable by others. */
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { keyId } from './cipher.ts'

export class MasterKeyError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'MasterKeyError'
  }
}

/** The key, or null when there is no such file. */
export async function readMasterKey(file: string): Promise<Buffer | null> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new MasterKeyError(`The master key ${file} cannot be read: ${(error as Error).message}`)
  }
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length !== 32) throw new MasterKeyError(`The master key ${file} does not contain 32 bytes in base64.`)
  return key
}

interface Access {
  uid: number
  gid: number
  mode: number
}

/** Creates a key and never overwrites a file (EEXIST). `access` sets an owner other than this process. */
export async function createMasterKey(file: string, access: Access | null = null): Promise<Buffer> {
  const key = randomBytes(32)
  await writeMasterKey(file, key, access)
  return key
}

/** Never overwrites a file (EEXIST). */
export async function writeMasterKey(file: string, key: Buffer, access: Access | null): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const aside = `${file}.${randomUUID()}.tmp`
  const handle = await open(aside, 'wx', 0o600)
  try {
    await handle.writeFile(`${key.toString('base64')}\n`)
    if (access !== null) {
      await handle.chown(access.uid, access.gid)
      await handle.chmod(access.mode)
    }
    await handle.sync()
    // A link, unlike a rename, never overwrites a file.
    await link(aside, file)
  } finally {
    await handle.close()
    await rm(aside, { force: true })
  }
  await syncFolder(dirname(file))
}

const uuid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/.source
const unfinishedName = new RegExp(String.raw`^\.(?:next|replaced-[\d-]{10}-[\da-f]{16})\.${uuid}\.tmp$`)

/** Removes the keys that a killed rotation had not named yet. Only for the holder of the lock of the rotation. */
export async function removeUnfinishedKeys(file: string): Promise<void> {
  const name = basename(file)
  for (const each of await readdir(dirname(file)))
    if (each.startsWith(name) && unfinishedName.test(each.slice(name.length)))
      await rm(join(dirname(file), each), { force: true })
}

/** The end of the name of an earlier key beside the current one: the day of its end, and its id. */
const keptName = /\.replaced-\d{4}-\d{2}-\d{2}-[0-9a-f]{16}$/
const keptMax = 100

/** Whether the file, or the one that it links to, has the name of an earlier key. */
export async function hasKeptName(file: string): Promise<boolean> {
  return keptName.test(await realpath(file))
}

/** Keeps a key beside its successor, for the backups that only it opens. Again after an interruption, it does nothing. */
export async function keepMasterKey(file: string, { key, access }: { key: Buffer; access: Access }): Promise<void> {
  if ((await keptMasterKeys(file, [keyId(key)])).length > 0) return
  await writeMasterKey(`${file}.replaced-${new Date().toISOString().slice(0, 10)}-${keyId(key)}`, key, access)
}

/** The files beside the master key that have one of these keys. */
export async function keptMasterKeys(path: string, ids: readonly string[]): Promise<string[]> {
  const file = existsSync(path) ? await realpath(path) : path
  const names = existsSync(dirname(file)) ? await readdir(dirname(file)) : []
  const kept = names.filter((name) => name.startsWith(`${basename(file)}.`) && keptName.test(name)).toSorted()
  const found: string[] = []
  for (const name of kept.slice(-keptMax)) {
    const each = join(dirname(file), name)
    const key = await readMasterKey(each).catch(isNoKey)
    if (key !== null && ids.includes(keyId(key))) found.push(each)
  }
  return found
}

/** Says what to do where a rotation kept one of these keys beside the file. Null: it kept none. */
export async function keptKeyRemedy(file: string, ids: readonly string[]): Promise<string | null> {
  const [kept] = await keptMasterKeys(file, ids)
  if (kept === undefined) return null
  return `svc self-host rotate-key kept it as ${kept}: copy that to ${file}. If another server uses the key that is there now, set SVC_MASTER_KEY_FILE to a copy instead.`
}

/** A file that is damaged or that another user owns opens nothing. */
function isNoKey(): null {
  return null
}

/** Replaces the file atomically: a complete key exists at any time. */
export async function replaceMasterKey(file: string, by: string): Promise<void> {
  await rename(by, file)
  await syncFolder(dirname(file))
}

/** The real path of the file and its permissions, which a replacement must keep. */
export async function checkMasterKey(path: string): Promise<{ file: string; access: Access }> {
  const file = await realpath(path)
  const { uid, gid, mode } = await stat(file)
  // Permissions beyond owner and group are dropped.
  return { file, access: { uid, gid, mode: 0o600 | (mode & 0o040) } }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
