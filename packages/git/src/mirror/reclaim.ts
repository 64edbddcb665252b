/**
 * Reclaims the space of unreachable objects: deleted branches, replaced snapshots, failed pushes. It packs everything
 * reachable again, sets the old packs aside, and removes them an hour later if the store is complete without them. If
 * a commit needs them by then, they are put back.
 */
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { durable } from '../objects/durable.ts'
import { git, gitLine } from '../process/git.ts'
import { withLock } from '../process/keyed-lock.ts'
import { forgetSeen, missingObjects } from './mirror.ts'
import { movePacks, packFiles } from '../objects/open-packs.ts'
import type { Repository, Sha } from '../repository.ts'
import { withScratch } from '../process/scratch.ts'
import { storeBytes } from '../objects/store-size.ts'

interface ReclaimInput {
  /** Commits that are read by id, with or without a ref. Missing ones are ignored. */
  roots: Sha[]
  /** Packs that were written or used since then stay unchanged. */
  before: Date
  freeBytes: number
  signal?: AbortSignal
}

export type ReclaimOutcome =
  | { kind: 'nothing' }
  /** The disk has no room to write the reachable objects again. */
  | { kind: 'no-room'; bytes: number }
  /** The store was incomplete without the old packs, so they are back. */
  | { kind: 'kept' }
  | { kind: 'reclaimed'; bytes: number }

const leastBytes = 4 * 1024 * 1024
/** Less is not worth a rewrite of everything else. */
const leastPart = 0.1
const aside = /^svc-aside-\d+$/

export async function reclaimStore(repo: Repository, input: ReclaimInput): Promise<ReclaimOutcome> {
  return withLock(repo.dir, async () => {
    // Finish with the packs of an earlier pass first.
    if ((await listAside(repo.dir)).length > 0) return { kind: 'nothing' }
    const { old, young } = await packsByAge(repo.dir, input.before)
    if (old.length === 0) return { kind: 'nothing' }
    const roots = await presentRoots(repo, input.roots)
    const call = callOf(repo, input.signal)
    const stays = Number(
      await gitLine(repo.dir, ['rev-list', '--objects', '--disk-usage', '--all', '--reflog', '--stdin'], {
        ...call,
        input: roots,
      }),
    )
    const before = await storeBytes(repo.dir)
    const bytes = before - stays
    if (bytes < Math.max(leastBytes, before * leastPart)) return { kind: 'nothing' }
    if (stays > input.freeBytes) return { kind: 'no-room', bytes: stays }
    const made = await packReached(repo, { roots, young, call })
    await putAside(
      repo.dir,
      old.filter((stem) => stem !== made),
    )
    if (!(await isWhole(repo, roots, call))) {
      await bringBack(repo.dir)
      return { kind: 'kept' }
    }
    await git(repo.dir, ['prune-packed', '--quiet'], call)
    forgetSeen(repo.dir)
    await git(repo.dir, ['commit-graph', 'write', '--reachable'], call)
    return { kind: 'reclaimed', bytes: before - (await storeBytes(repo.dir)) }
  })
}

/** Removes packs set aside before `before`, or puts them back if needed. Returns whether they were removed. */
export async function settleReclaimed(
  repo: Repository,
  input: Pick<ReclaimInput, 'roots' | 'before' | 'signal'>,
): Promise<boolean> {
  const found = await listAside(repo.dir)
  const due = found.filter((name) => Number(name.split('-').at(-1)) < input.before.getTime())
  if (due.length === 0) return false
  return withLock(repo.dir, async () => {
    const roots = await presentRoots(repo, input.roots, { isFresh: true })
    if (!(await isWhole(repo, roots, callOf(repo, input.signal)))) {
      await bringBack(repo.dir)
      return false
    }
    for (const name of due) await rm(join(repo.dir, name), { recursive: true, force: true })
    return true
  })
}

type Call = { lane: 'network'; config: [string, string][]; signal?: AbortSignal }

/** Without the commit-graph, which may name removed commits. */
const callOf = (repo: Repository, signal: AbortSignal | undefined): Call => ({
  lane: 'network',
  config: [...durable(repo), ['core.commitGraph', 'false']],
  ...(signal ? { signal } : {}),
})

async function packsByAge(dir: string, before: Date): Promise<{ old: string[]; young: string[] }> {
  const names = await packFiles(dir)
  const old: string[] = []
  const young: string[] = []
  for (const name of names.filter((one) => one.endsWith('.pack'))) {
    const stem = name.slice(0, -'.pack'.length)
    const isHeld = ['keep', 'promisor'].some((end) => names.includes(`${stem}.${end}`))
    const found = await stat(join(dir, 'objects/pack', name)).catch(() => null)
    if (found !== null && !isHeld && found.mtime < before) old.push(stem)
    else young.push(stem)
  }
  return { old, young }
}

async function presentRoots(repo: Repository, roots: Sha[], { isFresh = false } = {}): Promise<string> {
  if (isFresh) forgetSeen(repo.dir)
  const missing = new Set(roots.length === 0 ? [] : await missingObjects(repo, roots))
  return [...new Set(roots)].flatMap((sha) => (missing.has(sha) ? [] : [`${sha}\n`])).join('')
}

/**
 * Writes one pack of everything reachable that is not in a young pack. Returns its name; null when it would be empty.
 */
async function packReached(
  repo: Repository,
  { roots, young, call }: { roots: string; young: string[]; call: Call },
): Promise<string | null> {
  return withScratch(repo.dir, async (scratch) => {
    const kept = young.map((stem) => `--keep-pack=${stem}.pack`)
    // No window: existing deltas are kept, and git searches for no more.
    const flags = [
      '--quiet',
      '--non-empty',
      '--delta-base-offset',
      '--window=0',
      '--revs',
      '--all',
      '--reflog',
      ...kept,
    ]
    const { stdout } = await git(repo.dir, ['pack-objects', ...flags, join(scratch, 'pack')], { ...call, input: roots })
    const hash = stdout.toString().trim()
    if (hash === '') return null
    const names = (await readdir(scratch)).filter((name) => name.startsWith('pack-'))
    await movePacks(names, scratch, join(repo.dir, 'objects/pack'), 'last')
    return `pack-${hash}`
  })
}

async function listAside(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter((name) => aside.test(name))
}

async function putAside(dir: string, stems: string[]): Promise<void> {
  const to = join(dir, `svc-aside-${Date.now()}`)
  await mkdir(to)
  const names = await packFiles(dir)
  for (const stem of stems) {
    const ofIt = names.filter((name) => name.startsWith(`${stem}.`))
    await movePacks(ofIt, join(dir, 'objects/pack'), to, 'first')
  }
}

async function bringBack(dir: string): Promise<void> {
  for (const folder of await listAside(dir)) {
    await movePacks(await readdir(join(dir, folder)), join(dir, folder), join(dir, 'objects/pack'), 'last')
    await rm(join(dir, folder), { recursive: true })
  }
  forgetSeen(dir)
}

/** Whether everything that refs and roots reach exists. */
async function isWhole(repo: Repository, roots: string, call: Call): Promise<boolean> {
  const args = ['rev-list', '--objects', '--quiet', '--all', '--reflog', '--stdin']
  // 1 and 128: rev-list met a missing object.
  const walked = await git(repo.dir, args, { ...call, input: roots, accept: [0, 1, 128] })
  return walked.code === 0
}
