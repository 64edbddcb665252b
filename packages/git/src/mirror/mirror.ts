import { access, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { orIfAbsent } from '../process/absent.ts'
import { isBranchName, requireBranchName } from '../refs/branch-name.ts'
import { isDiskFull } from '../process/disk-full.ts'
import { readDiskRefs } from '../refs/disk-refs.ts'
import { type RunningFetch, takeProgress, trackFetch } from '../process/fetch-progress.ts'
import { git, GitError } from '../process/git.ts'
import { setHead } from './head.ts'
import { hostMessages, overLimits } from '../remote/host-messages.ts'
import { restoreKeptRefs } from '../refs/kept-refs.ts'
import { withLock } from '../process/keyed-lock.ts'
import { objectFormat, type ObjectFormat } from '../process/object-format.ts'
import { dropOpenPacks, packFiles } from '../objects/open-packs.ts'
import { pastOrphanedLocks, removeOrphanedLocks } from '../refs/orphaned-locks.ts'
import { busyReason, moveRefs } from '../refs/refs.ts'
import { isRefusalOfContent, recentRefusal, rememberRefusal } from './refused-fetch.ts'
import { requireSha, zeroSha, type CallOptions, type Remote, type Repository, type Sha } from '../repository.ts'
import { sweepScratch } from '../process/scratch.ts'
import { tidyAfterFetch } from './tidy.ts'
import { readTips } from '../refs/tips.ts'

/** Creates a managed repository. Idempotent; a crash leaves either nothing or a complete one. */
export async function createManagedRepository(
  dir: string,
  opts: { defaultBranch: string; format?: ObjectFormat },
): Promise<Repository> {
  requireBranchName(opts.defaultBranch)
  await ensureBare(dir, opts.defaultBranch, opts.format ?? 'sha1')
  return { dir, remote: null }
}

/** Opens the mirror of a remote; creates an empty one when it is missing. */
export async function openMirror(dir: string, remote: Remote): Promise<Repository> {
  await healHead(dir)
  await ensureBare(dir, 'main', 'sha1')
  return { dir, remote }
}

/** A folder without HEAD is not a repository and cannot be turned into one. The branch that it names hardly matters. */
async function healHead(dir: string): Promise<void> {
  const path = join(dir, 'HEAD')
  const size = (await stat(path).catch(() => null))?.size ?? 0
  if (size === 0 && (await isThere(dir))) await writeFile(path, 'ref: refs/heads/main\n').catch(orIfAbsent(undefined))
}

async function ensureBare(dir: string, defaultBranch: string, format: ObjectFormat): Promise<void> {
  // Without the lock, which a fetch holds until it ends.
  if (await isThere(join(dir, 'HEAD'))) return sweepScratch(dir).catch(orIfAbsent(undefined))
  await withLock(dir, async () => {
    // A rebuild that died between its two renames left the old store next to its place.
    if (!(await isThere(dir)) && (await isThere(brokenPath(dir)))) await rename(brokenPath(dir), dir)
    if (await isThere(join(dir, 'HEAD'))) return sweepScratch(dir)
    await mkdir(dirname(dir), { recursive: true })
    const made = await makeBare(dir, defaultBranch, format)
    await rename(made, dir).catch(async (error: NodeJS.ErrnoException) => {
      await rm(made, { recursive: true, force: true })
      // Another process was first; its repository is just as empty.
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

export type FetchOutcome =
  | { kind: 'present' }
  | { kind: 'unreachable'; reason: string }
  | { kind: 'missing'; shas: Sha[] }

/** Like fetchObjects, for an intact store. */
export async function fetchWhole(repo: Repository, shas: Sha[], options: CallOptions = {}): Promise<FetchOutcome> {
  shas.forEach(requireSha)
  if (!repo.remote) return { kind: 'present' }
  const before = await missingObjects(repo, shas)
  if (before.length === 0) return { kind: 'present' }
  const refused = await recentRefusal(repo, before)
  if (refused !== null) return { kind: 'unreachable', reason: refused }
  const askedAt = performance.now()
  return withLock(repo.dir, async () => {
    // The previous holder of the lock may have fetched them, or been refused.
    const missing = await missingObjects(repo, shas)
    if (missing.length === 0) return { kind: 'present' }
    // After a fetch failed while this caller waited, it would fail for each waiting caller too.
    const failure = failures.get(repo.dir)
    if (failure !== undefined && failure.at >= askedAt) return { kind: 'unreachable', reason: failure.reason }
    return fetchInto(repo, missing, options)
  })
}

/** The last failed fetch of a store, with the time it ended. */
const failures = new LRUCache<string, { at: number; reason: string }>({ max: 10_000 })

/** Whether the store already has these commits. Does not ask the host; a missing store has none. */
export async function hasObjects(repo: Repository, shas: Sha[]): Promise<boolean> {
  return (await isThere(repo.dir)) && (await missingObjects(repo, shas)).length === 0
}

/** As missingObjects, for objects that git did not find: they may be gone although nothing of ours removed them. */
export function lostObjects(repo: Repository, shas: Sha[]): Promise<Sha[]> {
  forgetSeen(repo.dir)
  return missingObjects(repo, shas)
}

/** Only pruning removes objects from a store, so a commit that was found once need not be looked up again. */
const seen = new LRUCache<string, true>({ max: 100_000 })
/** Increases when objects were removed from a store. */
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
 * Updates the mirror to the host's current tips: objects, branches, and the branch of HEAD. The tips are read under
 * the lock, so a concurrent push that is relayed cannot be overwritten by older values.
 */
export async function syncMirror(repo: Repository, options: CallOptions = {}): Promise<FetchOutcome> {
  return withLock(repo.dir, async () => {
    const live = await readTips(repo, 'all', options)
    if (live.kind === 'unreachable') return live
    const missing = await missingObjects(repo, [...live.tips.values()])
    const fetched: FetchOutcome = missing.length === 0 ? { kind: 'present' } : await fetchInto(repo, missing, options)
    if (fetched.kind !== 'present') return fetched
    await setBranches(repo, live.tips)
    const head = headOf(repo, live)
    if (head !== null && isBranchName(head)) await setHead(repo.dir, head)
    return { kind: 'present' }
  })
}

/** Falls back to the host's own HEAD where the host lacks the branch: a clone without a checkout is of little use. */
function headOf({ defaultBranch }: Repository, live: { tips: Map<string, Sha>; head: string | null }): string | null {
  const exists = defaultBranch !== undefined && (live.tips.size === 0 || live.tips.has(defaultBranch))
  return exists ? defaultBranch : live.head
}

/** A branch at a commit that the store has needs no fetch, only its ref. */
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
    if (outcome.kind === 'full') throw outcome.error
    if (outcome.kind !== 'moved')
      throw new Error(
        `The mirror's branches could not be set: ${outcome.kind === 'stale' ? `${outcome.ref} is being moved.` : outcome.kind === 'busy' ? busyReason : outcome.reason}`,
      )
  }
}

/** The caller holds the repository's lock. */
async function fetchInto(repo: Repository, missing: Sha[], options: CallOptions): Promise<FetchOutcome> {
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
): Promise<FetchOutcome> {
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
    // The commit is no longer on a branch. Many hosts still return a commit that is requested by id.
    await fetchRefspecs(repo, left, options)
    left = await missingObjects(repo, missing)
  }
  if (isFirst) await restoreKeptRefs(repo, (shas) => missingObjects(repo, shas))
  if (isFirst) await git(repo.dir, ['commit-graph', 'write', '--reachable'], { lane: 'network', isUrgent: true })
  else await tidyAfterFetch(repo, before, options)
  return left.length === 0 ? { kind: 'present' } : { kind: 'missing', shas: left }
}

interface FetchFailure {
  reason: string
  /** The content failed, so a retry would fail again. */
  isOfContent: boolean
}

/** null on success, otherwise the reason. */
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
          // A pack appears completely or not at all. Loose objects would appear one by one, the commit first, and a
          // killed fetch would leave a commit that looks present and is not.
          config: [['fetch.unpackLimit', '1']],
        }),
      )
      // A shallow remote: git succeeds, moves no ref, and leaves commits whose parents are missing.
      if (/shallow roots are not allowed/.test(stderr)) await dropOpenPacks(repo.dir, before)
      return null
    } catch (error) {
      await dropOpenPacks(repo.dir, before)
      await removeOrphanedLocks(repo.dir)
      // Our own disk is full, which is not the host's fault.
      if (!(error instanceof GitError) || ['aborted', 'busy'].includes(error.failure) || isDiskFull(error)) throw error
      if (error.failure === 'timeout')
        return { reason: 'The git host did not finish sending in time.', isOfContent: false }
      if (tries === fetchTriesMax || !movedMeanwhile.test(error.stderr)) return failureOf(remote, error)
    }
  }
}

function failureOf(remote: Remote, error: GitError): FetchFailure {
  if (!isRefusalOfContent(error)) return { reason: hostMessages(error.stderr, remote), isOfContent: false }
  const words = error.failure === 'limit' ? overLimits : hostMessages(error.stderr, remote)
  return { reason: words === overLimits ? words : `the data from its host was refused. ${words}`, isOfContent: true }
}

/** Another server on this folder fetched the same and moved one of the refs first. The host is not at fault. */
const movedMeanwhile =
  /cannot lock ref '[^']*': (?:is at [0-9a-f]+ but expected|reference already exists|unable to resolve)/
const fetchTriesMax = 4

/** The length of an id shows the remote's format; an empty mirror of the other format is created again. */
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

/** Where a rebuild moves a broken store. */
export function brokenPath(dir: string): string {
  return `${dir}.broken`
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
