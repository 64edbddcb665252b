import { ServiceError } from '@svc/contract'
import { landMerge, type MergePlan, type Repository } from '@svc/git'
import type { Caller, ProjectActor, UserActor } from '../../auth/actor.ts'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import type { Homed } from '../../projects/home-store.ts'
import { handledElsewhere } from '../../deadline.ts'
import { forgetProtection, recordProtection } from '../../projects/protection-store.ts'
import { abandonedAttempts, insertAttempt, markAbandoned, type MergeAttempt } from './attempt-store.ts'
import { saveHostLanding } from './host-landing-store.ts'
import { requireMove } from '../moves.ts'
import { pullRequestRemote } from './pull-request.ts'
import { type Merged, type RecordDeps, recordMerge } from './record.ts'
import { contains, reconcileAttempt } from './reconcile.ts'
import { type ChangeRequestRow, requireChangeRequest } from '../store.ts'

type LandDeps = RecordDeps & Pick<Deps, 'newId' | 'log'>

export interface Planned {
  project: Homed
  cr: ChangeRequestRow
  plan: Extract<MergePlan, { kind: 'up-to-date' | 'fast-forward' | 'merge-commit' }>
  /** The copy on another server gets the objects of the merge. */
  begun: Promise<unknown>
  baseSha: string
  headSha: string
  message: string
  date: Date
  caller: Caller<UserActor | ProjectActor>
  idempotencyKey: string | null
}

export type Landing =
  | { kind: 'merged'; merged: Merged }
  /** Another push moved the base first. */
  | { kind: 'moved' }
  /** The push failed on its way, and the branch does not have it. */
  | { kind: 'lost'; reason: string }

/** From here on the client's abort is ignored: a merge that started runs to its end. The caller holds the lock of the base. */
export async function land(deps: LandDeps, repository: Repository, planned: Planned): Promise<Landing> {
  const { cr, plan, baseSha } = planned
  const merged = async (attempt: MergeAttempt): Promise<Landing> => ({
    kind: 'merged',
    merged: await recordMerge(deps, repository, { attempt, project: planned.project, found: cr }),
  })
  if (plan.kind === 'up-to-date') {
    const late = await landedLate(deps, repository, planned)
    return merged(await intend(deps, planned, late ?? { kind: plan.kind, base_sha: baseSha, result_sha: baseSha }))
  }
  const { kind, resultSha } = plan
  // The host of an external repository keeps the result.
  const commits = [...(repository.remote === null ? [resultSha] : []), baseSha, planned.headSha]
  const copied = planned.begun.then(() => deps.replicas.send(planned.project, repository, commits))
  // Awaited below, before the branch moves.
  copied.catch(handledElsewhere)
  const intent = Promise.withResolvers<MergeAttempt>()
  const outcome = await landMerge(repository, {
    baseRef: cr.base_ref,
    baseSha,
    resultSha,
    keep: { number: cr.number, base: baseSha, head: planned.headSha },
    // Writes the intent while git prepares the update. The branch does not move before the row is on disk, and the
    // objects are on the server with the copy.
    async before() {
      const attempt = await intend(deps, planned, { kind, base_sha: baseSha, result_sha: resultSha })
      intent.resolve(attempt)
      await copied.catch(async (error: Error) => {
        await abandon(deps, attempt, error.message)
        throw error
      })
      await failpoint('merge.before_push')
    },
  })
  const attempt = await intent.promise
  await failpoint('merge.after_push')
  switch (outcome.kind) {
    case 'landed':
      if (repository.remote !== null)
        await forgetProtection(deps.db, { project_id: cr.project_id, branch: cr.base_ref })
      return merged(attempt)
    case 'moved':
      await abandon(deps, attempt, 'Another push moved the base.')
      return { kind: 'moved' }
    case 'failed':
      await abandon(deps, attempt, outcome.reason)
      return { kind: 'lost', reason: outcome.reason }
    case 'rejected':
      await abandon(deps, attempt, outcome.reason)
      if (outcome.isProtected === true) throw await protectedBase(deps, repository, planned, outcome.reason)
      throw rejected(repository, outcome.reason)
    case 'full':
      await abandon(deps, attempt, 'The disk of the server was full.')
      throw outcome.error
    case 'unknown':
      return reconcileAfterPush(deps, repository, { attempt, project: planned.project, reason: outcome.reason })
    default:
      return outcome satisfies never
  }
}

function rejected({ remote }: Repository, reason: string): ServiceError {
  const isManaged = remote === null
  return new ServiceError('merge_rejected', `${isManaged ? 'git' : 'The git host'} refused the merge: ${reason}`, {
    hint: isManaged
      ? 'Nothing was changed. The repository is on this server: tell its operator.'
      : 'Nothing was changed. Allow pushes from this project on the host, then merge again.',
    detail: { reason },
  })
}

/** Recorded for later change requests on this base, whose merges the host would refuse too. */
async function protectedBase(
  deps: LandDeps,
  repository: Repository,
  { cr, caller }: Planned,
  reason: string,
): Promise<ServiceError> {
  const { project_id, base_ref, number } = cr
  const found_at = deps.now()
  await recordProtection(deps.db, { project_id, branch: base_ref, reason, found_by: 'push', found_at })
  await saveHostLanding(deps.db, { cr, caller, pull: null, at: found_at })
  const canOpen = pullRequestRemote(repository) !== null
  return new ServiceError(
    'branch_protected',
    `The git host does not let this project push to ${JSON.stringify(base_ref)}: ${reason}`,
    {
      hint: canOpen
        ? `Nothing was changed. Open a pull request on the git host: \`svc cr pull-request ${number}\`. The change request is merged once that is merged.`
        : 'Nothing was changed. Merge its head branch on the git host, which marks it as merged here, or allow pushes from this project there and merge again.',
      detail: { reason, base_ref, can_open_pull_request: canOpen },
    },
  )
}

/** The push ended without an answer, so this reads the branch. When that fails too, the intent stays and a later pass reconciles it. */
async function reconcileAfterPush(
  deps: LandDeps,
  repository: Repository,
  { attempt, project, reason }: { attempt: MergeAttempt; project: Homed; reason: string },
): Promise<Landing> {
  const reconciled = await reconcileAttempt(deps, repository, { attempt, project })
  switch (reconciled.kind) {
    case 'landed':
      return { kind: 'merged', merged: reconciled.merged }
    case 'absent':
      return { kind: 'lost', reason }
    case 'unknown':
      throw new ServiceError(
        'repository_unreachable',
        'The repository became unreachable during the merge, so its outcome is not known yet.',
        {
          hint: 'Check the change request once the repository is reachable again: its branch shows the outcome. Sending the merge again is safe.',
          detail: { reason: reconciled.reason },
        },
      )
    default:
      return reconciled satisfies never
  }
}

/** Message and date differ from the plan when an earlier attempt made the commit. */
type Facts = Pick<MergeAttempt, 'kind' | 'base_sha' | 'result_sha'> &
  Partial<Pick<MergeAttempt, 'message' | 'commit_date'>>

/**
 * A host can accept a push minutes after the service gave up on it. A change request with nothing left to merge may
 * be one whose own merge arrived that late: then that commit is its merge, and its diff starts where that commit
 * started.
 */
async function landedLate(deps: LandDeps, repository: Repository, planned: Planned): Promise<Facts | null> {
  const { cr, headSha, baseSha } = planned
  for (const earlier of await abandonedAttempts(deps.db, { cr_id: cr.cr_id, head_sha: headSha, limit: 5 }))
    if (await contains(repository, { tip: baseSha, sha: earlier.result_sha })) return earlier
  return null
}

/** Writes the intent. From this row on, any server can tell from the branch alone how the merge ended. */
async function intend(deps: LandDeps, planned: Planned, facts: Facts): Promise<MergeAttempt> {
  const { cr, caller } = planned
  await failpoint('merge.before_intent')
  const attempt = await insertAttempt(deps.db, {
    attempt_id: deps.newId(),
    cr_id: cr.cr_id,
    project_id: cr.project_id,
    base_ref: cr.base_ref,
    base_sha: facts.base_sha,
    head_sha: planned.headSha,
    result_sha: facts.result_sha,
    kind: facts.kind,
    message: facts.message ?? planned.message,
    commit_date: facts.commit_date ?? planned.date,
    merged_by: caller.actor.user_id,
    caller,
    idempotency_key: planned.idempotencyKey,
    created_at: deps.now(),
  })
  if (attempt === null) {
    const now = await requireChangeRequest(deps.db, cr.project_id, cr.cr_id)
    requireMove('merge', now)
    throw new Error(`The change request ${cr.cr_id} is open, but its merge attempt was not inserted.`)
  }
  await failpoint('merge.after_intent')
  return attempt
}

async function abandon(deps: LandDeps, attempt: MergeAttempt, reason: string): Promise<void> {
  await failpoint('merge.before_abandon')
  await markAbandoned(deps.db, attempt.attempt_id, reason, deps.now())
}
