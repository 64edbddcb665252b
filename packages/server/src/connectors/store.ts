/** SQL on connectors and the policies of their tools. */
import type { ConnectorPolicy } from '@svc/contract'
import { sql } from 'kysely'
import { ofLiveProject } from '../db/live-project.ts'
import type { Db, DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import type { KnownTool } from '../db/tables/connector-tables.ts'
import { endQuestion } from './calls/approval-store.ts'
import { type ChangedTool, changedTools } from './tools/changed-tools.ts'

/** Matches all tools of a connector. */
export const everyTool = ''

export type ConnectorRow = Row<'connectors'>
export type { KnownTool }

export async function listConnectors(db: DbOrTransaction, projectId: string): Promise<ConnectorRow[]> {
  const rows = await db
    .selectFrom('connectors')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('position')
    .execute()
  return rows.map(usable)
}

/** A failing connector offers no tools. Its row keeps the last ones, to detect changes when it recovers. */
function usable(row: ConnectorRow): ConnectorRow {
  return row.status === 'failed' ? { ...row, tools: [] } : row
}

export async function getConnector(db: DbOrTransaction, projectId: string, slug: string): Promise<ConnectorRow | null> {
  // PostgreSQL rejects text with NUL.
  if (slug.includes('\0')) return null
  const row = await db
    .selectFrom('connectors')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('slug', '=', slug)
    .executeTakeFirst()
  return row === undefined ? null : usable(row)
}

export async function upsertConnector(trx: DbOrTransaction, row: NewRow<'connectors'>): Promise<void> {
  const { project_id: _, slug: __, ...rest } = row
  await trx
    .insertInto('connectors')
    .values(row)
    .onConflict((conflict) => conflict.columns(['project_id', 'slug']).doUpdateSet(rest))
    .execute()
}

export async function setPosition(trx: DbOrTransaction, row: ConnectorRow, position: number): Promise<void> {
  await trx
    .updateTable('connectors')
    .set({ position })
    .where('project_id', '=', row.project_id)
    .where('slug', '=', row.slug)
    .execute()
}

export async function deleteConnectors(trx: DbOrTransaction, projectId: string, slugs: string[]): Promise<void> {
  if (slugs.length === 0) return
  await trx.deleteFrom('connectors').where('project_id', '=', projectId).where('slug', 'in', slugs).execute()
}

/** Claims a due connector for a minute. */
export async function claimDueConnector(db: DbOrTransaction): Promise<ConnectorRow | null> {
  const { rows } = await sql<ConnectorRow>`
    update connectors set check_due_at = now() + interval '60 seconds'
    where (project_id, slug) = (
      select c.project_id, c.slug from connectors c where c.check_due_at <= now()
        and ${ofLiveProject(sql.ref('c.project_id'))}
      order by c.check_due_at limit 1 for update of c skip locked)
    returning *`.execute(db)
  return rows[0] ?? null
}

/** Schedules a check of connectors whose project changed its secrets. */
export async function scheduleChangedSecrets(db: DbOrTransaction): Promise<void> {
  await sql`
    update connectors c set check_due_at = now(), secrets_revision = p.secrets_revision, failures = 0
    from projects p where p.project_id = c.project_id and c.secrets_revision <> p.secrets_revision`.execute(db)
}

/** Ignores the result when the definition changed meanwhile. `tools: null` keeps the known tools. */
export async function recordCheck(
  db: Db,
  row: ConnectorRow,
  found: Pick<ConnectorRow, 'status' | 'error' | 'hint'> & { tools: KnownTool[] | null; nextSeconds: number | null },
): Promise<void> {
  const { tools, nextSeconds, ...rest } = found
  const isFailed = rest.status === 'failed'
  await db.transaction().execute(async (trx) => {
    const before = await trx
      .selectFrom('connectors')
      .select('tools')
      .where('project_id', '=', row.project_id)
      .where('slug', '=', row.slug)
      .where('definition', '=', sql<never>`${JSON.stringify(row.definition)}::jsonb`)
      .forUpdate()
      .executeTakeFirst()
    if (before === undefined) return
    await trx
      .updateTable('connectors')
      .set((eb) => ({
        ...rest,
        ...(tools === null ? {} : { tools: JSON.stringify(tools) }),
        checked_at: sql<string>`now()`,
        check_due_at: nextSeconds === null ? null : sql<string>`now() + make_interval(secs => ${nextSeconds})`,
        failures: isFailed ? eb('failures', '+', 1) : 0,
      }))
      .where('project_id', '=', row.project_id)
      .where('slug', '=', row.slug)
      .execute()
    // The tool of an HTTP connector is described by this server, so it cannot change.
    if (tools !== null && row.definition.type === 'mcp')
      for (const tool of changedTools(before.tools, tools)) await resetPolicy(trx, row, tool)
  })
}

/**
 * A changed description makes a tool another tool, so an `allow` for it returns to `ask`. A tool that calls itself
 * read-only from now on keeps asking, unless users set a policy for all tools of the connector, which stays in force.
 */
async function resetPolicy(
  trx: DbOrTransaction,
  row: ConnectorRow,
  { name, becameReadOnly }: ChangedTool,
): Promise<void> {
  const { project_id, slug } = row
  const { url } = row.definition
  const decided = { policy: 'ask' as const, url, decided_by: null, decided_at: new Date() }
  await trx
    .updateTable('connector_policies')
    .set(decided)
    .where('project_id', '=', project_id)
    .where('slug', '=', slug)
    .where('tool', '=', name)
    .where('policy', '=', 'allow')
    .execute()
  if (becameReadOnly && (await decisionsOf(trx, project_id)).of(slug, url, everyTool) === null)
    await trx
      .insertInto('connector_policies')
      .values({ project_id, slug, tool: name, ...decided })
      .onConflict((conflict) =>
        conflict
          .columns(['project_id', 'slug', 'tool'])
          .doUpdateSet(decided)
          .where('connector_policies.url', '!=', url),
      )
      .execute()
  const late = await trx
    .updateTable('connector_approvals')
    .set({ expires_at: sql<string>`now()` })
    .where('project_id', '=', project_id)
    .where('slug', '=', slug)
    .where('tool', '=', name)
    .where('status', 'in', ['pending', 'approved'])
    .returningAll()
    .execute()
  for (const approval of late) await endQuestion(trx, approval, 'The connector changed the description of this tool.')
}

/** Schedules a refresh of a list older than `seconds`; readers get the old one meanwhile. */
export async function refreshOlderThan(db: DbOrTransaction, projectId: string, seconds: number): Promise<void> {
  await sql`
    update connectors set check_due_at = now()
    where project_id = ${projectId} and status = 'ready' and check_due_at is null
      and checked_at < now() - make_interval(secs => ${seconds})`.execute(db)
}

export interface Decisions {
  /** The policy of this tool, or null. */
  of(slug: string, url: string, tool: string): ConnectorPolicy | null
}

/** Policies apply only to the URL they were set for. */
export async function decisionsOf(db: DbOrTransaction, projectId: string): Promise<Decisions> {
  const rows = await db.selectFrom('connector_policies').selectAll().where('project_id', '=', projectId).execute()
  return {
    of: (slug, url, tool) =>
      rows.find((row) => row.slug === slug && row.url === url && row.tool === tool)?.policy ?? null,
  }
}

export async function setPolicy(
  trx: DbOrTransaction,
  of: { project_id: string; slug: string; tool: string; url: string },
  policy: ConnectorPolicy | null,
  decidedBy: string,
): Promise<void> {
  if (policy === null) {
    await trx
      .deleteFrom('connector_policies')
      .where('project_id', '=', of.project_id)
      .where('slug', '=', of.slug)
      .where('tool', '=', of.tool)
      .execute()
    return
  }
  const values = { policy, url: of.url, decided_by: decidedBy, decided_at: new Date() }
  await trx
    .insertInto('connector_policies')
    .values({ ...of, ...values })
    .onConflict((conflict) => conflict.columns(['project_id', 'slug', 'tool']).doUpdateSet(values))
    .execute()
}

const callAction = 'connector.call'

export async function newestCalls(db: DbOrTransaction, projectId: string, slug: string, limit: number) {
  return db
    .selectFrom('audit_events')
    .select(['at', 'session_id', 'object_id', 'after'])
    .where('project_id', '=', projectId)
    .where('action', '=', callAction)
    .where('object_id', 'like', `${slug.replaceAll(/[%_\\]/g, '\\$&')}/%`)
    .orderBy('event_id', 'desc')
    .limit(limit)
    .execute()
}

/** Projects whose default branch moved since the last reconciliation. */
export async function projectsToReconcile(db: DbOrTransaction): Promise<string[]> {
  const rows = await db
    .selectFrom('default_branches')
    .leftJoin('connector_reconciliations as done', 'done.project_id', 'default_branches.project_id')
    .select('default_branches.project_id')
    .where(({ eb, or }) =>
      or([
        eb('done.project_id', 'is', null),
        eb('done.branch', '!=', eb.ref('default_branches.branch')),
        eb('done.sha', 'is distinct from', eb.ref('default_branches.sha')),
      ]),
    )
    .where(ofLiveProject(sql.ref('default_branches.project_id')))
    .limit(200)
    .execute()
  return rows.map(({ project_id }) => project_id)
}

/** Null when the project was deleted. */
export async function lockSecretsRevision(trx: DbOrTransaction, projectId: string): Promise<number | null> {
  const project = await trx
    .selectFrom('projects')
    .select('secrets_revision')
    .where('project_id', '=', projectId)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return project?.secrets_revision ?? null
}

type Tip = Pick<Row<'default_branches'>, 'project_id' | 'sha' | 'branch'>

export async function isReconciled(db: DbOrTransaction, { project_id, sha, branch }: Tip): Promise<boolean> {
  const done = await db
    .selectFrom('connector_reconciliations')
    .select('project_id')
    .where('project_id', '=', project_id)
    .where('branch', '=', branch)
    .where('sha', 'is not distinct from', sha)
    .executeTakeFirst()
  return done !== undefined
}

export async function recordReconciliation(trx: DbOrTransaction, { project_id, sha, branch }: Tip): Promise<void> {
  await trx
    .insertInto('connector_reconciliations')
    .values({ project_id, sha, branch })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet({ sha, branch }))
    .execute()
}
