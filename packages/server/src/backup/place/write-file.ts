/** A local file that appears whole or not at all, also after a crash. */
import { createWriteStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** The end of the name of a file while it is written. */
export const partialSuffix = '.partial'

/** Returns once the file is on the disk under its name. */
export async function writeFileWhole(path: string, chunks: AsyncIterable<Uint8Array> | string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const partial = `${path}${partialSuffix}`
  try {
    await pipeline(
      typeof chunks === 'string' ? [Buffer.from(chunks)] : chunks,
      createWriteStream(partial, { mode: 0o600 }),
    )
    await sync(partial)
    await rename(partial, path)
    await sync(dirname(path))
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** A rename survives a crash once the file and then its folder are synced. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
