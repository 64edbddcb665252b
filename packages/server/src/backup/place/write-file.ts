/** A local file that appears whole or not at all, also after a crash. */
import { createWriteStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** The end of the name of a file while it is written. */
export const partialSuffix = '.partial'

const writeBytes = 1024 ** 2

/** Returns once the file is on the disk under its name. */
export async function writeFileWhole(path: string, chunks: AsyncIterable<Uint8Array> | string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const partial = `${path}${partialSuffix}`
  try {
    await pipeline(
      typeof chunks === 'string' ? [Buffer.from(chunks)] : gathered(chunks),
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

/** git and sockets give small chunks, and each write is a task of its own. */
async function* gathered(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    waiting.push(chunk)
    bytes += chunk.length
    if (bytes < writeBytes) continue
    yield Buffer.concat(waiting)
    waiting = []
    bytes = 0
  }
  yield Buffer.concat(waiting)
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
