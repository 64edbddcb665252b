import { type BodyOf, type mergeChangeRequestRoute, ServiceError } from '@svc/contract'
import {
  filesOfCommit,
  type MergeInput,
  type MergePlan,
  planMerge,
  type PlanOptions,
  readTips,
  type Repository,
  type TipsOutcome,
} from '@svc/git'
import { getUser } from '../../accounts/store.ts'
import type { Caller, ProjectActor, UserActor } from '../../auth/actor.ts'
import { handledElsewhere } from '../../deadline.ts'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import { fetchForRequest } from '../../projects/mirrors/fetch-for-request.ts'
import { openRepository, unreachable } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { refuseAliasAsBase } from '../alias-as-base.ts'
import { landedAttempt } from './attempt-store.ts'
import { land, type Landing, type Planned } from './land.ts'
import { refuseBrokenManifest } from './manifest-gate.ts'
import { inTurn } from './lock.ts'
import { mergeMessage } from './message.ts'
import { requireMove } from '../moves.ts'
import type { Merged } from './record.ts'
import { commitsNotServed, unlessLost } from '../preview/commit-pair.ts'
import { refMissing } from '../refusals.ts'
import { requireReconciled } from './reconcile.ts'
import { type ChangeRequestRow, presentChangeRequest, requireChangeRequest } from '../store.ts'
import { refuseAgentMerge } from './who-may-merge.ts'
import { withinTime } from '../../projects/within-limits.ts'

export type MergeDeps = Pick<
  Deps,
  'db' | 'home' | 'locks' | 'localLocks' | 'replicas' | 'config' | 'keyring' | 'redaction' | 'now' | 'newId' | 'log'
>

type MergeChangeRequest = BodyOf<typeof mergeChangeRequestRoute> & {
  project: ProjectRow
  caller: Caller<UserActor | ProjectActor>
  crId: string
  idempotencyKey: string | null
  signal: AbortSignal
}

/** Pushes to a host that loses them are retried up to this often. */
const triesMax = 3

/** lock → tips → plan → intent row → land → row → answer. After a crash at any step, the branch's tip shows how the merge ended. */
export async function mergeChangeRequest(deps: MergeDeps, input: MergeChangeRequest) {
  const { cr, earlier } = await mayMerge(deps, input)
  await failpoint('merge.before_lock')
  const base = { project_id: input.project.project_id, base_ref: cr.base_ref }
  const merged = earlier ?? (await inTurn(deps, base, () => mergeInTurn(deps, input, cr)))
  await failpoint('merge.before_answer')
  return replyOf(merged)
}

/** Refuses what can be refused before the merge's turn. `earlier` is the result of a first request with the same key. */
async function mayMerge(deps: MergeDeps, input: MergeChangeRequest) {
  const { project, caller } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  await refuseAgentMerge(deps.db, { project, actor: caller.actor, cr })
  const earlier = await mergedBefore(deps, input, cr)
  if (earlier === null) requireMove('merge', cr)
  return { cr, earlier }
}

async function mergeInTurn(deps: MergeDeps, input: MergeChangeRequest, found: ChangeRequestRow): Promise<Merged> {
  if (input.signal.aborted) throw new ServiceError('unavailable', 'The client disconnected before its merge started.')
  const beganAt = performance.now()
  const readAgain = () => requireChangeRequest(deps.db, found.project_id, found.cr_id)
  const start = await readForMerge(deps, input, found)
  await failpoint('merge.after_reconcile')
  const { user, repository } = start
  let { cr, tips } = start
  let last: Landing | Lacking = { kind: 'moved' }
  // Failures of the host end after a few tries. Outside pushes may cause retries for as long as one answer may take.
  const goesOn = (tries: number) =>
    last.kind === 'moved' ? performance.now() - beganAt < deps.config.mergeTriesMs : tries <= triesMax
  for (let tries = 1; tries === 1 || goesOn(tries); tries++) {
    if (tries > 1) cr = await readAgain()
    const earlier = await mergedBefore(deps, input, cr)
    if (earlier !== null) return earlier
    requireMove('merge', cr)
    // Opening a mirror waits for a fetch into it, which counts against this answer's time.
    const spentMs = tries === 1 ? performance.now() - beganAt : 0
    last = await tryMerge(deps, input, { repository, cr, user, spentMs, tips })
    if (last.kind === 'merged') return last.merged
    tips = null
  }
  if (last.kind === 'lost')
    throw new ServiceError('repository_unreachable', `The merge did not reach the repository: ${last.reason}`, {
      hint: 'The branch does not have it, and the change request is still open. Try again in a moment.',
    })
  if (last.kind === 'lacking') throw commitsNotServed(last.shas)
  throw new ServiceError(
    'base_moved',
    `Pushes to ${JSON.stringify(found.base_ref)} are arriving faster than a merge can complete.`,
    {
      hint: 'Nothing was changed. Try again in a moment.',
      detail: { base_ref: found.base_ref },
    },
  )
}

interface Merging {
  repository: Repository
  cr: ChangeRequestRow
  user: Awaited<ReturnType<typeof getUser>>
  /** Time spent before this try started. */
  spentMs: number
  /** Tips that were requested within this turn; null: request them. */
  tips: Promise<TipsOutcome> | null
}

/**
 * Everything a merge reads once it has its turn. The reads do not depend on each other, and one after the other they
 * would cost a database round trip each, which the limit for a merge (twice the time of its git commands) has no room
 * for. When an unfinished merge was reconciled meanwhile, the row and the tips may be from before it and are read again.
 */
async function readForMerge(deps: MergeDeps, input: MergeChangeRequest, found: ChangeRequestRow) {
  const readRow = () => requireChangeRequest(deps.db, found.project_id, found.cr_id)
  const opening = openRepository(deps, input.project).then((repository) => {
    const tips = tipsOf(repository, found, input.signal)
    // plan() awaits the tips and reports their error; a merge that ends before that does not need them.
    tips.catch(handledElsewhere)
    return { repository, tips }
  })
  const [cr, user, { repository, tips }, attempt] = await Promise.all([
    readRow(),
    getUser(deps.db, input.caller.actor.user_id),
    opening,
    requireReconciled(deps, input.project, found.base_ref),
  ])
  if (attempt === 'reconciled') return { cr: await readRow(), user, repository, tips: null }
  return { cr, user, repository, tips }
}

function tipsOf(repository: Repository, cr: ChangeRequestRow, signal: AbortSignal): Promise<TipsOutcome> {
  return readTips(repository, [cr.base_ref, cr.head_ref], { signal })
}

async function tryMerge(deps: MergeDeps, input: MergeChangeRequest, merging: Merging): Promise<Landing | Lacking> {
  const { repository, cr } = merging
  const planned = await withinTime(input.signal, (signal) => plan(deps, { ...input, signal }, merging), merging)
  if ('kind' in planned) return planned
  const { project, caller, idempotencyKey } = input
  return land(deps, repository, { project, cr, ...planned, caller, idempotencyKey })
}

/** The host names commits as tips without serving them: they have just moved, or its history is shallow. */
interface Lacking {
  kind: 'lacking'
  shas: string[]
}

/** Plans what to push onto which base. Nothing has changed up to here. */
async function plan(
  deps: MergeDeps,
  input: MergeChangeRequest,
  { repository, cr, user, tips }: Merging,
): Promise<Omit<Planned, 'project' | 'cr' | 'caller' | 'idempotencyKey'> | Lacking> {
  const { signal } = input
  const { baseSha, headSha } = expectedTips(await (tips ?? tipsOf(repository, cr, signal)), cr, input)
  await failpoint('merge.after_tips')
  const fetched = await fetchForRequest(repository, [baseSha, headSha], signal)
  if (fetched.kind === 'unreachable') throw unreachable(fetched.reason)
  if (fetched.kind === 'missing') return { kind: 'lacking', shas: fetched.shas }
  await failpoint('merge.after_objects')
  const pair = { repository, baseSha, headSha }
  await unlessLost(pair, refuseBrokenManifest(input.project, repository, headSha, signal))
  const message = mergeMessage(cr, user, input.message)
  // git stores seconds, and the row has to hold exactly the commit's date.
  const date = new Date(Math.floor(deps.now().getTime() / 1000) * 1000)
  let begun: Promise<unknown> = Promise.resolve()
  // Begins while the result is verified.
  const written = (resultSha: string, objects: string[]) => {
    if (repository.remote !== null) return
    const change = { commit: resultSha, parents: [baseSha, headSha], objects }
    const files = { commits: [resultSha], read: () => filesOfCommit(repository, change) }
    begun = deps.replicas.send(input.project, repository, [resultSha], { files })
    begun.catch(handledElsewhere)
  }
  const made = await unlessLost(
    pair,
    planVerified(deps, repository, { baseSha, headSha, message, date, signal, written }),
  )
  await failpoint('merge.after_plan')
  if (made.kind === 'conflicted')
    throw new ServiceError('merge_conflict', 'Merge failed', {
      hint: `Merge ${JSON.stringify(cr.base_ref)} into ${JSON.stringify(cr.head_ref)}, resolve the conflicts, push, and try again.`,
      detail: { conflicts: made.files },
    })
  return { plan: made, begun, baseSha, headSha, message, date }
}

/** The live tips, provided they are those the caller expects. */
function expectedTips(outcome: TipsOutcome, cr: ChangeRequestRow, input: MergeChangeRequest) {
  if (outcome.kind === 'unreachable') throw unreachable(outcome.reason)
  const [headSha, baseSha] = [outcome.tips.get(cr.head_ref), outcome.tips.get(cr.base_ref)]
  if (headSha === undefined) throw refMissing(cr.head_ref)
  if (baseSha === undefined) throw refMissing(cr.base_ref)
  refuseAliasAsBase(outcome.aliases, cr.base_ref, 'conflict')
  const { expected_head_sha, expected_base_sha } = input
  if (expected_head_sha !== undefined && expected_head_sha !== headSha)
    throw new ServiceError('head_moved', `${JSON.stringify(cr.head_ref)} has changed since you viewed it.`, {
      hint: 'Review its current commits, then merge again.',
      detail: { expected_head_sha, head_sha: headSha },
    })
  if (expected_base_sha !== undefined && expected_base_sha !== baseSha)
    throw new ServiceError('base_moved', `${JSON.stringify(cr.base_ref)} has moved since you viewed it.`, {
      hint: 'Review the change request again, then merge it.',
      detail: { expected_base_sha, base_sha: baseSha },
    })
  return { baseSha, headSha }
}

/** The engine verifies its result and recomputes a merge that fails verification. A second failure is refused: a wrong merge is worse than none. */
async function planVerified(
  deps: Pick<Deps, 'log'>,
  repository: Repository,
  { signal, written, ...wanted }: MergeInput & Required<Pick<PlanOptions, 'written'>> & { signal: AbortSignal },
): Promise<Exclude<MergePlan, { kind: 'unverified' }>> {
  const plan = await planMerge(repository, wanted, { signal, written })
  if (plan.kind !== 'unverified') return plan
  const facts = { base_sha: wanted.baseSha, head_sha: wanted.headSha }
  deps.log.error({ dir: repository.dir, ...facts, reason: plan.reason }, 'a merge failed its verification')
  throw new ServiceError('internal', 'The merge failed its verification, so nothing was changed.', {
    hint: "Merge the base into the head branch by hand, or ask the operator to check the server's log.",
    detail: facts,
  })
}

/** The result of an earlier request with the same Idempotency-Key. */
async function mergedBefore(deps: Pick<Deps, 'db'>, input: MergeChangeRequest, cr: ChangeRequestRow) {
  if (input.idempotencyKey === null || cr.status !== 'merged') return null
  const attempt = await landedAttempt(deps.db, {
    cr_id: cr.cr_id,
    idempotency_key: input.idempotencyKey,
    merged_by: input.caller.actor.user_id,
  })
  return attempt === null ? null : { cr, attempt }
}

function replyOf({ cr, attempt }: Merged) {
  return {
    change_request: presentChangeRequest(cr),
    merge: {
      merge_commit_sha: attempt.result_sha,
      fast_forward: attempt.kind === 'fast-forward',
      up_to_date: attempt.kind === 'up-to-date',
      base_sha_before: attempt.base_sha,
      base_sha_after: attempt.result_sha,
    },
  }
}
