/** The file of the master key: 32 bytes in base64, for its owner alone. Never half written, never readable by others for a moment. */
import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

export class MasterKeyError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'MasterKeyError'
  }
}

/** The key in the file, or null when there is no file. */
export async function readMasterKey(file: string): Promise<Buffer | null> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new MasterKeyError(`The master key ${file} cannot be read: ${(error as Error).message}`)
  }
  const key = Buffer.from(text.trim(), 'base64')
  if (key.length !== 32) throw new MasterKeyError(`The master key ${file} does not hold 32 bytes in base64.`)
  return key
}

interface Access {
  uid: number
  gid: number
  mode: number
}

/** Makes a key. Never over an existing file: EEXIST then. `access` is whose it becomes, where that is not this process. */
export async function createMasterKey(file: string, access: Access | null = null): Promise<Buffer> {
  const key = randomBytes(32)
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
    // A link, unlike a rename, does not write over what is there.
    await link(aside, file)
  } finally {
    await handle.close()
    await rm(aside, { force: true })
  }
  await syncFolder(dirname(file))
  return key
}

/** The new file is the key from here on: there is no moment without one, nor with half of one. */
export async function replaceMasterKey(file: string, by: string): Promise<void> {
  await rename(by, file)
  await syncFolder(dirname(file))
}

/** Where the file itself lies, and who may read it: what replaces it has to be read by the same. */
export async function lookAtMasterKey(path: string): Promise<{ file: string; access: Access }> {
  const file = await realpath(path)
  const { uid, gid, mode } = await stat(file)
  // Others than owner and group had no business with it before either.
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
