/** Which projects a job works on, where several servers share the database. `home` is null on a server that runs alone. */
import { type Expression, type RawBuilder, sql } from 'kysely'
import type { Row } from './schema.ts'

/** Whether the home of the project is this server, and it does not leave at the moment. */
export function isAtHome(projectId: Expression<string>, home: string | null): RawBuilder<boolean> {
  if (home === null) return sql<boolean>`true`
  return sql<boolean>`exists (select 1 from projects where projects.project_id = ${projectId} and projects.home = ${home} and projects.home_state = 'open')`
}

/** The same for a row that was read. */
export function isHomeOf(home: string | null, project: Pick<Row<'projects'>, 'home' | 'home_state'>): boolean {
  return home === null || (project.home === home && project.home_state === 'open')
}
