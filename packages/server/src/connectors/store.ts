import type { ConnectorPolicy } from '@svc/contract'
import { sql } from 'kysely'
import { isAmong, ofLiveProject } from '../db/live-project.ts'
import { deleteRows, findRow, listRows, updateRows, upsertRow } from '../db/rows.ts'
import type { Db, DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import type { KnownTool } from '../db/columns.ts'
import { endQuestion } from './calls/approval-store.ts'
import { type ChangedTool, changedTools } from './tools/changed-tools.ts'

/** Matches all tools of a connector. */
export const everyTool = ''

export type ConnectorRow = Row<'connectors'>
export type { KnownTool }

export async function listConnectors(db: DbOrTransaction, projectId: string): Promise<ConnectorRow[]> {
  const rows = await listRows(db, 'connectors', { project_id: projectId }, 'position')
  return rows.map(usable)
}

/** A failing connector offers no tools. Its row keeps the last ones, to detect changes when it recovers. */
function usable(row: ConnectorRow): ConnectorRow {
  return row.status === 'failed' ? { ...row, tools: [] } : row
}

export async function getConnector(db: DbOrTransaction, projectId: string, slug: string): Promise<ConnectorRow | null> {
  // PostgreSQL rejects text with NUL.
  if (slug.includes('\0')) return null
  const row = await findRow(db, 'connectors', { project_id: projectId, slug })
  return row === null ? null : usable(row)
}

export function upsertConnector(trx: DbOrTransaction, row: NewRow<'connectors'>): Promise<void> {
  return upsertRow(trx, 'connectors', row, 'project_id', 'slug')
}

export async function setPosition(trx: DbOrTransaction, row: ConnectorRow, position: number): Promise<void> {
  await updateRows(trx, 'connectors', { project_id: row.project_id, slug: row.slug }, { position })
}

export async function deleteConnectors(trx: DbOrTransaction, projectId: string, slugs: string[]): Promise<void> {
  await deleteRows(trx, 'connectors', { project_id: projectId, slug: slugs })
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

/** In how many milliseconds a connector is due next. Null: none is. */
export async function nextCheckInMs(db: DbOrTransaction): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(check_due_at) - now()) * 1000)::float8 as ms from connectors c
    where check_due_at is not null and ${ofLiveProject(sql.ref('c.project_id'))}`.execute(db)
  return rows[0]?.ms ?? null
}

/** Schedules a check of connectors whose project changed its secrets. */
export async function scheduleChangedSecrets(db: DbOrTransaction, changed: ReadonlySet<string> | 'all'): Promise<void> {
  await sql`
    update connectors c set check_due_at = now(), secrets_revision = p.secrets_revision, failures = 0
    from projects p where p.project_id = c.project_id and c.secrets_revision <> p.secrets_revision
      and ${isAmong(sql.ref('p.project_id'), changed)}`.execute(db)
}

/** Ignores the result when the definition changed meanwhile. `tools: null` keeps the known tools. */
export async function recordCheck(
  db: Db,
  row: ConnectorRow,
  found: Pick<ConnectorRow, 'status' | 'error' | 'hint'> & { tools: KnownTool[] | null; nextSeconds: number | null },
): Promise<void> {
  const { tools, nextSeconds, ...rest } = found
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
    const set = {
      ...rest,
      ...(tools === null ? {} : { tools: JSON.stringify(tools) }),
      checked_at: sql<string>`now()`,
      check_due_at: nextSeconds === null ? null : sql<string>`now() + make_interval(secs => ${nextSeconds})`,
      failures: rest.status === 'failed' ? sql<number>`failures + 1` : 0,
    }
    await updateRows(trx, 'connectors', { project_id: row.project_id, slug: row.slug }, set)
    // The tool of an HTTP connector is described by this server, so it cannot change.
    if (tools !== null && row.definition.type === 'mcp')
      for (const tool of changedTools(before.tools, tools)) await resetPolicy(trx, row, tool)
  })
}

/**
 * A changed description makes a tool another tool, so an `allow` for it returns to `ask`. A tool that calls itself
 * read-only from now on keeps asking, unless users set a policy for all tools of the connector, which stays in force.
 */
async function resetPolicy(trx: DbOrTransaction, row: ConnectorRow, { name, becameReadOnly }: ChangedTool) {
  const { project_id, slug } = row
  const { url } = row.definition
  const decided = { policy: 'ask' as const, url, decided_by: null, decided_at: new Date() }
  await updateRows(trx, 'connector_policies', { project_id, slug, tool: name, policy: 'allow' }, decided)
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
  const rows = await listRows(db, 'connector_policies', { project_id: projectId })
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
    await deleteRows(trx, 'connector_policies', { project_id: of.project_id, slug: of.slug, tool: of.tool })
    return
  }
  const values = { policy, decided_by: decidedBy, decided_at: new Date() }
  await upsertRow(trx, 'connector_policies', { ...of, ...values }, 'project_id', 'slug', 'tool')
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
