import { isHomeOf } from '../../db/home.ts'
import type { Deps } from '../../deps.ts'
import { getProjectOrDeleted } from '../../projects/store.ts'
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
