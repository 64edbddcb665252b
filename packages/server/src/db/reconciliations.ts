/** The commit of the default branch that a job last applied to a project, in the table of that job. */
import { sql } from 'kysely'
import { isAmong, ofLiveProject } from './live-project.ts'
import { findRow, upsertRow } from './rows.ts'
import type { DbOrTransaction, Row } from './schema.ts'

type Reconciliations = 'trigger_reconciliations' | 'connector_reconciliations'
type Tip = Pick<Row<'default_branches'>, 'project_id' | 'sha' | 'branch'>

/** Selects the projects among `changed` whose default branch moved since they were reconciled. */
export async function projectsToReconcile(
  db: DbOrTransaction,
  table: Reconciliations,
  changed: ReadonlySet<string> | 'all' = 'all',
): Promise<string[]> {
  const { rows } = await sql<{ project_id: string }>`
    select d.project_id from default_branches d left join ${sql.table(table)} r on r.project_id = d.project_id
    where ${isAmong(sql.ref('d.project_id'), changed)}
      and (r.project_id is null or r.sha is distinct from d.sha or r.branch <> d.branch)
      and ${ofLiveProject(sql.ref('d.project_id'))} limit ${projectsAtOnce}`.execute(db)
  return rows.map((row) => row.project_id)
}

/** As many may be followed by more. */
export const projectsAtOnce = 200

export async function isReconciled(db: DbOrTransaction, table: Reconciliations, tip: Tip): Promise<boolean> {
  const { project_id, sha, branch } = tip
  return (await findRow(db, table, { project_id, sha, branch })) !== null
}

export function recordReconciliation(db: DbOrTransaction, table: Reconciliations, tip: Tip): Promise<void> {
  const { project_id, sha, branch } = tip
  return upsertRow(db, table, { project_id, sha, branch }, 'project_id')
}

/** One transaction of a project at a time. Others may still insert rows that refer to the project. */
export async function serializeOnProject(trx: DbOrTransaction, projectId: string) {
  const project = trx.selectFrom('projects').select('secrets_revision').where('project_id', '=', projectId)
  return project.forNoKeyUpdate().executeTakeFirst()
}
