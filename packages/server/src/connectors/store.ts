/** All SQL on connectors, what people decided about them, and the calls that wait for a person. */
import type { ConnectorPolicy } from '@svc/contract'
import { sql } from 'kysely'
import type { Db, DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import type { KnownTool } from '../db/connector-tables.ts'
import { answerOpen, openQuestions, settleQuestions } from '../sessions/questions/store.ts'
import { type ChangedTool, changedTools } from './changed-tools.ts'

/** Stands for all tools of a connector. */
export const everyTool = ''

export type ConnectorRow = Row<'connectors'>
export type ApprovalRow = Row<'connector_approvals'>
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

/** A connector that fails offers no tools. Its row keeps those it had, to compare them with the ones it comes back with. */
function usable(row: ConnectorRow): ConnectorRow {
  return row.status === 'failed' ? { ...row, tools: [] } : row
}

export async function getConnector(db: DbOrTransaction, projectId: string, slug: string): Promise<ConnectorRow | null> {
  // The database refuses to compare such a text.
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

export async function moveConnector(trx: DbOrTransaction, row: ConnectorRow, position: number): Promise<void> {
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

/** One that is due, or was asked with other secrets; ours for a minute. */
export async function takeDueConnector(db: DbOrTransaction): Promise<ConnectorRow | null> {
  const { rows } = await sql<ConnectorRow>`
    update connectors set check_due_at = now() + interval '60 seconds'
    where (project_id, slug) = (
      select c.project_id, c.slug from connectors c where c.check_due_at <= now()
      order by c.check_due_at limit 1 for update of c skip locked)
    returning *`.execute(db)
  return rows[0] ?? null
}

/** Those that were asked with other secrets than their project has now are asked again. */
export async function dueAfterSecrets(db: DbOrTransaction): Promise<void> {
  await sql`
    update connectors c set check_due_at = now(), secrets_revision = p.secrets_revision, failures = 0
    from projects p where p.project_id = c.project_id and c.secrets_revision <> p.secrets_revision`.execute(db)
}

/** What was asked for another definition than is in force by now says nothing. `tools: null` leaves those that were known. */
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
    // The one tool of an HTTP API is described by this server.
    if (tools !== null && row.definition.type === 'mcp')
      for (const tool of changedTools(before.tools, tools)) await askAnew(trx, row, tool)
  })
}

/**
 * The server of a connector describes a tool differently than before, so what people allowed was another tool. Where people decided
 * nothing, a server cannot end the questions by calling a tool read-only later on. What they said of all tools of it stands.
 */
async function askAnew(trx: DbOrTransaction, row: ConnectorRow, { name, becameReadOnly }: ChangedTool): Promise<void> {
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
  for (const approval of late) await endQuestion(trx, approval, 'The connector describes this tool differently now.')
}

/** The session of an approval shows it as a question, which is a row of its own. */
async function endQuestion(trx: DbOrTransaction, approval: ApprovalRow, reason: string): Promise<void> {
  const { approval_id: questionId, session_id: sessionId } = approval
  if (sessionId !== null) await settleQuestions(trx, { sessionId, questionId }, { status: 'expired', reason })
}

async function askInSession(trx: DbOrTransaction, approval: ApprovalRow): Promise<void> {
  if (approval.session_id === null) return
  await openQuestions(trx, { session_id: approval.session_id }, [
    {
      ...{ question_id: approval.approval_id, kind: 'connector', runtime_id: null, position: 0, multiple: false },
      title: `Call ${approval.slug}/${approval.tool}`,
      detail: JSON.stringify(approval.arguments, null, 2),
      options: [
        { value: 'approve', label: 'Approve' },
        { value: 'approve_always', label: 'Always approve this tool' },
        { value: 'deny', label: 'Deny' },
        { value: 'deny_always', label: 'Always block this tool' },
      ],
      expires_at: new Date(approval.expires_at),
    },
  ])
}

/** A list that is older is fetched anew by the job, while the old one is served. */
export async function refreshOlderThan(db: DbOrTransaction, projectId: string, seconds: number): Promise<void> {
  await sql`
    update connectors set check_due_at = now()
    where project_id = ${projectId} and status = 'ready' and check_due_at is null
      and checked_at < now() - make_interval(secs => ${seconds})`.execute(db)
}

export interface Decisions {
  /** The policy of a tool, then of its connector; null where nobody decided. */
  of(slug: string, url: string, tool: string): ConnectorPolicy | null
}

/** What people decided. It holds for the address it was decided for. */
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

type SameCall = Pick<ApprovalRow, 'project_id' | 'session_id' | 'slug' | 'tool' | 'url' | 'arguments_sha256'>

/** The approval of this very call that was given and not used yet, used from here on. */
export async function useApproval(db: DbOrTransaction, call: SameCall, now: Date): Promise<boolean> {
  const { rows } = await sql`
    update connector_approvals set status = 'used'
    where approval_id = (
      select approval_id from connector_approvals
      where project_id = ${call.project_id} and session_id is not distinct from ${call.session_id}::uuid
        and slug = ${call.slug} and tool = ${call.tool} and url = ${call.url}
        and arguments_sha256 = ${call.arguments_sha256} and status = 'approved' and expires_at > ${now}
      order by created_at limit 1 for update skip locked)
    returning approval_id`.execute(db)
  return rows.length > 0
}

/** The question that waits already, or this new one; null when there are too many. */
export async function openApproval(
  db: Db,
  row: NewRow<'connector_approvals'>,
  { now, max }: { now: Date; max: number },
): Promise<ApprovalRow | null> {
  return db.transaction().execute(async (trx) => {
    await trx
      .selectFrom('projects')
      .select('project_id')
      .where('project_id', '=', row.project_id)
      .forNoKeyUpdate()
      .execute()
    const sessionId = row.session_id ?? null
    const open = await trx
      .selectFrom('connector_approvals')
      .selectAll()
      .where('project_id', '=', row.project_id)
      .where('session_id', 'is not distinct from', sessionId)
      .where('status', '=', 'pending')
      .execute()
    const isSame = (one: ApprovalRow) =>
      one.slug === row.slug && one.tool === row.tool && one.arguments_sha256.equals(row.arguments_sha256)
    const same = open.find(isSame)
    if (same !== undefined && same.url === row.url && Date.parse(same.expires_at) > now.getTime()) {
      await askInSession(trx, same)
      return same
    }
    // One that nobody answered in time makes room for the next.
    if (same !== undefined) {
      await trx.deleteFrom('connector_approvals').where('approval_id', '=', same.approval_id).execute()
      await endQuestion(trx, same, 'There was no answer in time.')
    }
    if (open.filter((one) => Date.parse(one.expires_at) > now.getTime()).length >= max) return null
    const opened = await trx.insertInto('connector_approvals').values(row).returningAll().executeTakeFirstOrThrow()
    await askInSession(trx, opened)
    return opened
  })
}

export async function getApproval(
  db: DbOrTransaction,
  projectId: string,
  approvalId: string,
): Promise<ApprovalRow | null> {
  const row = await db
    .selectFrom('connector_approvals')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('approval_id', '=', approvalId)
    .executeTakeFirst()
  return row ?? null
}

export async function listApprovals(
  db: DbOrTransaction,
  of: {
    projectId: string
    sessionId?: string | undefined
    pendingAt: Date | null
    limit: number
    after?: [string, string] | null
  },
): Promise<ApprovalRow[]> {
  let query = db
    .selectFrom('connector_approvals')
    .selectAll()
    .where('project_id', '=', of.projectId)
    .orderBy('created_at', 'desc')
    .orderBy('approval_id', 'desc')
    .limit(of.limit)
  if (of.sessionId !== undefined) query = query.where('session_id', '=', of.sessionId)
  const { after } = of
  if (after)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'approval_id'), '<', tuple(after[0], after[1])),
    )
  if (of.pendingAt !== null)
    query = query.where('status', '=', 'pending').where('expires_at', '>', of.pendingAt.toISOString())
  return query.execute()
}

/** Null when it was decided already, or nobody did in time. */
export async function decideApproval(
  trx: DbOrTransaction,
  approvalId: string,
  decided: { status: 'approved' | 'denied'; always: boolean; by: string; at: Date; expiresAt: Date },
): Promise<ApprovalRow | null> {
  const row = await trx
    .updateTable('connector_approvals')
    .set({ status: decided.status, decided_by: decided.by, decided_at: decided.at, expires_at: decided.expiresAt })
    .where('approval_id', '=', approvalId)
    .where('status', '=', 'pending')
    .where('expires_at', '>', decided.at.toISOString())
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return null
  if (row.session_id !== null) {
    const { by, at } = decided
    const answer = `${decided.status === 'denied' ? 'deny' : 'approve'}${decided.always ? '_always' : ''}`
    await answerOpen(trx, approvalId, { answer, by, at })
    await settleQuestions(trx, { sessionId: row.session_id, questionId: approvalId }, { status: 'answered' })
  }
  return row
}

/** The audit keeps who decided what; what was asked with it is nobody's business a week later. */
export async function forgetOldApprovals(db: DbOrTransaction): Promise<void> {
  await sql`delete from connector_approvals where approval_id in (
    select approval_id from connector_approvals where created_at < now() - interval '7 days' limit 10000)`.execute(db)
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
