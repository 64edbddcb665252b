import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { trackFetch } from '../process/fetch-progress.ts'
import { git, GitError } from '../process/git.ts'
import { withLock } from '../process/keyed-lock.ts'
import { keptRefsOnDisk, noteKeptRefs, restoreKeptRefs } from '../refs/kept-refs.ts'
import {
  fetchWhole,
  brokenPath,
  fetchBranches,
  fetchRefspecs,
  makeBare,
  missingObjects,
  type FetchOutcome,
} from './mirror.ts'
import { objectFormat } from '../process/object-format.ts'
import type { CallOptions, Repository, Sha } from '../repository.ts'

/** Ensures that the store has these commits with their history. Asks the host only for missing ones. */
export async function fetchObjects(repo: Repository, shas: Sha[], options: CallOptions = {}): Promise<FetchOutcome> {
  if (!repo.remote) return fetchWhole(repo, shas, options)
  const first = await fetchWhole(repo, shas, options).catch((error: Error) => {
    // ENOENT: a file of the store itself.
    const isOfStore = error instanceof GitError ? error.failure === 'exit' : 'code' in error && error.code === 'ENOENT'
    if (isOfStore) return error
    throw error
  })
  if (!(first instanceof Error) && first.kind === 'present') return first
  if (!failedOfDamage(repo, first) && (await isSound(repo))) {
    if (first instanceof Error) throw first
    return first
  }
  const rebuilt = await rebuildMirror(repo, options)
  return rebuilt.kind === 'present' ? fetchWhole(repo, shas, options) : rebuilt
}

/** A fetch reads the store's objects to build on them: if one of our packs is damaged, git blames the host's. */
function failedOfDamage(repo: Repository, outcome: FetchOutcome | Error): boolean {
  if (outcome instanceof Error || outcome.kind !== 'unreachable') return false
  return isWorthMending(repo, outcome.reason)
}

/** Whether git can read a store: its settings, and every ref with its object. */
async function isSound(repo: Repository): Promise<boolean> {
  const hasSettings = await objectFormat(repo.dir).then(
    () => true,
    () => false,
  )
  if (!hasSettings) return false
  const args = ['for-each-ref', '--format=%(objecttype)']
  const listed = await git(repo.dir, args, { accept: [0, 1, 128] })
  return listed.code === 0 && listed.stderr === ''
}

/** Replaces a broken mirror by a fresh one. Keeps our own refs (`refs/svc/*`) as far as they are readable. */
export async function rebuildMirror(repo: Repository, options: CallOptions = {}): Promise<FetchOutcome> {
  const { remote } = repo
  if (!remote) throw new TypeError('A managed repository has no other copy, so it cannot be rebuilt.')
  return withLock(repo.dir, async () => {
    // A store whose settings are lost most likely had the usual format.
    const format = await objectFormat(repo.dir).catch(() => 'sha1' as const)
    const made = await makeBare(repo.dir, 'main', format)
    const fresh: Repository = { dir: made, remote }
    const failed = await trackFetch(repo.dir, true, (running) => fetchBranches(fresh, options, running))
    if (failed) {
      await rm(made, { recursive: true, force: true })
      return { kind: 'unreachable', reason: failed.reason }
    }
    const lost = await carryKeptRefs(repo.dir, fresh)
    // The host may have the commits that its files still name.
    await noteKeptRefs(made, await keptRefsOnDisk(repo.dir))
    await restoreKeptRefs(fresh, (shas) => missingObjects(fresh, shas))
    await rm(brokenPath(repo.dir), { recursive: true, force: true })
    await rename(repo.dir, brokenPath(repo.dir))
    await rename(made, repo.dir)
    // Something could not be read: keep the broken store next to the new one for inspection.
    if (!lost) await rm(brokenPath(repo.dir), { recursive: true, force: true })
    return { kind: 'present' }
  })
}

/** True when something could not be kept. */
async function carryKeptRefs(from: string, fresh: Repository): Promise<boolean> {
  const old: Repository = {
    dir: fresh.dir,
    remote: { url: `file://${from}`, credential: null, allowProtocols: ['file'] },
  }
  // Objects that are broken there may be intact here, so more can be read with our objects as a fallback.
  await mkdir(join(from, 'objects/info'), { recursive: true })
  await writeFile(join(from, 'objects/info/alternates'), `${join(fresh.dir, 'objects')}\n`)
  const listed = await git(from, ['for-each-ref', '--format=%(refname)', 'refs/svc'], { accept: [0, 1, 128] })
  if (listed.code !== 0) return true
  let lost = false
  for (const ref of listed.stdout.toString().split('\n').filter(Boolean)) {
    if ((await fetchRefspecs(old, [`+${ref}:${ref}`], {})) !== null) lost = true
  }
  return lost
}

/** git's messages about a damaged store; it has no exit code for that. */
const damage =
  /corrupt|unable to read|could not read|bad object|missing (?:blob|tree|commit)|cannot be accessed|inflate|bad tree object|does not point to a valid object|not a valid object|does not match index|too short|too small/i

/** A request for a commit that never existed looks like damage too, and must not cause rebuilds again and again. */
const mended = new LRUCache<string, true>({ max: 1000, ttl: 600_000 })

/** Whether git's message shows damage that was not repaired recently. The caller repairs it if so. */
function isWorthMending(repo: Repository, words: string): boolean {
  if (!damage.test(words) || mended.has(repo.dir)) return false
  mended.set(repo.dir, true)
  return true
}

/** Rebuilds a mirror that is damaged by git's message. Commits only in the mirror are lost then. */
export async function mendMirror(repo: Repository, words: string): Promise<void> {
  if (repo.remote && isWorthMending(repo, words)) await rebuildMirror(repo)
}

/** Runs `work`; if it fails because the mirror is damaged, rebuilds the mirror and tries once more. */
export async function withMending<T>(repo: Repository, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!repo.remote || !(error instanceof GitError) || !isWorthMending(repo, error.stderr)) throw error
    const rebuilt = await rebuildMirror(repo)
    if (rebuilt.kind !== 'present') throw error
    return work()
  }
}
