/** What a repository needs from time to time: fewer packs, packed refs, a commit-graph. */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { durable } from './durable.ts'
import { git, GitError } from './git.ts'
import { withLock } from './lock.ts'
import { indexBytesOfObject, packFiles } from './open-packs.ts'
import { pastOrphanedLocks } from './orphaned-locks.ts'
import type { CallOptions, Repository } from './repository.ts'

/** Every fetch and every push leaves a pack; past this many, lookups get slow enough to notice. */
const packsMax = 50

/**
 * git joins packs by how many objects they have, so fifty pushes of one large file each would be written anew, all of
 * their gigabytes, at every fiftieth push after, until that takes more than a child may use and never ends well again.
 * A pack of this size stays as it is: one more to look into costs a git some twenty microseconds.
 */
const largePackBytes = 256 * 1024 * 1024

/**
 * Larger files are not compared with each other for what they have in common: a dozen of 64 MB takes minutes, and fifty
 * more than a child may use. What a push sent as a difference to another file of its pack stays one.
 */
const comparedBytesMax = 4 * 1024 * 1024

/** What failed takes long, and would fail again at the next push, which waits for it. */
const failedMs = 600_000
const failed = new LRUCache<string, true>({ max: 1000, ttl: failedMs })

interface TidyOptions extends CallOptions {
  largePackBytes?: number
}

/** Joins packs, packs loose objects and refs, writes the commit-graph. Never prunes: a merged change's commits stay for ever. */
export async function tidyRepository(repo: Repository, options: TidyOptions = {}): Promise<void> {
  await withLock(repo.dir, () => tidy(repo, options))
}

/**
 * What a repository needs after so many objects came. Their commit-graph is for memory as much as for time: without it git
 * keeps the text of every commit it walks past, of any size. Whatever goes wrong here, what was pushed has landed; a
 * later push tries again.
 */
export async function tidyAfter(repo: Repository, objects: number, options: TidyOptions = {}): Promise<void> {
  await quietly(async () => {
    if (await hasManyPacks(repo.dir, options)) await attempt(repo, () => tidyRepository(repo, options))
    else if (objects >= objectsWithoutGraphMax) await withLock(repo.dir, () => extendCommitGraph(repo))
  })
}

/** The same after a fetch, which brought what was not among the packs of `before`. Under the repository's lock. */
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

/** Of those that could be joined, where that did not fail just now. */
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
  const sizes = await Promise.all(
    // Another server on the folder may have joined it just now.
    packs.map((name) =>
      stat(join(dir, 'objects/pack', name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return packs.filter((_, at) => (sizes[at] ?? 0) >= least)
}

const objectsWithoutGraphMax = 500

/** About how many objects came in packs that were not there before. */
async function countObjects(dir: string, before: Set<string>): Promise<number> {
  const came = (await packFiles(dir)).filter((name) => name.endsWith('.idx') && !before.has(name))
  const bytes = await Promise.all(came.map(async (name) => (await stat(join(dir, 'objects/pack', name))).size))
  return Math.round(bytes.reduce((sum, size) => sum + size, 0) / indexBytesOfObject)
}

/** Only by the commits it does not have yet. Under the repository's lock. */
async function extendCommitGraph(repo: Repository): Promise<void> {
  const args = ['commit-graph', 'write', '--reachable', '--split']
  await pastOrphanedLocks(repo.dir, () => git(repo.dir, args, { lane: 'network' }))
}

async function tidy(repo: Repository, { largePackBytes: least, ...options }: TidyOptions): Promise<void> {
  // Packing refs removes the loose ones: what takes their place has to be on the disk by then.
  const call = { ...options, lane: 'network' as const, config: durable(repo) }
  const large = await largeAmong(repo.dir, await listPacks(repo.dir), { largePackBytes: least })
  const repack = ['repack', '--geometric=2', '-d', '--quiet', '--no-write-bitmap-index']
  await git(repo.dir, [...repack, ...large.map((name) => `--keep-pack=${name}`)], {
    ...call,
    config: [...call.config, ['core.bigFileThreshold', String(comparedBytesMax)]],
  })
  for (const args of [
    ['pack-refs', '--all'],
    ['commit-graph', 'write', '--reachable'],
  ])
    await pastOrphanedLocks(repo.dir, () => git(repo.dir, args, call))
}
