import { boundSession, type Caller } from '../auth/actor.ts'
import type { ProjectRow } from '../projects/store.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { openSecrets, type SecretDeps } from './change.ts'
import { givenSecrets } from './for-sandbox.ts'

/** For text that this caller wrote and reads again: an agent's is matched against what its session received, a user's against the project's secrets. */
export async function redactorFor(
  deps: SecretDeps,
  project: ProjectRow,
  { actor }: Pick<Caller, 'actor'>,
): Promise<Pick<Redactor, 'text'>> {
  const sessionId = boundSession(actor)
  if (sessionId === null) {
    await openSecrets(deps, project)
    return deps.redaction.ofProject(project.project_id)
  }
  return redactorOfSession(deps, project, sessionId)
}

/** For text of a session that another server may have stored, so that this one may not know its values yet. */
export async function redactorOfSession(
  deps: SecretDeps,
  project: ProjectRow,
  sessionId: string | null,
): Promise<Redactor> {
  if (sessionId !== null) deps.redaction.given(sessionId, await givenSecrets(deps, project, sessionId))
  return deps.redaction.of(sessionId)
}

/** For text of a session that a user may have typed, such as a prompt: matches what the session received and what this caller may know. */
export async function redactorOfPrompts(
  deps: SecretDeps,
  project: ProjectRow,
  { sessionId, caller }: { sessionId: string; caller: Pick<Caller, 'actor'> },
): Promise<Pick<Redactor, 'text'>> {
  const session = await redactorOfSession(deps, project, sessionId)
  if (boundSession(caller.actor) === sessionId) return session
  const writer = await redactorFor(deps, project, caller)
  return { text: (text) => writer.text(session.text(text)) }
}
