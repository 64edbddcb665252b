import { ServiceError } from '@svc/contract'
import { landMerge, type MergePlan, type Repository } from '@svc/git'
import type { Caller, ProjectActor, UserActor } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { forgetProtection, recordProtection } from '../projects/protection.ts'
import { abandonedAttempts, insertAttempt, markAbandoned, type MergeAttempt } from './attempts.ts'
import { saveHostLanding } from './host-landing-store.ts'
import { requireMove } from './moves.ts'
import { pullRequestRemote } from './pull-request.ts'
import { type Merged, recordMerge } from './record-merge.ts'
import { contains, settle } from './settle.ts'
import { type ChangeRequestRow, requireChangeRequest } from './store.ts'

type LandDeps = Pick<Deps, 'db' | 'now' | 'newId' | 'log'>

export interface Planned {
  cr: ChangeRequestRow
  plan: Extract<MergePlan, { kind: 'up-to-date' | 'fast-forward' | 'merge-commit' }>
  baseSha: string
  headSha: string
  message: string
  date: Date
  caller: Caller<UserActor | ProjectActor>
  idempotencyKey: string | null
}

export type Landing =
  | { kind: 'merged'; merged: Merged }
  /** Somebody else moved the base first. */
  | { kind: 'moved' }
  /** The push went wrong on its way, and is not on the branch. */
  | { kind: 'lost'; reason: string }

/** From here on nothing listens to the client: what is begun is brought to its end. The caller holds the lock of the base. */
export async function land(deps: LandDeps, repository: Repository, planned: Planned): Promise<Landing> {
  const { cr, plan, baseSha } = planned
  const merged = async (attempt: MergeAttempt): Promise<Landing> => ({
    kind: 'merged',
    merged: await recordMerge(deps, repository, attempt, cr),
  })
  if (plan.kind === 'up-to-date') {
    const late = await landedLate(deps, repository, planned)
    return merged(await intend(deps, planned, late ?? { kind: plan.kind, base_sha: baseSha, result_sha: baseSha }))
  }
  const { kind, resultSha } = plan
  const intent = Promise.withResolvers<MergeAttempt>()
  const outcome = await landMerge(repository, {
    baseRef: cr.base_ref,
    baseSha,
    resultSha,
    keep: { number: cr.number, base: baseSha, head: planned.headSha },
    // Written while the branch is made ready to move; it does not move before the row is on the disk.
    async before() {
      intent.resolve(await intend(deps, planned, { kind, base_sha: baseSha, result_sha: resultSha }))
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
      await abandon(deps, attempt, 'The base moved.')
      return { kind: 'moved' }
    case 'failed':
      await abandon(deps, attempt, outcome.reason)
      return { kind: 'lost', reason: outcome.reason }
    case 'rejected':
      await abandon(deps, attempt, outcome.reason)
      if (outcome.isProtected === true) throw await protectedBase(deps, repository, planned, outcome.reason)
      throw new ServiceError('merge_rejected', `The git host refused the merge: ${outcome.reason}`, {
        hint: 'Nothing was changed. Let the host accept what this project pushes, then merge again.',
        detail: { reason: outcome.reason },
      })
    case 'unknown':
      return lookUp(deps, repository, attempt, outcome.reason)
    default:
      return outcome satisfies never
  }
}

/** Kept for the change requests that come after it: their merge would be refused alike. */
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
        : 'Nothing was changed. Merge its head branch on the git host, which marks it as merged here, or let the host accept pushes of this project and merge again.',
      detail: { reason, base_ref, can_open_pull_request: canOpen },
    },
  )
}

/** The push ended without an answer, so the branch is asked. When it cannot be asked the intent stays and is settled later. */
async function lookUp(deps: LandDeps, repository: Repository, attempt: MergeAttempt, reason: string): Promise<Landing> {
  const settled = await settle(deps, repository, attempt)
  switch (settled.kind) {
    case 'landed':
      return { kind: 'merged', merged: settled.merged }
    case 'absent':
      return { kind: 'lost', reason }
    case 'unknown':
      throw new ServiceError(
        'repository_unreachable',
        'The repository went away during the merge, so whether it took the merge is not known yet.',
        {
          hint: 'Look at the change request once the repository is back: it is settled by what is on the branch. Sending the merge again is safe.',
          detail: { reason: settled.reason },
        },
      )
    default:
      return settled satisfies never
  }
}

/** With message and date of its own where the commit is not the one that was planned now. */
type Facts = Pick<MergeAttempt, 'kind' | 'base_sha' | 'result_sha'> &
  Partial<Pick<MergeAttempt, 'message' | 'commit_date'>>

/**
 * A host can take a push minutes after we gave up on it. A change request with nothing left to merge may be one whose
 * own merge came that late: then it was merged by that commit, and its diff begins where that commit began.
 */
async function landedLate(deps: LandDeps, repository: Repository, planned: Planned): Promise<Facts | null> {
  const { cr, headSha, baseSha } = planned
  for (const earlier of await abandonedAttempts(deps.db, { cr_id: cr.cr_id, head_sha: headSha, limit: 5 }))
    if (await contains(repository, { tip: baseSha, sha: earlier.result_sha })) return earlier
  return null
}

/** The intent: after this row whoever finds it can tell, from the branch alone, how the merge ended. */
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
    throw new Error(`The change request ${cr.cr_id} is open, and yet no merge of it can begin.`)
  }
  await failpoint('merge.after_intent')
  return attempt
}

async function abandon(deps: LandDeps, attempt: MergeAttempt, reason: string): Promise<void> {
  await failpoint('merge.before_abandon')
  await markAbandoned(deps.db, attempt.attempt_id, reason, deps.now())
}
