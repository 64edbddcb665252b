/** Copies the packs of a repository to the place of backups as they are, which is as fast as a copy of files. */
import { open } from 'node:fs/promises'
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

/** Null: there are too many. Each would be a file of its own in the place. */
export async function copyPacks(dir: string, store: StorePack): Promise<CopiedPacks | null> {
  const copied = new Map<string, StoredFile | null>()
  const copyAll = async () => {
    for (;;) {
      const path = (await packPaths(dir)).find((each) => !copied.has(each))
      if (path === undefined) return
      // Once it is open, git may join it with others. If that comes before, the next list has the joined one.
      const file = await open(path).catch(orIfAbsent(null))
      if (file !== null) copied.set(path, await store(file.createReadStream({ highWaterMark: readBytes })))
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
