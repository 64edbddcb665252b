/** SQL on approvals, which their sessions also show as questions. */
import { sql } from 'kysely'
import { type PageQuery, readPage } from '../../db/read-page.ts'
import { serializeOnProject } from '../../db/reconciliations.ts'
import { deleteRows, findRow, listRows } from '../../db/rows.ts'
import type { Db, DbOrTransaction, NewRow, Row } from '../../db/schema.ts'
import { answerOpen, openQuestions, reconcileQuestions } from '../../sessions/questions/store.ts'

export type ApprovalRow = Row<'connector_approvals'>

type SameCall = Pick<ApprovalRow, 'project_id' | 'session_id' | 'slug' | 'tool' | 'url' | 'arguments_sha256'>

/** Consumes an approval of this call, if there is one. */
export async function consumeApproval(db: DbOrTransaction, call: SameCall, now: Date): Promise<boolean> {
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

/** Returns the pending approval of this call or opens one. Null when too many are pending. */
export async function openApproval(
  db: Db,
  row: NewRow<'connector_approvals'>,
  { now, max }: { now: Date; max: number },
): Promise<ApprovalRow | null> {
  return db.transaction().execute(async (trx) => {
    await serializeOnProject(trx, row.project_id)
    const pending = { project_id: row.project_id, session_id: row.session_id ?? null, status: 'pending' } as const
    const open = await listRows(trx, 'connector_approvals', pending)
    const isSame = (one: ApprovalRow) =>
      one.slug === row.slug && one.tool === row.tool && one.arguments_sha256.equals(row.arguments_sha256)
    const same = open.find(isSame)
    if (same !== undefined && same.url === row.url && Date.parse(same.expires_at) > now.getTime()) {
      await openQuestion(trx, same)
      return same
    }
    // An expired one makes room.
    if (same !== undefined) {
      await deleteRows(trx, 'connector_approvals', { approval_id: same.approval_id })
      await endQuestion(trx, same, 'There was no answer in time.')
    }
    if (open.filter((one) => Date.parse(one.expires_at) > now.getTime()).length >= max) return null
    const opened = await trx.insertInto('connector_approvals').values(row).returningAll().executeTakeFirstOrThrow()
    await openQuestion(trx, opened)
    return opened
  })
}

export async function getApproval(db: DbOrTransaction, projectId: string, approvalId: string) {
  return findRow(db, 'connector_approvals', { project_id: projectId, approval_id: approvalId })
}

export async function listApprovals(
  db: DbOrTransaction,
  of: PageQuery & { projectId: string; sessionId?: string | undefined; pendingAt: Date | null },
) {
  let query = db.selectFrom('connector_approvals').selectAll().where('project_id', '=', of.projectId)
  if (of.sessionId !== undefined) query = query.where('session_id', '=', of.sessionId)
  if (of.pendingAt !== null)
    query = query.where('status', '=', 'pending').where('expires_at', '>', of.pendingAt.toISOString())
  return readPage(query, ['created_at', 'approval_id'], 'desc', of)
}

/** Null when it was decided before or has expired. */
export async function recordDecision(
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
    await reconcileQuestions(trx, { sessionId: row.session_id, questionId: approvalId }, { status: 'answered' })
  }
  return row
}

/** The audit log keeps the decisions; arguments are deleted after a week. */
export async function deleteOldApprovals(db: DbOrTransaction): Promise<void> {
  await sql`delete from connector_approvals where approval_id in (
    select approval_id from connector_approvals where created_at < now() - interval '7 days' limit 10000)`.execute(db)
}

/** The session of an approval also shows it as a question, which is a separate row. */
export async function endQuestion(trx: DbOrTransaction, approval: ApprovalRow, reason: string): Promise<void> {
  const { approval_id: questionId, session_id: sessionId } = approval
  if (sessionId !== null) await reconcileQuestions(trx, { sessionId, questionId }, { status: 'expired', reason })
}

async function openQuestion(trx: DbOrTransaction, approval: ApprovalRow): Promise<void> {
  if (approval.session_id === null) return
  await openQuestions(trx, { session_id: approval.session_id }, [
    {
      ...{ question_id: approval.approval_id, kind: 'connector', runtime_id: null, position: 0, multiple: false },
      title: `Call ${approval.slug}/${approval.tool}`,
      detail: JSON.stringify(approval.arguments, null, 2),
      note: '',
      options: [
        { value: 'approve', label: 'Allow once' },
        { value: 'approve_always', label: 'Always allow this tool' },
        { value: 'deny', label: 'Deny' },
        { value: 'deny_always', label: 'Always block this tool' },
      ],
      expires_at: new Date(approval.expires_at),
    },
  ])
}
