/** A local file that appears whole or not at all, also after a crash. */
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { handledElsewhere } from '../../deadline.ts'
import { inheritOwner, inheritOwners } from './inherit-owner.ts'
import { directBytes, NewFile } from './new-file.ts'
import type { Chunks } from './place.ts'

/** The end of the name of a file while it is written. */
export const partialSuffix = '.partial'

/** Returns once the file is on the disk under its name. */
export async function writeFileWhole(path: string, chunks: Chunks | string): Promise<void> {
  const folder = dirname(path)
  await inheritOwners(folder, await mkdir(folder, { recursive: true, mode: 0o700 }))
  const partial = `${path}${partialSuffix}`
  try {
    await writeSynced(partial, typeof chunks === 'string' ? [Buffer.from(chunks)] : gathered(chunks))
    await inheritOwner(partial)
    await rename(partial, path)
    await sync(folder)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** Writes a chunk while the next one is read. */
async function writeSynced(path: string, chunks: Iterable<Uint8Array> | Chunks): Promise<void> {
  const file = await NewFile.open(path)
  let writing = Promise.resolve()
  try {
    for await (const chunk of chunks) {
      await writing
      writing = awaitedLater(file.write(chunk))
    }
    await writing
    await file.sync()
  } finally {
    await Promise.allSettled([writing])
    await file.close()
  }
}

function awaitedLater(work: Promise<void>): Promise<void> {
  work.catch(handledElsewhere)
  return work
}

/**
 * Gives two buffers in turn: one is filled while the other is written. git and sockets give small chunks, each write is a
 * task of its own, and new memory for each of them would cost more than the copy.
 */
async function* gathered(chunks: Chunks): AsyncIterable<Uint8Array> {
  let buffer = new Uint8Array(directBytes)
  let [other, filled]: [Uint8Array<ArrayBuffer> | null, number] = [null, 0]
  for await (const chunk of chunks)
    for (let from = 0; from < chunk.length;) {
      const part = chunk.subarray(from, from + buffer.length - filled)
      buffer.set(part, filled)
      from += part.length
      filled += part.length
      if (filled < buffer.length) continue
      yield buffer
      ;[buffer, other, filled] = [other ?? new Uint8Array(directBytes), buffer, 0]
    }
  yield buffer.subarray(0, filled)
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
