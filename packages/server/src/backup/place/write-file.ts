/** A local file that appears whole or not at all, also after a crash. */
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { handledElsewhere } from '../../deadline.ts'
import { inheritOwner, inheritOwners } from './inherit-owner.ts'

/** The end of the name of a file while it is written. */
export const partialSuffix = '.partial'

const writeBytes = 1024 ** 2
/** The disk is never farther behind: with gigabytes to write, each small write of other processes would wait for a part of them. */
export const syncBytes = 16 * 1024 ** 2

/** Returns once the file is on the disk under its name. */
export async function writeFileWhole(path: string, chunks: AsyncIterable<Uint8Array> | string): Promise<void> {
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
async function writeSynced(path: string, chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'w', 0o600)
  let [writing, syncing, behind] = [Promise.resolve(), Promise.resolve(), 0]
  try {
    for await (const chunk of chunks) {
      await writing
      writing = awaitedLater(file.writeFile(chunk))
      behind += chunk.length
      if (behind < syncBytes) continue
      await syncing
      syncing = awaitedLater(file.datasync())
      behind = 0
    }
    await Promise.all([writing, syncing])
    await file.sync()
  } finally {
    await Promise.allSettled([writing, syncing])
    await file.close()
  }
}

function awaitedLater(work: Promise<void>): Promise<void> {
  work.catch(handledElsewhere)
  return work
}

/** git and sockets give small chunks, and each write is a task of its own. */
async function* gathered(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    waiting.push(chunk)
    bytes += chunk.length
    if (bytes < writeBytes) continue
    yield joined(waiting)
    waiting = []
    bytes = 0
  }
  yield joined(waiting)
}

const joined = (chunks: Uint8Array[]) => (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))

/** A rename survives a crash once the file and then its folder are synced. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
