import { type BodyOf, type openChangeRequestRoute, ServiceError } from '@svc/contract'
import { readTips } from '@svc/git'
import { recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import { isUuid } from '../../auth/allow.ts'
import type { Deps } from '../../deps.ts'
import '../../failpoint.ts'
import { openRepository, unreachable } from '../../projects/repository.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { auditOf } from '../audit.ts'
import { refuseAliasAsBase } from '../alias-as-base.ts'
import { holdBranchesOf } from './hold-branches.ts'
import { type ChangeRequestRow, getChangeRequests, insertChangeRequest } from '../store.ts'
import { recordChangeRequestEvent } from '../record-event.ts'

type OpenChangeRequest = BodyOf<typeof openChangeRequestRoute> & {
  project: ProjectRow
  caller: Caller
  /** The id of the new row, the same when the request is a retry. */
  crId: string
  signal: AbortSignal
}

export async function openChangeRequest(
  deps: Pick<Deps, 'db' | 'config' | 'keyring' | 'log' | 'now'>,
  input: OpenChangeRequest,
): Promise<ChangeRequestRow> {
  const { project, head_ref } = input
  const [earlier] = await getChangeRequests(deps.db, project.project_id, [input.crId])
  if (earlier !== undefined) return earlier
  const base_ref = input.base_ref ?? project.default_branch
  if (head_ref === base_ref)
    throw new ServiceError('invalid', `The head branch and the base branch are both ${JSON.stringify(base_ref)}.`, {
      hint: 'Commit on another branch, push it, and open the change request from there (head_ref).',
      detail: { issues: [{ path: 'head_ref', message: 'must differ from base_ref' }] },
    })
  const tips = await resolveTips(deps, { project, head_ref, base_ref, signal: input.signal })
  await failpoint('open.after_tips')
  const made = await deps.db.transaction().execute(async (trx) => {
    // The number locks the project, which comes before its branches.
    const row = await insertChangeRequest(trx, {
      cr_id: input.crId,
      account_id: project.account_id,
      project_id: project.project_id,
      title: input.title,
      description: input.description,
      base_ref,
      head_ref,
      base_commit_sha: tips.base,
      head_commit_sha: tips.head,
      // A value that cannot be a session's id is ignored, like an unknown id.
      origin_session_id: input.session_id != null && isUuid(input.session_id) ? input.session_id : null,
      created_by: input.caller.actor.user_id,
      metadata: input.metadata ?? {},
      at: deps.now(),
    })
    await holdBranchesOf(trx, row)
    const { number, title, origin_session_id } = row
    await recordAudit(
      trx,
      input.caller,
      auditOf(row, 'open', { after: { number, title, base_ref, head_ref, origin_session_id } }),
    )
    await recordChangeRequestEvent(trx, 'change_request.opened', row, input.caller.actor)
    await failpoint('open.before_row')
    return row
  })
  await failpoint('open.after_row')
  return made
}

/** Runs before the number is assigned: waiting for a repository must not hold the counter. */
async function resolveTips(
  deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'log'>,
  input: { project: ProjectRow; head_ref: string; base_ref: string; signal: AbortSignal },
): Promise<{ head: string; base: string }> {
  const { head_ref, base_ref } = input
  const repository = await openRepository(deps, input.project)
  const outcome = await readTips(repository, [base_ref, head_ref], { signal: input.signal })
  if (outcome.kind === 'unreachable') throw unreachable(outcome.reason)
  const [head, base] = [outcome.tips.get(head_ref), outcome.tips.get(base_ref)]
  if (head === undefined) throw refNotFound('head_ref', head_ref, 'Push it first: `git push origin HEAD`.')
  if (base === undefined) throw refNotFound('base_ref', base_ref, 'Pass an existing branch as base_ref.')
  refuseAliasAsBase(outcome.aliases, base_ref, 'invalid')
  return { head, base }
}

function refNotFound(path: string, ref: string, hint: string): ServiceError {
  return new ServiceError('ref_not_found', `The repository has no branch ${JSON.stringify(ref)}.`, {
    hint,
    detail: { ref, issues: [{ path, message: 'does not exist' }] },
  })
}
