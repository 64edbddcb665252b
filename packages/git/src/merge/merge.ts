import { requireBranchName } from '../refs/branch-name.ts'
import { keepLooseObjects, writeCommit } from '../objects/loose-object.ts'
import { GitError } from '../process/git.ts'
import { observeWork } from '../process/observe.ts'
import { mergeVerificationFailure } from './check.ts'
import { mergeInPooledGit } from './pooled-merge.ts'
import { mergeInScratch } from './merge-tree.ts'
import { fetchObjects, mendMirror, withMending } from '../mirror/repair.ts'
import { pushRefs, type PushOutcome } from '../hosts/push.ts'
import { busyReason, isAncestor, type KeptCommits, mergeBase, moveRefs } from '../refs/refs.ts'
import { requireSha, type CallOptions, type RefUpdate, type Remote, type Repository, type Sha } from '../repository.ts'
import { readTips } from '../refs/tips.ts'

export type MergePlan =
  | { kind: 'up-to-date' }
  | { kind: 'fast-forward'; resultSha: Sha }
  | { kind: 'merge-commit'; resultSha: Sha; treeSha: Sha }
  | { kind: 'conflicted'; files: string[] }
  /** The result failed its verification; no ref may move to it. */
  | { kind: 'unverified'; reason: string }

export interface MergeInput {
  baseSha: Sha
  headSha: Sha
  message: string
  /** Author's and committer's date, to the second. With the rest of the input it determines the id of the result. */
  date: Date
}

export interface PlanOptions extends CallOptions {
  /** Called with the result and everything that was written for it, before the result is verified. */
  written?: (resultSha: Sha, objects: Sha[]) => void
}

/** Computes a merge and writes its objects; moves no ref. The same input gives the same id on any machine. */
export async function planMerge(repo: Repository, input: MergeInput, options: PlanOptions = {}): Promise<MergePlan> {
  requireSha(input.baseSha)
  requireSha(input.headSha)
  options.signal?.throwIfAborted()
  return observeWork('plan merge', () =>
    withMending(repo, async () => {
      const ancestor = await mergeBase(repo, input.baseSha, input.headSha, options)
      if (ancestor === input.headSha) return { kind: 'up-to-date' }
      if (ancestor === input.baseSha) return { kind: 'fast-forward', resultSha: input.headSha }
      return planMergeCommit(repo, input, ancestor, options)
    }),
  )
}

async function planMergeCommit(
  repo: Repository,
  input: MergeInput,
  ancestor: Sha | null,
  { written }: PlanOptions,
): Promise<MergePlan> {
  const { baseSha, headSha } = input
  let resultSha = ''
  // Written to a separate folder first; all objects enter the repository together.
  const keep = async (treeSha: Sha, objectsDir: string) => {
    resultSha = await writeMergeCommit(repo, treeSha, input, objectsDir)
    const objects = await keepLooseObjects(repo, objectsDir, resultSha)
    written?.(resultSha, objects)
  }
  const first = (await mergeInPooledGit(repo, input, keep)) ?? (await mergeInScratch(repo, input, keep))
  if (first.kind === 'conflicted') return first
  // Unrelated histories have no ancestor to compare with; git then joins two whole trees.
  const failure =
    ancestor === null ? null : await mergeVerificationFailure(repo, { baseSha, headSha, ancestor, resultSha })
  if (failure === null) return { kind: 'merge-commit', resultSha, treeSha: first.treeSha }
  const second = await mergeInScratch(repo, input)
  const differs = second.kind !== 'clean' || second.treeSha !== first.treeSha
  const repeated = differs ? 'Computing it again gave another result.' : 'Computing it again gave the same.'
  return {
    kind: 'unverified',
    reason: `${failure} ${repeated} Nothing was merged; merge the two branches by hand and push the result.`,
  }
}

/** `objectsDir` is outside the repository's own objects. */
export function writeMergeCommit(
  repo: Repository,
  treeSha: Sha,
  { baseSha, headSha, message, date }: MergeInput,
  objectsDir: string,
): Promise<Sha> {
  const person = `svc <noreply@svc.invalid> ${Math.floor(date.getTime() / 1000)} +0000`
  const head = [`tree ${treeSha}`, `parent ${baseSha}`, `parent ${headSha}`, `author ${person}`, `committer ${person}`]
  // git treats a NUL as the end of a message.
  const text = message.replaceAll('\0', '').trimEnd()
  return writeCommit(repo, `${head.join('\n')}\n\n${text}\n`, objectsDir)
}

export type LandOutcome =
  | { kind: 'landed' }
  /** Base is no longer at `baseSha`: plan again from its new tip. */
  | { kind: 'moved' }
  /** Final, with the host's message. */
  | { kind: 'rejected'; reason: string; isProtected?: true }
  /** Nothing moved because of a temporary problem; planned and sent again, it may work. */
  | { kind: 'failed'; reason: string }
  /** The disk of the managed repository is full. Nothing moved. */
  | { kind: 'full'; error: Error }
  /** The host may have applied it, or still may. Only the tip will tell. */
  | { kind: 'unknown'; reason: string }

interface LandInput {
  /** The branch's short name. */
  baseRef: string
  baseSha: Sha
  resultSha: Sha
  /** Kept in the same transaction in a managed repository; on a host nothing is kept. */
  keep?: KeptCommits
  /** Base moves only after this has succeeded; its error is thrown. Preparations run in the meantime. */
  before?: () => Promise<unknown>
}

/** Moves base to the planned result, if base is still where the plan found it. */
export function landMerge(repo: Repository, input: LandInput, options: CallOptions = {}): Promise<LandOutcome> {
  return observeWork('land merge', () => moveBase(repo, input, options))
}

async function moveBase(repo: Repository, input: LandInput, options: CallOptions): Promise<LandOutcome> {
  const ref = `refs/heads/${requireBranchName(input.baseRef)}`
  const update = { ref, oldSha: requireSha(input.baseSha), newSha: requireSha(input.resultSha) }
  const before = input.before?.()
  if (repo.remote) {
    await before
    return landOnHost(repo, repo.remote, input, update, options)
  }
  const outcome = await moveRefs(repo, [update], { keep: input.keep, mayRepeat: true, before }).catch(async (error) => {
    await before
    return whenKilled(error)
  })
  if (outcome.kind === 'moved') return { kind: 'landed' }
  if (outcome.kind === 'killed') return { kind: 'unknown', reason: outcome.reason }
  if (outcome.kind === 'busy') return { kind: 'unknown', reason: busyReason }
  if (outcome.kind === 'full') return outcome
  if (outcome.kind === 'refused') return { kind: 'rejected', reason: outcome.reason }
  return (await containsResult(repo, input)) ? { kind: 'landed' } : { kind: 'moved' }
}

/** A killed git may already have moved the branch. */
function whenKilled(error: unknown): { kind: 'killed'; reason: string } {
  if (error instanceof GitError) return { kind: 'killed', reason: error.message }
  throw error
}

async function landOnHost(
  repo: Repository,
  remote: Remote,
  input: LandInput,
  update: RefUpdate,
  options: CallOptions,
): Promise<LandOutcome> {
  const pushed = await pushTwice(repo, remote, update, options)
  if (pushed.kind === 'not-sent') {
    return pushed.denied ? { kind: 'rejected', reason: pushed.reason } : { kind: 'unknown', reason: pushed.reason }
  }
  const answer = pushed.kind === 'answered' ? pushed.refs.get(update.ref) : undefined
  if (answer?.kind === 'done') return { kind: 'landed' }
  if (answer?.kind === 'rejected') return answer
  if (answer?.kind === 'failed') return { kind: 'failed', reason: answer.reason }
  // The lease or the connection failed. An earlier push of ours that succeeded looks the same.
  const where = await containsResult(repo, input)
  if (where === true) return { kind: 'landed' }
  if (answer?.kind === 'stale') return { kind: 'moved' }
  const reason = pushed.kind === 'unknown' ? pushed.reason : 'The git host did not report the result.'
  return { kind: 'unknown', reason }
}

/**
 * Another server on the same folder may join packs at any time, and a running git may lose a pack it reads; a second
 * attempt finds everything in its new place. If that fails too, an object is really missing.
 */
async function pushTwice(
  repo: Repository,
  remote: Remote,
  update: RefUpdate,
  options: CallOptions,
): Promise<PushOutcome> {
  const brokeDown = (pushed: PushOutcome) => {
    const answer = pushed.kind === 'answered' ? pushed.refs.get(update.ref) : undefined
    return answer?.kind === 'failed' && answer.isOurs ? answer.reason : null
  }
  const first = await pushRefs(repo.dir, remote, [update], options)
  if (brokeDown(first) === null) return first
  const second = await pushRefs(repo.dir, remote, [update], options)
  const words = brokeDown(second)
  if (words !== null) await mendMirror(repo, words)
  return second
}

/** Whether base contains the result now, read from the source of truth. null: unknown. */
async function containsResult(repo: Repository, { baseRef, resultSha }: LandInput): Promise<boolean | null> {
  const now = await readTips(repo, [baseRef])
  if (now.kind !== 'tips') return null
  const tip = now.tips.get(baseRef)
  if (!tip || tip === resultSha) return tip === resultSha
  const fetched = await fetchObjects(repo, [tip])
  return fetched.kind === 'present' ? isAncestor(repo, resultSha, tip) : null
}
