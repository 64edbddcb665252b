/** Copies the packs of a repository to the place of backups as they are, which is as fast as a copy of files. */
import { type FileHandle, open } from 'node:fs/promises'
import { objectFormat, type ObjectFormat, orIfAbsent, packPaths, readChecksummed } from '@svc/git'
import type { StoredFile } from './manifest.ts'
import type { Chunks } from './place/place.ts'

/** Null: the pack has no object. */
export type StorePack = (pack: Chunks) => Promise<StoredFile | null>

export interface CopiedPacks {
  /** Copies what was added since, too. `unpacked` has the objects that are in no pack of the repository by now. */
  complete(unpacked: ReadableStream<Uint8Array>): Promise<StoredFile[]>
}

/** git joins them when it tidies, long before there are more. */
const packsMax = 60

/** Null: git had better write one, since each would be a file of its own in the place, or they are not here alone. */
export async function copyPacks(dir: string, store: StorePack): Promise<CopiedPacks | null> {
  const format = await objectFormat(dir)
  const copied = new Map<string, StoredFile | null>()
  const copyAll = async () => {
    let gone = ''
    for (;;) {
      const path = (await requirePacks(dir)).find((each) => !copied.has(each))
      if (path === undefined) return
      // Once it is open, git may join it with others. If that comes before, the next list has the joined one.
      const file = await open(path).catch(orIfAbsent(null))
      if (file !== null) copied.set(path, await store(intact({ path, file, format })))
      else if (path === gone)
        throw new Error(`${path} cannot be opened. It may be a link to a disk that is not mounted.`)
      else gone = path
    }
  }
  const packs = await packPaths(dir)
  if (packs === null || packs.length > packsMax) return null
  await copyAll()
  return {
    async complete(unpacked) {
      const rest = await store(unpacked as unknown as Chunks)
      // An object that was in no copied pack may have come into another one before git looked.
      await copyAll()
      return [...copied.values(), rest].filter((pack) => pack !== null)
    },
  }
}

async function requirePacks(dir: string): Promise<string[]> {
  const paths = await packPaths(dir)
  if (paths === null) throw new Error(`${dir} began to borrow objects of another repository.`)
  return paths
}

const countAt = 8
const headBytes = countAt + 4

/** Counts the objects of a pack while its chunks are read. The size does not tell: one tiny object adds next to nothing. */
export function countObjects(pack: Chunks): { chunks: Chunks; objects: () => number } {
  let head = Buffer.alloc(0)
  async function* read(): Chunks {
    for await (const chunk of pack) {
      if (head.length < headBytes) head = Buffer.concat([head, chunk.subarray(0, headBytes - head.length)])
      yield chunk
    }
  }
  return { chunks: read(), objects: () => head.readUInt32BE(countAt) }
}

/** Throws at the end if the pack differs from its checksum: a damaged one would be found when it is needed. */
async function* intact({ path, file, format }: { path: string; file: FileHandle; format: ObjectFormat }): Chunks {
  const { chunks, isIntact } = readChecksummed(file, format)
  yield* chunks
  if (!isIntact())
    throw new Error(`${path} is damaged: it differs from its checksum. svc self-host check and git fsck say more.`)
}
