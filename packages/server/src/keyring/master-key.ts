import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
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

/** Makes the key for data that has none yet. Never over an existing file: O_EXCL. */
export async function createMasterKey(file: string): Promise<Buffer> {
  const key = randomBytes(32)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(`${key.toString('base64')}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  return key
}
