/** Copies the packs of a repository to the place of backups as they are, which is as fast as a copy of files. */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { orIfAbsent, packPaths } from '@svc/git'
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
const readBytes = 1024 ** 2
const sha1NameMax = 'pack-.pack'.length + 40

/** Null: there are too many. Each would be a file of its own in the place. */
export async function copyPacks(dir: string, store: StorePack): Promise<CopiedPacks | null> {
  const copied = new Map<string, StoredFile | null>()
  const copyAll = async () => {
    for (;;) {
      const path = (await packPaths(dir)).find((each) => !copied.has(each))
      if (path === undefined) return
      // Once it is open, git may join it with others. If that comes before, the next list has the joined one.
      const file = await open(path).catch(orIfAbsent(null))
      if (file !== null) copied.set(path, await store(intact(path, file)))
    }
  }
  if ((await packPaths(dir)).length > packsMax) return null
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

/** Throws at the end if the pack differs from its checksum: a damaged one would be found when it is needed. */
async function* intact(path: string, file: FileHandle): Chunks {
  const hash = createHash(basename(path).length > sha1NameMax ? 'sha256' : 'sha1')
  const checked = (await file.stat()).size - hash.copy().digest().length
  const checksum: Uint8Array[] = []
  let read = 0
  for await (const chunk of file.createReadStream({ highWaterMark: readBytes }) as AsyncIterable<Buffer>) {
    const content = chunk.subarray(0, Math.max(0, checked - read))
    hash.update(content)
    if (content.length < chunk.length) checksum.push(chunk.subarray(content.length))
    read += chunk.length
    yield chunk
  }
  if (Buffer.concat(checksum).equals(hash.digest())) return
  throw new Error(`${path} is damaged: it differs from its checksum. svc self-host check and git fsck say more.`)
}
