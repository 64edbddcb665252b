import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { isRefName } from './branch-name.ts'
import { readRef } from './disk-refs.ts'
import { durable, syncPaths } from '../objects/durable.ts'
import { git, GitError, gitLine, gitLines, type GitOptions, lastMessage } from '../process/git.ts'
import { isDiskFull } from '../process/disk-full.ts'
import { lockInTheWay, pastOrphanedLocks, removeIfOrphaned } from './orphaned-locks.ts'
import { updateRefsInPooledGit } from './pooled-ref-update.ts'
import {
  isZero,
  requireSha,
  zeroSha,
  type CallOptions,
  type RefUpdate,
  type RefValue,
  type Repository,
  type Sha,
} from '../repository.ts'

/** Merge bases depend only on the two ids, so they stay cached. */
const ancestors = new LRUCache<string, Sha[]>({ max: 20_000 })

/** All best common ancestors: none for unrelated histories, several after a criss-cross merge. */
export async function mergeBases(
  repo: Repository,
  a: Sha,
  b: Sha,
  /** The environment of a store that borrows from the repository, for commits that only it has. */
  options: CallOptions & { env?: Record<string, string> } = {},
): Promise<Sha[]> {
  requireSha(a)
  requireSha(b)
  if (a === b) return [a]
  const key = `${repo.dir}\0${a}${b}`
  const known = ancestors.get(key)
  if (known) return known
  // 1: no common ancestor. Other codes throw: a broken repository must not look unrelated.
  const found = await gitLines(repo.dir, ['merge-base', '--all', a, b], { ...options, accept: [0, 1] })
  found.forEach(requireSha)
  ancestors.set(key, found)
  return found
}

/** One best common ancestor, or null for unrelated histories. Of several, git's first. */
export async function mergeBase(repo: Repository, a: Sha, b: Sha, options: CallOptions = {}): Promise<Sha | null> {
  return (await mergeBases(repo, a, b, options))[0] ?? null
}

export async function isAncestor(
  repo: Repository,
  ancestor: Sha,
  descendant: Sha,
  options: CallOptions = {},
): Promise<boolean> {
  return (await mergeBase(repo, ancestor, descendant, options)) === ancestor
}

/** The two commits of a merged change request, which hidden refs keep reachable in our own store. */
export interface KeptCommits {
  number: number
  base: Sha
  head: Sha
}

export function keptCommitRefs({ number, base, head }: KeptCommits): RefValue[] {
  if (!Number.isSafeInteger(number) || number < 1) throw new TypeError(`Not a change request number: ${number}`)
  return [
    { ref: `refs/svc/cr/${number}/base`, sha: base },
    { ref: `refs/svc/cr/${number}/head`, sha: head },
  ]
}

/** Does nothing when they are already kept, as after a merge in this repository. */
export async function keepCommits(repo: Repository, kept: KeptCommits): Promise<void> {
  const refs = keptCommitRefs(kept)
  const now = await Promise.all(refs.map(({ ref }) => readRef(repo.dir, ref)))
  if (refs.some(({ sha }, at) => now[at] !== sha)) await setRefs(repo, refs)
}

/** Keeps one commit under `refs/svc/<name>` and replaces an earlier one. */
export async function keepRef(repo: Repository, name: string, sha: Sha): Promise<void> {
  await setRefs(repo, [{ ref: keptRefName(name), sha }])
}

/** Removes the ref `refs/svc/<name>`, if it exists. */
export async function dropKeptRef(repo: Repository, name: string): Promise<void> {
  const outcome = await runUpdate(repo, [], `delete ${keptRefName(name)}\0\0`)
  if (outcome.kind === 'failed' && (await readKeptRef(repo, name)) !== null) throw outcome.error
}

/** The value of a ref by its full name. Null: there is none. */
export async function readRefValue({ dir }: Pick<Repository, 'dir'>, ref: string): Promise<Sha | null> {
  return readRef(dir, requireRef(ref))
}

export async function readKeptRef(repo: Repository, name: string): Promise<Sha | null> {
  return readRef(repo.dir, keptRefName(name))
}

export function keptRefName(name: string): string {
  const ref = `refs/svc/${name}`
  if (!isRefName(ref)) throw new TypeError(`Not a name for a kept ref: ${JSON.stringify(name.slice(0, 200))}`)
  return ref
}

/** Sets the ref whatever its old value. */
function keepLine({ ref, sha }: RefValue): string {
  return `update ${ref}\0${requireSha(sha)}\0\0`
}

async function setRefs(repo: Repository, refs: RefValue[]): Promise<void> {
  const input = refs.map(keepLine).join('')
  if (!(await updateRefsInPooledGit(repo, input, refs))) {
    const outcome = await runUpdate(repo, refs, input)
    if (outcome.kind === 'failed') throw outcome.error
  }
  await syncRefFolders(repo, refs)
}

/**
 * Gives refs these values whatever their old ones; zeros delete a ref. All or none. There may be as many as a repository
 * has, so this may take minutes, and a process that was killed in it has left a lock of each.
 */
export async function putRefs(repo: Repository, values: RefValue[]): Promise<void> {
  if (values.length === 0) return
  const line = ({ ref, sha }: RefValue) =>
    isZero(sha) ? `delete ${requireRef(ref)}\0\0` : keepLine({ ref: requireRef(ref), sha })
  const input = values.map(line).join('')
  await pastOrphanedLocks(repo.dir, async () => {
    const outcome = await tryUpdate(repo, input, { lane: 'network' })
    if (outcome.kind === 'failed') throw outcome.error
  })
  await syncRefFolders(repo, values)
}

export type MoveOutcome =
  | { kind: 'moved' }
  | { kind: 'stale'; ref: string }
  /** Another git process held a lock for too long. Nothing moved; a retry may work. */
  | { kind: 'busy' }
  /** The disk is full. Nothing moved. */
  | { kind: 'full'; error: Error }
  | { kind: 'refused'; reason: string }

/** The message about a lock, without its path on the server. */
export const busyReason = 'Another git process has locked the branches of the repository.'

/** A person in a reflog. */
export interface Person {
  name: string
  email: string
}

interface MoveOptions {
  by?: Person | undefined
  keep?: KeptCommits | undefined
  /** Faster, for callers that accept a move that was made but not confirmed; they may get `stale` for it. */
  mayRepeat?: boolean
  /** Nothing moves until this is done, or when it fails; its error is thrown. */
  before?: Promise<unknown> | undefined
}

/** Moves refs of the repository on disk, all or none, each only from its expected old value. */
export async function moveRefs(
  repo: Repository,
  updates: RefUpdate[],
  { by, keep, mayRepeat = false, before }: MoveOptions = {},
): Promise<MoveOutcome> {
  // Awaited below; this prevents an unhandled rejection before that.
  before?.catch(awaitedBelow)
  const kept = keep ? keptCommitRefs(keep) : []
  const values = [...kept, ...updates.map(({ ref, newSha }) => ({ ref, sha: newSha }))]
  const input = [...kept.map(keepLine), ...updates.map(updateLine)].join('')
  const env: Record<string, string> = by ? { GIT_COMMITTER_NAME: by.name, GIT_COMMITTER_EMAIL: by.email } : {}
  const isMoved = mayRepeat && !by && (await updateRefsInPooledGit(repo, input, values, before))
  await before
  const outcome: UpdateOutcome = isMoved ? { kind: 'done' } : await runUpdate(repo, values, input, env)
  if (outcome.kind === 'done') {
    await syncRefFolders(repo, values)
    return { kind: 'moved' }
  }
  // git's message is not reliable; the refs' current values are.
  for (const update of updates) {
    const now = (await readCurrent(repo, update.ref)) ?? zeroSha(update.newSha)
    if (now !== update.oldSha) return { kind: 'stale', ref: update.ref }
  }
  if (lockInTheWay(repo.dir, outcome.error.stderr) !== null) return { kind: 'busy' }
  if (isDiskFull(outcome.error)) return { kind: 'full', error: outcome.error }
  return { kind: 'refused', reason: lastMessage(outcome.error.stderr) }
}

/** git's message about a folder that it could not make names no reason. */
const noFolder = /unable to create directory for /

/** Makes the folders of these refs. Returns the error of a full disk. */
async function makeRefFolders(repo: Repository, refs: RefValue[]): Promise<Error | null> {
  try {
    for (const { ref } of refs) await mkdir(join(repo.dir, dirname(ref)), { recursive: true })
    return null
  } catch (error) {
    // Git reports again what else is in the way.
    return isDiskFull(error) ? (error as Error) : null
  }
}

/**
 * Syncs the folders of moved refs. git renames a ref's file without waiting for the disk, but a branch of a managed
 * repository that was reported as moved must survive a power cut.
 */
async function syncRefFolders(repo: Repository, refs: RefValue[]): Promise<void> {
  if (repo.remote) return
  const folders = new Set<string>()
  for (const { ref, sha } of refs) {
    // Deleted refs are removed from the packed file, which is in the repository's own folder.
    if (isZero(sha)) folders.add('.')
    for (let at = dirname(ref); at !== '.' && !folders.has(at); at = dirname(at)) folders.add(at)
  }
  // Deleting or packing a folder's last ref removes the folder.
  await syncPaths(
    [...folders].map((folder) => join(repo.dir, folder)),
    { mayBeGone: true },
  )
}

function requireRef(ref: string): string {
  if (!isRefName(ref)) throw new TypeError(`Not a full ref name: ${JSON.stringify(ref.slice(0, 200))}`)
  return ref
}

function updateLine({ ref, oldSha, newSha }: RefUpdate): string {
  requireRef(ref)
  requireSha(oldSha)
  requireSha(newSha)
  if (isZero(newSha)) return `delete ${ref}\0${oldSha}\0`
  return `update ${ref}\0${newSha}\0${oldSha}\0`
}

async function readCurrent(repo: Repository, ref: string): Promise<Sha | null> {
  const line = await gitLine(repo.dir, ['for-each-ref', '--format=%(objectname) %(refname)', '--', ref])
  const exact = line.split('\n').find((one) => one.endsWith(` ${ref}`))
  return exact?.split(' ')[0] ?? null
}

type UpdateOutcome = { kind: 'done' } | { kind: 'failed'; error: GitError }

async function runUpdate(
  repo: Repository,
  refs: RefValue[],
  input: string,
  env: Record<string, string> = {},
): Promise<UpdateOutcome> {
  // A process that died left the locks of all its refs, but git names only the first one it meets.
  const locks = new Set<string>()
  for (;;) {
    let outcome = await tryUpdate(repo, input, { env })
    if (outcome.kind === 'failed' && noFolder.test(outcome.error.stderr)) {
      const full = await makeRefFolders(repo, refs)
      if (full !== null) return { kind: 'failed', error: new GitError('exit', full.message, { cause: full }) }
      outcome = await tryUpdate(repo, input, { env })
    }
    const lock = outcome.kind === 'done' ? null : lockInTheWay(repo.dir, outcome.error.stderr)
    if (lock === null || locks.has(lock) || locks.size >= orphansMax) return outcome
    if (!(await removeIfOrphaned(repo.dir, lock))) return outcome
    locks.add(lock)
  }
}

/** moveRefs() awaits the promise itself. */
function awaitedBelow(): void {}

/** A merge has three refs and the file of packed refs. */
const orphansMax = 8

async function tryUpdate(
  repo: Repository,
  input: string,
  options: Pick<GitOptions, 'env' | 'lane'>,
): Promise<UpdateOutcome> {
  try {
    await git(repo.dir, ['update-ref', '--stdin', '-z'], { ...options, input, config: durable(repo) })
    return { kind: 'done' }
  } catch (error) {
    if (error instanceof GitError && error.failure === 'exit') return { kind: 'failed', error }
    throw error
  }
}
