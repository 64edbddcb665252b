import { access, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { isBranchName, requireBranchName } from './branch-name.ts'
import { isDiskFull } from './disk-full.ts'
import { readDiskRefs } from './disk-refs.ts'
import { type RunningFetch, takeProgress, trackFetch } from './fetch-progress.ts'
import { git, GitError } from './git.ts'
import { hostWords, overLimits } from './host-words.ts'
import { restoreKeptRefs } from './kept-refs.ts'
import { withLock } from './lock.ts'
import { objectFormat, type ObjectFormat } from './object-format.ts'
import { dropOpenPacks, packFiles } from './open-packs.ts'
import { pastOrphanedLocks, removeOrphanedLocks } from './orphaned-locks.ts'
import { busyReason, moveRefs } from './refs.ts'
import { isRefusalOfContent, recentRefusal, rememberRefusal } from './refused-fetch.ts'
import { requireSha, zeroSha, type CallOptions, type Remote, type Repository, type Sha } from './repository.ts'
import { sweepScratch } from './scratch.ts'
import { tidyAfterFetch } from './tidy.ts'
import { readTips } from './tips.ts'

/** A repository that lives here and nowhere else. Idempotent; a crash leaves either nothing or a whole one. */
export async function createManagedRepository(
  dir: string,
  opts: { defaultBranch: string; format?: ObjectFormat },
): Promise<Repository> {
  requireBranchName(opts.defaultBranch)
  await ensureBare(dir, opts.defaultBranch, opts.format ?? 'sha1')
  return { dir, remote: null }
}

/** The mirror of a remote, made empty when it is missing. */
export async function openMirror(dir: string, remote: Remote): Promise<Repository> {
  await healHead(dir)
  await ensureBare(dir, 'main', 'sha1')
  return { dir, remote }
}

/** Without one the folder is no repository to anybody, and cannot be made one either. Which branch it names hardly matters. */
async function healHead(dir: string): Promise<void> {
  const path = join(dir, 'HEAD')
  const size = (await stat(path).catch(() => null))?.size ?? 0
  if (size === 0 && (await isThere(dir))) await writeFile(path, 'ref: refs/heads/main\n').catch(whenGone)
}

/** Taken away just now. */
function whenGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

async function ensureBare(dir: string, defaultBranch: string, format: ObjectFormat): Promise<void> {
  // Without the lock, which a fetch into it holds for as long as it takes.
  if (await isThere(join(dir, 'HEAD'))) return sweepScratch(dir).catch(whenGone)
  await withLock(dir, async () => {
    // A rebuild that was cut down between its two renames left the old store beside its place.
    if (!(await isThere(dir)) && (await isThere(brokenPath(dir)))) await rename(brokenPath(dir), dir)
    if (await isThere(join(dir, 'HEAD'))) return sweepScratch(dir)
    await mkdir(dirname(dir), { recursive: true })
    const made = await makeBare(dir, defaultBranch, format)
    await rename(made, dir).catch(async (error: NodeJS.ErrnoException) => {
      await rm(made, { recursive: true, force: true })
      // Another process was first; its repository is as empty as ours.
      if (!(await isThere(join(dir, 'HEAD')))) throw error
    })
  })
}

export async function makeBare(dir: string, defaultBranch: string, format: ObjectFormat): Promise<string> {
  const made = await mkdtemp(join(dirname(dir), `.${basename(dir)}.new-`))
  const args = [
    'init',
    '--quiet',
    '--bare',
    '--template=',
    `--object-format=${format}`,
    `--initial-branch=${defaultBranch}`,
  ]
  try {
    await git(null, [...args, '--', made])
  } catch (error) {
    await rm(made, { recursive: true, force: true })
    throw error
  }
  return made
}

export type BringOutcome =
  | { kind: 'present' }
  | { kind: 'unreachable'; reason: string }
  | { kind: 'missing'; shas: Sha[] }

/** As bringObjects, of a store that is whole. */
export async function bringIntoWhole(repo: Repository, shas: Sha[], options: CallOptions = {}): Promise<BringOutcome> {
  shas.forEach(requireSha)
  if (!repo.remote) return { kind: 'present' }
  const before = await missingObjects(repo, shas)
  if (before.length === 0) return { kind: 'present' }
  const refused = await recentRefusal(repo, before)
  if (refused !== null) return { kind: 'unreachable', reason: refused }
  const askedAt = performance.now()
  return withLock(repo.dir, async () => {
    // Whoever held the lock before may have brought them, or been refused them.
    const missing = await missingObjects(repo, shas)
    if (missing.length === 0) return { kind: 'present' }
    // A fetch that failed while this caller waited would fail for each of the waiters in turn.
    const failure = failures.get(repo.dir)
    if (failure !== undefined && failure.at >= askedAt) return { kind: 'unreachable', reason: failure.reason }
    return fetchInto(repo, missing, options)
  })
}

/** The last fetch of a store that failed, with the time of its end. */
const failures = new LRUCache<string, { at: number; reason: string }>({ max: 10_000 })

/** Whether these commits are in our store already. The host is not asked, and a store that is gone has none. */
export async function hasObjects(repo: Repository, shas: Sha[]): Promise<boolean> {
  return (await isThere(repo.dir)) && (await missingObjects(repo, shas)).length === 0
}

/** Objects leave a store by pruning alone while it stays the same folder, so what was seen once need not be looked for again. */
const seen = new LRUCache<string, true>({ max: 100_000 })
/** Rises when objects were removed from a store. */
const removals = new Map<string, number>()

export function forgetSeen(dir: string): void {
  removals.set(dir, (removals.get(dir) ?? 0) + 1)
}

export async function missingObjects(repo: Repository, shas: Sha[]): Promise<Sha[]> {
  const { ino, birthtimeMs } = await stat(repo.dir)
  const age = `${ino} ${birthtimeMs} ${removals.get(repo.dir) ?? 0}`
  const key = (sha: Sha) => `${repo.dir}\0${age}\0${sha}`
  const unsure = [...new Set(shas)].filter((sha) => !seen.has(key(sha)))
  if (unsure.length === 0) return []
  const { stdout } = await git(repo.dir, ['cat-file', '--batch-check=%(objectname)'], {
    input: `${unsure.join('\n')}\n`,
  })
  const missing = stdout
    .toString()
    .split('\n')
    .filter((line) => line.endsWith(' missing'))
    .map((line) => line.slice(0, -' missing'.length))
  for (const sha of unsure) if (!missing.includes(sha)) seen.set(key(sha), true)
  return missing
}

/**
 * Brings the mirror to the tips the host has now: objects, branches and the branch HEAD points to. The tips are read
 * under the lock, so a push that is relayed meanwhile cannot be overwritten by what was true before it.
 */
export async function syncMirror(repo: Repository, options: CallOptions = {}): Promise<BringOutcome> {
  return withLock(repo.dir, async () => {
    const live = await readTips(repo, 'all', options)
    if (live.kind === 'unreachable') return live
    const missing = await missingObjects(repo, [...live.tips.values()])
    const brought: BringOutcome = missing.length === 0 ? { kind: 'present' } : await fetchInto(repo, missing, options)
    if (brought.kind !== 'present') return brought
    await setBranches(repo, live.tips)
    const head = await readFile(join(repo.dir, 'HEAD'), 'utf8')
    if (live.head !== null && isBranchName(live.head) && head !== `ref: refs/heads/${live.head}\n`) {
      await git(repo.dir, ['symbolic-ref', 'HEAD', `refs/heads/${live.head}`])
    }
    return { kind: 'present' }
  })
}

/** A branch that was cut at, or rewound to, a commit we have needs no fetch, only its ref. */
async function setBranches(repo: Repository, tips: Map<string, Sha>): Promise<void> {
  const mine = await readDiskRefs(repo.dir, 'all')
  if (!mine) throw new Error('The refs of this mirror cannot be read.')
  const update = (branch: string, oldSha: Sha, newSha: Sha) => ({ ref: `refs/heads/${branch}`, oldSha, newSha })
  const gone = [...mine.tips]
    .filter(([branch]) => !tips.has(branch))
    .map(([branch, sha]) => update(branch, sha, zeroSha(sha)))
  const moved = [...tips]
    .filter(([branch, sha]) => mine.tips.get(branch) !== sha && isBranchName(branch))
    .map(([branch, sha]) => update(branch, mine.tips.get(branch) ?? zeroSha(sha), sha))
  // In this order, so that `a` can make room for `a/b`.
  for (const batch of [gone, moved]) {
    if (batch.length === 0) continue
    const outcome = await moveRefs(repo, batch)
    if (outcome.kind !== 'moved')
      throw new Error(
        `The mirror's branches could not be set: ${outcome.kind === 'stale' ? `${outcome.ref} is being moved.` : outcome.kind === 'busy' ? busyReason : outcome.reason}`,
      )
  }
}

/** Under the repository's lock. */
async function fetchInto(repo: Repository, missing: Sha[], options: CallOptions): Promise<BringOutcome> {
  const refused = await recentRefusal(repo, missing)
  if (refused !== null) return { kind: 'unreachable', reason: refused }
  await matchFormat(repo, missing)
  const isFirst = !(await hasPacks(repo.dir))
  return trackFetch(repo.dir, isFirst, (running) => fetchTracked(repo, missing, running, options))
}

async function fetchTracked(
  repo: Repository,
  missing: Sha[],
  running: RunningFetch,
  options: CallOptions,
): Promise<BringOutcome> {
  const { isFirst } = running
  const before = new Set(await packFiles(repo.dir))
  const failed = await fetchBranches(repo, options, running)
  if (failed?.isOfContent) await rememberRefusal(repo, missing, failed.reason)
  if (failed) {
    failures.set(repo.dir, { at: performance.now(), reason: failed.reason })
    return { kind: 'unreachable', reason: failed.reason }
  }
  let left = await missingObjects(repo, missing)
  if (left.length > 0) {
    // Not on any branch any more. Many hosts still hand out a commit that is asked for by its id.
    await fetchRefspecs(repo, left, options)
    left = await missingObjects(repo, missing)
  }
  if (isFirst) await restoreKeptRefs(repo, (shas) => missingObjects(repo, shas))
  if (isFirst) await git(repo.dir, ['commit-graph', 'write', '--reachable'], { lane: 'network', isUrgent: true })
  else await tidyAfterFetch(repo, before, options)
  return left.length === 0 ? { kind: 'present' } : { kind: 'missing', shas: left }
}

export interface FetchFailure {
  reason: string
  /** By what was sent: it would fail again. */
  isOfContent: boolean
}

/** null when it went well, otherwise why not. */
export function fetchBranches(
  repo: Repository,
  options: CallOptions,
  running?: RunningFetch,
): Promise<FetchFailure | null> {
  return fetchRefspecs(repo, ['+refs/heads/*:refs/heads/*'], options, {
    flags: ['--prune'],
    ...(running && { running }),
  })
}

export async function fetchRefspecs(
  repo: Repository,
  refspecs: string[],
  options: CallOptions,
  { flags = [], running }: { flags?: string[]; running?: RunningFetch } = {},
): Promise<FetchFailure | null> {
  const remote = repo.remote as Remote
  const always = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules']
  const args = ['fetch', running ? '--progress' : '--quiet', ...always, ...flags, '--', remote.url, ...refspecs]
  for (let tries = 1; ; tries++) {
    const before = await packFiles(repo.dir)
    try {
      const { stderr } = await pastOrphanedLocks(repo.dir, () =>
        git(repo.dir, args, {
          ...options,
          remote,
          lane: 'network',
          ...(running && { isUrgent: running.isFirst, takeLine: (line) => takeProgress(running.progress, line) }),
          // A pack appears whole or not at all. Loose objects would appear one by one, the commit first, and a fetch that
          // was killed half-way would leave a commit that looks present and is not.
          config: [['fetch.unpackLimit', '1']],
        }),
      )
      // A shallow remote: git ends well, moves no ref, and leaves commits whose parents are missing.
      if (/shallow roots are not allowed/.test(stderr)) await dropOpenPacks(repo.dir, before)
      return null
    } catch (error) {
      await dropOpenPacks(repo.dir, before)
      await removeOrphanedLocks(repo.dir)
      // Of our own disk, for which the host can do nothing.
      if (!(error instanceof GitError) || ['aborted', 'busy'].includes(error.failure) || isDiskFull(error)) throw error
      if (error.failure === 'timeout')
        return { reason: 'The git host did not finish sending in time.', isOfContent: false }
      if (tries === fetchTriesMax || !movedMeanwhile.test(error.stderr)) return failureOf(remote, error)
    }
  }
}

function failureOf(remote: Remote, error: GitError): FetchFailure {
  if (!isRefusalOfContent(error)) return { reason: hostWords(error.stderr, remote), isOfContent: false }
  const words = error.failure === 'limit' ? overLimits : hostWords(error.stderr, remote)
  return { reason: words === overLimits ? words : `what its host sent was refused. ${words}`, isOfContent: true }
}

/** Another server on this folder fetched the same at the same time, and was quicker with one of the refs. The host has no part in that. */
const movedMeanwhile =
  /cannot lock ref '[^']*': (?:is at [0-9a-f]+ but expected|reference already exists|unable to resolve)/
const fetchTriesMax = 4

/** An id's length tells the format of the remote; an empty mirror of the other one is made anew. */
async function matchFormat(repo: Repository, shas: Sha[]): Promise<void> {
  const wanted: ObjectFormat = shas[0]?.length === 64 ? 'sha256' : 'sha1'
  if ((await objectFormat(repo.dir)) === wanted || (await hasPacks(repo.dir))) return
  const made = await makeBare(repo.dir, 'main', wanted)
  await rm(repo.dir, { recursive: true, force: true })
  await rename(made, repo.dir)
}

async function hasPacks(dir: string): Promise<boolean> {
  return (await packFiles(dir)).some((name) => name.endsWith('.pack'))
}

/** Where rebuilding puts a broken store out of the way. */
export function brokenPath(dir: string): string {
  return `${dir}.broken`
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
