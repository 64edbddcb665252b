import { projectSettings, ServiceError } from '@svc/contract'
import { type Actor, boundSession } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { ProjectRow } from '../projects/store.ts'
import { getSession } from '../sessions/store.ts'
import type { ChangeRequestRow } from './store.ts'

/** An agent does not merge its own work, nor anything into the default branch unless a user allowed that. Users and unbound tokens may merge. */
export async function refuseAgentMerge(
  db: DbOrTransaction,
  input: { project: ProjectRow; actor: Actor; cr: ChangeRequestRow },
): Promise<void> {
  const { project, cr } = input
  const sessionId = boundSession(input.actor)
  if (sessionId === null) return
  const session = await getSession(db, project.project_id, sessionId)
  const isItsOwn =
    cr.origin_session_id === sessionId ||
    isSameBranch(cr.head_ref, sessionId) ||
    isSameBranch(cr.head_ref, session?.branch_name ?? sessionId)
  if (isItsOwn) throw forbidden('An agent does not merge its own change request.')
  if (
    isSameBranch(cr.base_ref, project.default_branch) &&
    projectSettings.parse(project.settings).agent_merge === 'deny'
  )
    throw forbidden(`An agent does not merge into ${JSON.stringify(cr.base_ref)}, the default branch.`)
}

/** Wider than git: on a file system that folds names, MAIN is main. */
function isSameBranch(one: string, other: string): boolean {
  const fold = (name: string) => name.normalize('NFKC').toLowerCase()
  return fold(one) === fold(other)
}

function forbidden(message: string): ServiceError {
  return new ServiceError('agent_merge_forbidden', message, {
    hint: 'Tell the user its number: they merge it on its page or with `svc cr merge`.',
  })
}
