import { dirname, join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { isRefName } from './branch-name.ts'
import { readRef } from './disk-refs.ts'
import { durable, syncPaths } from './durable.ts'
import { git, GitError, gitLine, lastWords } from './git.ts'
import { findNearAncestor } from './near-ancestors.ts'
import { lockInTheWay, removeIfOrphaned } from './orphaned-locks.ts'
import { updateByStanding } from './refs-standing.ts'
import {
  isZero,
  requireSha,
  zeroSha,
  type CallOptions,
  type RefUpdate,
  type RefValue,
  type Repository,
  type Sha,
} from './repository.ts'

/** Best common ancestors; pure in the two ids, so kept for ever. */
const ancestors = new LRUCache<string, Sha[]>({ max: 20_000 })

/** All best common ancestors: none for unrelated histories, several after a criss-cross. */
export async function mergeBases(
  repo: Repository,
  a: Sha,
  b: Sha,
  /** `env` is of a store that borrows from the repository, when a commit is only there. */
  options: CallOptions & { env?: Record<string, string> } = {},
): Promise<Sha[]> {
  requireSha(a)
  requireSha(b)
  if (a === b) return [a]
  const key = `${repo.dir}\0${a}${b}`
  const known = ancestors.get(key)
  if (known) return known
  const near = options.env ? null : await findNearAncestor(repo, a, b)
  if (near) {
    ancestors.set(key, near)
    return near
  }
  // 1: no common ancestor; anything else throws, a broken repository must not look unrelated.
  const { stdout } = await git(repo.dir, ['merge-base', '--all', a, b], { ...options, accept: [0, 1] })
  const found = stdout.toString().split('\n').filter(Boolean).map(requireSha)
  ancestors.set(key, found)
  return found
}

/** One best common ancestor, or null for unrelated histories. Of several, the one git names first. */
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

/** The two commits of a merged change request, which stay reachable, hidden, in our own store. */
export interface KeptCommits {
  number: number
  base: Sha
  head: Sha
}

function keptRefs({ number, base, head }: KeptCommits): RefValue[] {
  if (!Number.isSafeInteger(number) || number < 1) throw new TypeError(`Not a change request number: ${number}`)
  return [
    { ref: `refs/svc/cr/${number}/base`, sha: base },
    { ref: `refs/svc/cr/${number}/head`, sha: head },
  ]
}

/** Does nothing when they are kept already, as they are when the merge moved its branch in this repository. */
export async function keepCommits(repo: Repository, kept: KeptCommits): Promise<void> {
  const refs = keptRefs(kept)
  const now = await Promise.all(refs.map(({ ref }) => readRef(repo.dir, ref)))
  if (refs.some(({ sha }, at) => now[at] !== sha)) await setRefs(repo, refs)
}

/** Keeps one commit under `refs/svc/<name>`, whatever was there before. */
export async function keepRef(repo: Repository, name: string, sha: Sha): Promise<void> {
  await setRefs(repo, [{ ref: keptRefName(name), sha }])
}

/** Lets go of what is kept under `refs/svc/<name>`; without such a ref nothing happens. */
export async function dropKeptRef(repo: Repository, name: string): Promise<void> {
  const outcome = await runUpdate(repo, `delete ${keptRefName(name)}\0\0`)
  if (outcome.kind === 'failed' && (await readKeptRef(repo, name)) !== null) throw outcome.error
}

export async function readKeptRef(repo: Repository, name: string): Promise<Sha | null> {
  return readRef(repo.dir, keptRefName(name))
}

function keptRefName(name: string): string {
  const ref = `refs/svc/${name}`
  if (!isRefName(ref)) throw new TypeError(`Not a name for a kept ref: ${JSON.stringify(name.slice(0, 200))}`)
  return ref
}

/** Whatever was there before. */
function keepLine({ ref, sha }: RefValue): string {
  return `update ${ref}\0${requireSha(sha)}\0\0`
}

async function setRefs(repo: Repository, refs: RefValue[]): Promise<void> {
  const input = refs.map(keepLine).join('')
  if (!(await updateByStanding(repo, input, refs))) {
    const outcome = await runUpdate(repo, input)
    if (outcome.kind === 'failed') throw outcome.error
  }
  await syncRefFolders(repo, refs)
}

export type MoveOutcome =
  | { kind: 'moved' }
  | { kind: 'stale'; ref: string }
  /** Another git holds a lock for longer than one waits. Nothing was moved; later it may work. */
  | { kind: 'busy' }
  | { kind: 'refused'; reason: string }

/** What there is to say about a lock, without the path it has on the server. */
export const busyReason = 'Another git keeps the branches of the repository locked.'

/** Somebody in a reflog. */
export interface Person {
  name: string
  email: string
}

interface MoveOptions {
  by?: Person | undefined
  keep?: KeptCommits | undefined
  /** Quicker, for a caller that takes a move which was made but not told for its own: it may be told `stale` then. */
  mayRepeat?: boolean
  /** Nothing moves until this is done, nor when it fails, which is thrown. */
  before?: Promise<unknown> | undefined
}

/** Moves refs of the repository on disk, all or none, each only if it still is where its update says it was. */
export async function moveRefs(
  repo: Repository,
  updates: RefUpdate[],
  { by, keep, mayRepeat = false, before }: MoveOptions = {},
): Promise<MoveOutcome> {
  // Thrown below, by whichever of the two waits for it last.
  before?.catch(() => {})
  const kept = keep ? keptRefs(keep) : []
  const values = [...kept, ...updates.map(({ ref, newSha }) => ({ ref, sha: newSha }))]
  const input = [...kept.map(keepLine), ...updates.map(updateLine)].join('')
  const env: Record<string, string> = by ? { GIT_COMMITTER_NAME: by.name, GIT_COMMITTER_EMAIL: by.email } : {}
  const isMoved = mayRepeat && !by && (await updateByStanding(repo, input, values, before))
  await before
  const outcome: UpdateOutcome = isMoved ? { kind: 'done' } : await runUpdate(repo, input, env)
  if (outcome.kind === 'done') {
    await syncRefFolders(repo, values)
    return { kind: 'moved' }
  }
  // git says in words what it did not like; where the refs stand now says it reliably.
  for (const update of updates) {
    const now = (await readCurrent(repo, update.ref)) ?? zeroSha(update.newSha)
    if (now !== update.oldSha) return { kind: 'stale', ref: update.ref }
  }
  if (isLocked(repo, outcome.error)) return { kind: 'busy' }
  return { kind: 'refused', reason: lastWords(outcome.error.stderr) }
}

/**
 * A ref is moved by renaming a file, and git does not wait until that is on the disk. Whoever hears that a branch of a
 * managed repository moved has to find it there after a power cut.
 */
async function syncRefFolders(repo: Repository, refs: RefValue[]): Promise<void> {
  if (repo.remote) return
  const folders = new Set<string>()
  for (const { ref, sha } of refs) {
    // Refs that are gone are left out of the file of packed ones, in the repository's own folder.
    if (isZero(sha)) folders.add('.')
    for (let at = dirname(ref); at !== '.' && !folders.has(at); at = dirname(at)) folders.add(at)
  }
  // Whoever deletes or packs a folder's last ref removes it.
  await syncPaths(
    [...folders].map((folder) => join(repo.dir, folder)),
    { mayBeGone: true },
  )
}

function updateLine({ ref, oldSha, newSha }: RefUpdate): string {
  if (!isRefName(ref)) throw new TypeError(`Not a full ref name: ${JSON.stringify(ref.slice(0, 200))}`)
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

async function runUpdate(repo: Repository, input: string, env: Record<string, string> = {}): Promise<UpdateOutcome> {
  // Whoever died in the middle left the locks of all its refs, of which git names the first it meets.
  const locks = new Set<string>()
  for (;;) {
    const outcome = await tryUpdate(repo, input, env)
    const lock = outcome.kind === 'done' ? null : lockInTheWay(repo.dir, outcome.error.stderr)
    if (lock === null || locks.has(lock) || locks.size >= orphansMax) return outcome
    if (!(await removeIfOrphaned(repo.dir, lock))) return outcome
    locks.add(lock)
  }
}

/** A merge has three refs and the file of packed ones. */
const orphansMax = 8

function isLocked(repo: Repository, error: GitError): boolean {
  return lockInTheWay(repo.dir, error.stderr) !== null
}

async function tryUpdate(repo: Repository, input: string, env: Record<string, string>): Promise<UpdateOutcome> {
  try {
    await git(repo.dir, ['update-ref', '--stdin', '-z'], { input, env, config: durable(repo) })
    return { kind: 'done' }
  } catch (error) {
    if (error instanceof GitError && error.failure === 'exit') return { kind: 'failed', error }
    throw error
  }
}
