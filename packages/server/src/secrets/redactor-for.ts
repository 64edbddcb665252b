import { boundSession, type Caller } from '../auth/actor.ts'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { openSecrets } from './change.ts'
import { givenSecrets } from './for-sandbox.ts'

/** For text that this caller wrote and reads again: an agent's is searched for what its session was given, a person's for the project's secrets. */
export async function redactorFor(
  deps: Pick<Deps, 'db' | 'keyring' | 'redaction'>,
  project: ProjectRow,
  { actor }: Pick<Caller, 'actor'>,
): Promise<Pick<Redactor, 'text'>> {
  const sessionId = boundSession(actor)
  if (sessionId === null) {
    await openSecrets(deps, project)
    return deps.redaction.ofProject(project.project_id)
  }
  // Another server may keep the session, and this one may not know its values yet.
  deps.redaction.given(sessionId, await givenSecrets(deps, project, sessionId))
  return deps.redaction.of(sessionId)
}
