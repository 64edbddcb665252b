import { type Expression, type RawBuilder, sql } from 'kysely'

/** Whether the project is not deleted. Jobs skip what belongs to a deleted project until it is restored or purged. */
export function ofLiveProject(projectId: Expression<string>): RawBuilder<boolean> {
  return sql<boolean>`not exists (select 1 from projects where projects.project_id = ${projectId} and projects.deleted_at is not null)`
}

/** Limits a query of a job to the projects that changed. */
export function isAmong(projectId: Expression<string>, changed: ReadonlySet<string> | 'all'): RawBuilder<boolean> {
  return changed === 'all' ? sql<boolean>`true` : sql<boolean>`${projectId} = any(${[...changed]}::uuid[])`
}
