import { projectSettings, ServiceError } from '@svc/contract'
import { type Actor, boundSession } from '../../auth/actor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { isUuid } from '../../auth/allow.ts'
import { familyOf } from '../../sessions/descendant-store.ts'
import { getSession } from '../../sessions/store.ts'
import type { ChangeRequestRow } from '../store.ts'

/** An agent may not merge its own work, nor anything into the default branch unless a user has allowed that. Users and unbound tokens may merge. */
export async function refuseAgentMerge(
  db: DbOrTransaction,
  input: { project: ProjectRow; actor: Actor; cr: ChangeRequestRow },
): Promise<void> {
  const { project, cr } = input
  const sessionId = boundSession(input.actor)
  if (sessionId === null) return
  const family = await familyOf(db, project.project_id, sessionId)
  const isItsOwn = family.some(
    (one) =>
      cr.origin_session_id === one.session_id ||
      isSameBranch(cr.head_ref, one.session_id) ||
      isSameBranch(cr.head_ref, one.branch_name),
  )
  if (isItsOwn)
    throw forbidden(
      family.length === 1
        ? 'An agent cannot merge its own change request.'
        : 'An agent cannot merge its own change request, nor one of a session with the same first session.',
    )
  // Session branches are named by an id. For a deleted session, the agent that started it is not known any more.
  if (isUuid(cr.head_ref) && (await getSession(db, project.project_id, cr.head_ref)) === null)
    throw forbidden('The session of this change request was deleted, so only a person can merge it.')
  if (
    isSameBranch(cr.base_ref, project.default_branch) &&
    projectSettings.parse(project.settings).agent_merge === 'deny'
  )
    throw forbidden(`An agent cannot merge into ${JSON.stringify(cr.base_ref)}, the default branch.`)
}

/** Wider than git: on a case-insensitive file system, MAIN is main. */
function isSameBranch(one: string, other: string): boolean {
  const fold = (name: string) => name.normalize('NFKC').toLowerCase()
  return fold(one) === fold(other)
}

function forbidden(message: string): ServiceError {
  return new ServiceError('agent_merge_forbidden', message, {
    hint: 'Give the user its number, so that they can merge it on its page or with `svc cr merge`.',
  })
}
