import { type Expression, type RawBuilder, sql } from 'kysely'

/** Whether the project is not deleted. Jobs skip what belongs to a deleted project until it is restored or purged. */
export function ofLiveProject(projectId: Expression<string>): RawBuilder<boolean> {
  return sql<boolean>`not exists (select 1 from projects where projects.project_id = ${projectId} and projects.deleted_at is not null)`
}
