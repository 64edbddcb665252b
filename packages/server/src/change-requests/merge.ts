import { type ChangeRequest, ServiceError } from '@svc/contract'
import { type MergePlan, planMerge, readTips, type Repository, type TipsOutcome } from '@svc/git'
import { getUser } from '../accounts/store.ts'
import type { Caller, ProjectActor, UserActor } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { bring } from '../projects/bring.ts'
import { openRepository, unreachable } from '../projects/repository.ts'
import type { ProjectRow } from '../projects/store.ts'
import { refuseAliasAsBase } from './alias-as-base.ts'
import { landedAttempt } from './attempts.ts'
import { land, type Landing, type Planned } from './land.ts'
import { refuseBrokenManifest } from './manifest-gate.ts'
import { inTurn } from './merge-lock.ts'
import { mergeMessage } from './merge-message.ts'
import { requireMove } from './moves.ts'
import type { Merged } from './record-merge.ts'
import { notHandedOut } from './commit-pair.ts'
import { refMissing } from './ref-missing.ts'
import { knownBranches } from './refresh-tips.ts'
import { requireSettled } from './settle.ts'
import { type ChangeRequestRow, presentChangeRequest, requireChangeRequest } from './store.ts'
import { refuseAgentMerge } from './who-may-merge.ts'
import { withinTime } from '../projects/within-limits.ts'

export type MergeDeps = Pick<
  Deps,
  'db' | 'locks' | 'localLocks' | 'config' | 'keyring' | 'redaction' | 'now' | 'newId' | 'log'
>

export interface MergeChangeRequest {
  project: ProjectRow
  caller: Caller<UserActor | ProjectActor>
  crId: string
  idempotencyKey: string | null
  signal: AbortSignal
  message?: string | undefined
  expected_head_sha?: string | undefined
  expected_base_sha?: string | undefined
}

/** How often a merge is sent to a host that loses it. */
const triesMax = 3

/** lock → tips → plan → intent row → land → row → answer: whatever dies in between, the branch's tip tells how it went. */
export async function mergeChangeRequest(deps: MergeDeps, input: MergeChangeRequest) {
  const looking = mayMerge(deps, input)
  looking.catch(() => {})
  const known = knownBranches(input.project, input.crId)
  const { project_id } = input.project
  const { base_ref } = known ?? (await looking).cr
  await failpoint('merge.before_lock')
  // Where its base is known the turn is asked for meanwhile. Who may not merge does nothing in it, and does not wait for it.
  const turn = inTurn(deps, { project_id, base_ref }, async () => {
    const { cr, earlier } = await looking
    return earlier ?? mergeInTurn(deps, input, cr)
  })
  turn.catch(() => {})
  const merged = (await looking).earlier ?? (await turn)
  await failpoint('merge.before_answer')
  return answerOf(merged)
}

/** Refuses what can be refused before its turn. `earlier` is what a first request with the same key merged. */
async function mayMerge(
  deps: MergeDeps,
  input: MergeChangeRequest,
): Promise<{ cr: ChangeRequestRow; earlier: Merged | null }> {
  const { project, caller } = input
  const cr = await requireChangeRequest(deps.db, project.project_id, input.crId)
  await refuseAgentMerge(deps.db, { project, actor: caller.actor, cr })
  const earlier = await mergedBefore(deps, input, cr)
  if (earlier === null) requireMove('merge', cr)
  return { cr, earlier }
}

async function mergeInTurn(deps: MergeDeps, input: MergeChangeRequest, found: ChangeRequestRow): Promise<Merged> {
  if (input.signal.aborted) throw new ServiceError('unavailable', 'The client left before its merge began.')
  const beganAt = performance.now()
  // Read anew each time: it can have been merged, closed or renamed while this one waited.
  const readAgain = () => requireChangeRequest(deps.db, found.project_id, found.cr_id)
  const [now, user, { repository, look }, settled] = await Promise.all([
    readAgain(),
    getUser(deps.db, input.caller.actor.user_id),
    openAndLook(deps, input, found),
    requireSettled(deps, input.project, found.base_ref),
  ])
  await failpoint('merge.after_settle')
  // What was read beside the settling may be from before it.
  let cr = settled === 'nothing' ? now : await readAgain()
  let early = settled === 'nothing' ? look : null
  let last: Landing | Lacking = { kind: 'moved' }
  // Trouble of the host ends after a few tries; outside pushes cost tries for as long as an answer may take.
  const goesOn = (tries: number) =>
    last.kind === 'moved' ? performance.now() - beganAt < deps.config.mergeTriesMs : tries <= triesMax
  for (let tries = 1; tries === 1 || goesOn(tries); tries++) {
    if (tries > 1) cr = await readAgain()
    const earlier = await mergedBefore(deps, input, cr)
    if (earlier !== null) return earlier
    requireMove('merge', cr)
    // Opening a mirror waits for whoever fetches into it, which is time of this answer, too.
    const spentMs = tries === 1 ? performance.now() - beganAt : 0
    last = await tryMerge(deps, input, { repository, cr, user, spentMs, look: early })
    if (last.kind === 'merged') return last.merged
    early = null
  }
  if (last.kind === 'lost')
    throw new ServiceError(
      'repository_unreachable',
      `The merge did not get through to the repository: ${last.reason}`,
      {
        hint: 'It is not on the branch, and the change request is open as before. Try again in a moment.',
      },
    )
  if (last.kind === 'lacking') throw notHandedOut(last.shas)
  throw new ServiceError(
    'base_moved',
    `Others push to ${JSON.stringify(found.base_ref)} faster than it can be merged into.`,
    {
      hint: 'Nothing was changed. Try again in a moment.',
      detail: { base_ref: found.base_ref },
    },
  )
}

interface Merging {
  repository: Repository
  cr: ChangeRequestRow
  /** Who merges. */
  user: Awaited<ReturnType<typeof getUser>>
  /** Before this try began. */
  spentMs: number
  /** A look at the tips that began in this turn already; null: it has to begin. */
  look: Promise<TipsOutcome> | null
}

/** The look goes on beside what else is read: both branches of a change request are its own for ever. */
async function openAndLook(
  deps: MergeDeps,
  input: MergeChangeRequest,
  cr: ChangeRequestRow,
): Promise<{ repository: Repository; look: Promise<TipsOutcome> }> {
  const repository = await openRepository(deps, input.project)
  const look = tipsOf(repository, cr, input.signal)
  // Not everybody who comes here gets to the point of needing it.
  look.catch(() => {})
  return { repository, look }
}

function tipsOf(repository: Repository, cr: ChangeRequestRow, signal: AbortSignal): Promise<TipsOutcome> {
  return readTips(repository, [cr.base_ref, cr.head_ref], { signal })
}

async function tryMerge(deps: MergeDeps, input: MergeChangeRequest, merging: Merging): Promise<Landing | Lacking> {
  const { repository, cr } = merging
  const planned = await withinTime(input.signal, (signal) => plan(deps, { ...input, signal }, merging), merging)
  if ('kind' in planned) return planned
  return land(deps, repository, { cr, ...planned, caller: input.caller, idempotencyKey: input.idempotencyKey })
}

/** The host names commits as its tips and does not hand them out: they moved just now, or its history is cut there. */
interface Lacking {
  kind: 'lacking'
  shas: string[]
}

/** What would be pushed onto which base. Until here nothing has happened. */
async function plan(
  deps: MergeDeps,
  input: MergeChangeRequest,
  { repository, cr, user, look }: Merging,
): Promise<Omit<Planned, 'cr' | 'caller' | 'idempotencyKey'> | Lacking> {
  const { signal } = input
  const { baseSha, headSha } = expectedTips(await (look ?? tipsOf(repository, cr, signal)), cr, input)
  await failpoint('merge.after_tips')
  const brought = await bring(repository, [baseSha, headSha], signal)
  if (brought.kind === 'unreachable') throw unreachable(brought.reason)
  if (brought.kind === 'missing') return { kind: 'lacking', shas: brought.shas }
  await failpoint('merge.after_objects')
  await refuseBrokenManifest(input.project, repository, headSha, signal)
  const message = mergeMessage(cr, user, input.message)
  // git keeps seconds; the row has to hold the very date that is in the commit.
  const date = new Date(Math.floor(deps.now().getTime() / 1000) * 1000)
  const made = await planWithoutDoubt(deps, repository, { baseSha, headSha, message, date, signal })
  await failpoint('merge.after_plan')
  if (made.kind === 'conflicted')
    throw new ServiceError('merge_conflict', 'Merge failed', {
      hint: `Merge ${JSON.stringify(cr.base_ref)} into ${JSON.stringify(cr.head_ref)}, resolve the conflicts, push, and try again.`,
      detail: { conflicts: made.files },
    })
  return { plan: made, baseSha, headSha, message, date }
}

/** The live tips, if they are the ones the caller has seen. */
function expectedTips(
  outcome: TipsOutcome,
  cr: ChangeRequestRow,
  input: MergeChangeRequest,
): { baseSha: string; headSha: string } {
  if (outcome.kind === 'unreachable') throw unreachable(outcome.reason)
  const [headSha, baseSha] = [outcome.tips.get(cr.head_ref), outcome.tips.get(cr.base_ref)]
  if (headSha === undefined) throw refMissing(cr.head_ref)
  if (baseSha === undefined) throw refMissing(cr.base_ref)
  refuseAliasAsBase(outcome.aliases, cr.base_ref, 'conflict')
  const { expected_head_sha, expected_base_sha } = input
  if (expected_head_sha !== undefined && expected_head_sha !== headSha)
    throw new ServiceError(
      'head_moved',
      `${JSON.stringify(cr.head_ref)} has other commits than the ones you looked at.`,
      {
        hint: 'Look at what is there now, then merge that.',
        detail: { expected_head_sha, head_sha: headSha },
      },
    )
  if (expected_base_sha !== undefined && expected_base_sha !== baseSha)
    throw new ServiceError('base_moved', `${JSON.stringify(cr.base_ref)} is no longer where you saw it.`, {
      hint: 'Look at the change request again, then merge it.',
      detail: { expected_base_sha, base_sha: baseSha },
    })
  return { baseSha, headSha }
}

/** The engine checks its result and computes a doubtful one again. What stays in doubt is refused: a wrong merge is worse than none. */
async function planWithoutDoubt(
  deps: Pick<Deps, 'log'>,
  repository: Repository,
  { signal, ...wanted }: { baseSha: string; headSha: string; message: string; date: Date; signal: AbortSignal },
): Promise<Exclude<MergePlan, { kind: 'doubtful' }>> {
  const plan = await planMerge(repository, wanted, { signal })
  if (plan.kind !== 'doubtful') return plan
  const facts = { base_sha: wanted.baseSha, head_sha: wanted.headSha }
  deps.log.error({ dir: repository.dir, ...facts, reason: plan.reason }, 'a merge did not pass its own check')
  throw new ServiceError('internal', 'The merge did not pass its own check, so nothing was changed.', {
    hint: 'Merge the base into the head branch by hand, or ask the operator to look into the log.',
    detail: facts,
  })
}

/** What an earlier request with the same Idempotency-Key merged: a retry gets its answer. */
async function mergedBefore(
  deps: Pick<Deps, 'db'>,
  input: MergeChangeRequest,
  cr: ChangeRequestRow,
): Promise<Merged | null> {
  if (input.idempotencyKey === null || cr.status !== 'merged') return null
  const attempt = await landedAttempt(deps.db, {
    cr_id: cr.cr_id,
    idempotency_key: input.idempotencyKey,
    merged_by: input.caller.actor.user_id,
  })
  return attempt === null ? null : { cr, attempt }
}

function answerOf({ cr, attempt }: Merged): {
  change_request: ChangeRequest
  merge: {
    merge_commit_sha: string
    fast_forward: boolean
    up_to_date: boolean
    base_sha_before: string
    base_sha_after: string
  }
} {
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
