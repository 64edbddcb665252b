import { isHomeOf } from '../../db/home.ts'
import type { Deps } from '../../deps.ts'
import { getProjectOrDeleted } from '../../projects/store.ts'
import { isRunElsewhere } from '../../sandboxes/store.ts'
import type { SessionRow } from '../store.ts'

/** A reconciliation may have been requested before the project moved to another server, or began to move. */
export async function mayStartHere(
  { db, home }: Pick<Deps, 'db' | 'home'>,
  { project_id, desired }: Pick<SessionRow, 'project_id' | 'desired'>,
): Promise<boolean> {
  if (home === null || desired === 'stopped') return true
  const project = await getProjectOrDeleted(db, project_id)
  return project !== null && isHomeOf(home, project)
}

/** Another server, which is not dead, runs the sandbox of the session. */
export function isElsewhere(
  { db, heartbeat, instanceId }: Pick<Deps, 'db' | 'heartbeat' | 'instanceId'>,
  session: Pick<SessionRow, 'session_id' | 'generation'>,
): Promise<boolean> {
  return isRunElsewhere(db, session, { instanceId, staleSeconds: heartbeat.deadAfterSeconds() })
}
