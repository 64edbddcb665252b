import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { orIfAbsent } from '../process/absent.ts'
import { packFiles } from './open-packs.ts'

/** Pushes arrive as packs. Loose objects come from merges and are small, so their 256 folders are read rarely. */
const looseMs = 60_000
const loose = new LRUCache<string, number>({ max: 1000, ttl: looseMs })

/** Total size of a store's objects. */
export async function storeBytes(dir: string): Promise<number> {
  const packs = join(dir, 'objects/pack')
  return (await sizeOf((await packFiles(dir)).map((name) => join(packs, name)))) + (await looseBytes(dir))
}

/** Ignores files that no longer exist: a concurrent repack removes packs and loose objects. */
export async function sizeOf(paths: string[]): Promise<number> {
  const found = await Promise.all(paths.map((path) => stat(path).catch(orIfAbsent(null))))
  return found.reduce((sum, one) => sum + (one?.size ?? 0), 0)
}

async function looseBytes(dir: string): Promise<number> {
  const known = loose.get(dir)
  if (known !== undefined) return known
  let bytes = 0
  const folders = await readdir(join(dir, 'objects')).catch(() => [])
  for (const folder of folders.filter((name) => /^[0-9a-f]{2}$/.test(name))) {
    const names = await readdir(join(dir, 'objects', folder)).catch(() => [])
    bytes += await sizeOf(names.map((name) => join(dir, 'objects', folder, name)))
  }
  loose.set(dir, bytes)
  return bytes
}
