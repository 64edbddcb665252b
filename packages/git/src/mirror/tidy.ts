/** Periodic maintenance of a repository: fewer packs, packed refs, a commit-graph. */
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { durable } from '../objects/durable.ts'
import { git, GitError } from '../process/git.ts'
import { withLock } from '../process/keyed-lock.ts'
import { indexBytesOfObject, packFiles } from '../objects/open-packs.ts'
import { boundedPack } from '../objects/pack-cost.ts'
import { sizeOf } from '../objects/store-size.ts'
import { pastOrphanedLocks } from '../refs/orphaned-locks.ts'
import type { CallOptions, Repository } from '../repository.ts'

/** Every fetch and push leaves a pack; beyond this number, lookups slow down noticeably. */
const packsMax = 50

/**
 * git joins packs by their number of objects, so fifty pushes of one large file each would be rewritten, gigabytes in
 * all, at every fiftieth later push, until that exceeds a process's limits and never succeeds again. A pack of this
 * size stays as it is: one more pack costs a lookup twenty microseconds.
 */
const largePackBytes = 256 * 1024 * 1024

/** A failed attempt takes long and would fail again at the next push, which waits for it. */
const failedMs = 600_000
const failed = new LRUCache<string, true>({ max: 1000, ttl: failedMs })

interface TidyOptions extends CallOptions {
  largePackBytes?: number
}

/** Joins packs, packs loose objects and refs, writes the commit-graph. Never prunes: merged commits stay. */
export async function tidyRepository(repo: Repository, options: TidyOptions = {}): Promise<void> {
  await withLock(repo.dir, () => tidy(repo, options))
}

/**
 * Maintenance after this many objects arrived. The commit-graph saves memory as much as time: without it git keeps
 * the text of every commit it visits, of any size. Errors here do not affect the push, which has landed; a later push
 * tries again.
 */
export async function tidyAfter(repo: Repository, objects: number, options: TidyOptions = {}): Promise<void> {
  await quietly(async () => {
    if (await hasManyPacks(repo.dir, options)) await attempt(repo, () => tidyRepository(repo, options))
    else if (objects >= objectsWithoutGraphMax) await withLock(repo.dir, () => extendCommitGraph(repo))
  })
}

/** The same after a fetch, for packs that are not in `before`. The caller holds the repository's lock. */
export async function tidyAfterFetch(repo: Repository, before: Set<string>, options: TidyOptions): Promise<void> {
  await quietly(async () => {
    if (await hasManyPacks(repo.dir, options)) await attempt(repo, () => tidy(repo, options))
    else if ((await countObjects(repo.dir, before)) >= objectsWithoutGraphMax) await extendCommitGraph(repo)
  })
}

async function quietly(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof GitError)) throw error
  }
}

async function attempt(repo: Repository, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const isOfTheMoment = error instanceof GitError && (error.failure === 'aborted' || error.failure === 'killed')
    if (!isOfTheMoment) failed.set(repo.dir, true)
    throw error
  }
}

/** Counts packs that could be joined, unless that failed recently. */
async function hasManyPacks(dir: string, options: TidyOptions): Promise<boolean> {
  if (failed.has(dir)) return false
  const packs = await listPacks(dir)
  return packs.length > packsMax && packs.length - (await largeAmong(dir, packs, options)).length > packsMax
}

async function listPacks(dir: string): Promise<string[]> {
  return (await packFiles(dir)).filter((name) => name.endsWith('.pack'))
}

async function largeAmong(dir: string, packs: string[], options: TidyOptions): Promise<string[]> {
  const least = options.largePackBytes ?? largePackBytes
  const sizes = await Promise.all(packs.map((name) => sizeOf([join(dir, 'objects/pack', name)])))
  return packs.filter((_, at) => (sizes[at] ?? 0) >= least)
}

const objectsWithoutGraphMax = 500

/** The approximate number of objects in new packs. */
async function countObjects(dir: string, before: Set<string>): Promise<number> {
  const came = (await packFiles(dir)).filter((name) => name.endsWith('.idx') && !before.has(name))
  return Math.round((await sizeOf(came.map((name) => join(dir, 'objects/pack', name)))) / indexBytesOfObject)
}

/** Adds only the commits that the graph lacks. The caller holds the repository's lock. */
async function extendCommitGraph(repo: Repository): Promise<void> {
  const args = ['commit-graph', 'write', '--reachable', '--split']
  await pastOrphanedLocks(repo.dir, () => git(repo.dir, args, { lane: 'network' }))
}

async function tidy(repo: Repository, { largePackBytes: least, ...options }: TidyOptions): Promise<void> {
  // Packing removes the loose refs, so the packed file must be on the disk first.
  const call = { ...options, lane: 'network' as const, config: durable(repo) }
  const large = await largeAmong(repo.dir, await listPacks(repo.dir), { largePackBytes: least })
  const repack = ['repack', '--geometric=2', '-d', '--quiet', '--no-write-bitmap-index']
  await git(repo.dir, [...repack, ...large.map((name) => `--keep-pack=${name}`)], {
    ...call,
    config: [...call.config, ...boundedPack],
  })
  for (const args of [
    ['pack-refs', '--all'],
    ['commit-graph', 'write', '--reachable'],
  ])
    await pastOrphanedLocks(repo.dir, () => git(repo.dir, args, call))
}
