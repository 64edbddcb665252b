/** All SQL on sessions, their sandboxes, credentials and messages. */
import type { Message, Session, SessionStatus } from '@svc/contract'
import { sql, type SqlBool } from 'kysely'
import type { Actor } from '../auth/actor.ts'
import type { Config } from '../config.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { cutPage, readIdCursor } from '../http/page.ts'
import { isWaiting, settleQuestions } from './questions/store.ts'
import { tellSession } from './tell.ts'

export type SessionRow = Row<'project_sessions'>
export type SandboxRow = Row<'session_sandboxes'>
export type SessionWithSandbox = SessionRow & {
  sandbox: Pick<SandboxRow, 'sandbox_id' | 'driver' | 'status' | 'generation'> | null
  is_waiting: boolean
}

export const unansweredReason = 'The session ended before the question was answered.'

/** Statuses that count against the cap: a sandbox is there or is being made. */
export const liveStatuses: SessionStatus[] = ['queued', 'branching', 'provisioning', 'running']

export function presentSession(
  config: Pick<Config, 'publicUrl'>,
  row: SessionWithSandbox,
  include?: 'activity',
): Session {
  return {
    session_id: row.session_id,
    account_id: row.account_id,
    project_id: row.project_id,
    name: row.name,
    branch_name: row.branch_name,
    base_ref: row.base_ref,
    agent_name: row.agent_name,
    model: row.model,
    status: row.status,
    error: row.error ?? row.unkept_work,
    last_turn_error: row.last_turn_error,
    sandbox_url: row.sandbox?.status === 'active' ? `${config.publicUrl}/v1/sandboxes/${row.sandbox.sandbox_id}` : null,
    sandbox: row.sandbox,
    created_by: row.created_by,
    parent_session_id: row.parent_session_id,
    metadata: row.metadata as Session['metadata'],
    created_at: row.created_at,
    updated_at: row.updated_at,
    last_active_at: row.last_active_at,
    ...(include === 'activity' ? { is_busy: row.is_busy } : {}),
    waiting_for: row.is_waiting ? 'person' : null,
  }
}

function withSandbox(db: DbOrTransaction) {
  return db
    .selectFrom('project_sessions')
    .leftJoin('session_sandboxes as sandbox', (join) =>
      join
        .onRef('sandbox.session_id', '=', 'project_sessions.session_id')
        .onRef('sandbox.generation', '=', 'project_sessions.generation'),
    )
    .selectAll('project_sessions')
    .select(['sandbox.sandbox_id', 'sandbox.driver', 'sandbox.status as sandbox_status'])
    .select((eb) => isWaiting(eb).as('is_waiting'))
}

type Joined = SessionRow & {
  sandbox_id: string | null
  driver: string | null
  sandbox_status: SandboxRow['status'] | null
  is_waiting: SqlBool
}

function nest({ sandbox_id, driver, sandbox_status, is_waiting, ...row }: Joined): SessionWithSandbox {
  const sandbox =
    sandbox_id === null || driver === null || sandbox_status === null
      ? null
      : { sandbox_id, driver, status: sandbox_status, generation: row.generation }
  return { ...row, sandbox, is_waiting: is_waiting === true }
}

export async function getSession(
  db: DbOrTransaction,
  projectId: string,
  sessionId: string,
): Promise<SessionWithSandbox | null> {
  const row = await withSandbox(db)
    .where('project_sessions.session_id', '=', sessionId)
    .where('project_sessions.project_id', '=', projectId)
    .executeTakeFirst()
  return row === undefined ? null : nest(row)
}

/** The session a create made under that id, which is its own unless it took a warm sandbox. */
export async function findAskedAs(
  db: DbOrTransaction,
  projectId: string,
  askedAs: string,
): Promise<SessionWithSandbox | null> {
  const row = await withSandbox(db)
    .where(({ eb, or }) =>
      or([eb('project_sessions.session_id', '=', askedAs), eb('project_sessions.asked_as', '=', askedAs)]),
    )
    .where('project_sessions.project_id', '=', projectId)
    .executeTakeFirst()
  return row === undefined ? null : nest(row)
}

/** For jobs and sandboxes, which come with a session id of their own and no project to check it against. */
export async function getSessionById(db: DbOrTransaction, sessionId: string): Promise<SessionWithSandbox | null> {
  const row = await withSandbox(db).where('project_sessions.session_id', '=', sessionId).executeTakeFirst()
  return row === undefined ? null : nest(row)
}

export async function listSessions(
  db: DbOrTransaction,
  projectId: string,
  page: { limit: number; cursor?: string | undefined; status: SessionStatus | 'all' },
) {
  const after = readIdCursor(page.cursor)
  let query = withSandbox(db)
    .where('project_sessions.project_id', '=', projectId)
    .orderBy('project_sessions.created_at', 'desc')
    .orderBy('project_sessions.session_id', 'desc')
    .limit(page.limit + 1)
  if (page.status !== 'all') query = query.where('project_sessions.status', '=', page.status)
  if (after !== null)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('project_sessions.created_at', 'project_sessions.session_id'), '<', tuple(after[0], after[1])),
    )
  const { rows, next } = cutPage(await query.execute(), page.limit, (last) => [last.created_at, last.session_id])
  return { rows: rows.map(nest), next }
}

export async function insertSession(
  db: DbOrTransaction,
  row: NewRow<'project_sessions'>,
  actor: Actor | null,
): Promise<void> {
  const made = await db.insertInto('project_sessions').values(row).returningAll().executeTakeFirstOrThrow()
  await tellSession(db, 'session.provisioning', made, null, actor)
}

/** Inside a transaction. */
export async function deleteSessionRow(trx: DbOrTransaction, sessionId: string, actor: Actor | null): Promise<void> {
  const gone = await trx
    .deleteFrom('project_sessions')
    .where('session_id', '=', sessionId)
    .returningAll()
    .executeTakeFirst()
  if (gone !== undefined) await tellSession(trx, 'session.deleted', gone, null, actor)
}

/** Locks the account, so that whoever counts its live sessions next waits: the cap is exact under a race. */
export async function countLiveLocked(
  db: DbOrTransaction,
  accountId: string,
): Promise<{ active: number; plan: Row<'accounts'>['plan'] }> {
  const account = await db
    .selectFrom('accounts')
    .select('plan')
    .where('account_id', '=', accountId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  const { active } = await db
    .selectFrom('project_sessions')
    .select(({ fn }) => fn.countAll<number>().as('active'))
    .where('account_id', '=', accountId)
    .where('status', 'in', liveStatuses)
    .executeTakeFirstOrThrow()
  return { active: Number(active), plan: account.plan }
}

export async function updateSession(
  db: DbOrTransaction,
  sessionId: string,
  set: Partial<
    Pick<
      SessionRow,
      | 'status'
      | 'desired'
      | 'error'
      | 'name'
      | 'agent_name'
      | 'last_active_at'
      | 'initial_prompt'
      | 'initial_prompt_delivered_at'
    >
  > & { metadata?: object },
): Promise<void> {
  const { metadata, ...rest } = set
  await db
    .updateTable('project_sessions')
    .set({ ...rest, ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }), updated_at: new Date() })
    .where('session_id', '=', sessionId)
    .execute()
}

/** A move of the reconciler: made only while the session is still the generation and in the status it looked at. Inside a transaction. */
export async function moveSession(
  trx: DbOrTransaction,
  input: {
    sessionId: string
    generation: number
    from: SessionStatus[]
    to: 'running' | 'stopped' | 'failed'
    error: string | null
    desired?: 'running' | 'stopped'
    /** Its first prompt went with it, so its agent is at work as soon as it runs. */
    isBusy?: boolean
  },
): Promise<boolean> {
  const moved = await trx
    .updateTable('project_sessions')
    .set({
      status: input.to,
      error: input.error,
      is_busy: input.isBusy ?? false,
      ...(input.to === 'running' || input.error === null ? {} : turnCut(input.error)),
      updated_at: new Date(),
      ...(input.desired === undefined ? {} : { desired: input.desired }),
    })
    .where('session_id', '=', input.sessionId)
    .where('generation', '=', input.generation)
    .where('status', 'in', input.from)
    .returningAll()
    .executeTakeFirst()
  if (moved !== undefined) await tellSession(trx, `session.${input.to}`, moved, input.error)
  return moved !== undefined
}

/** A turn that was under way when its sandbox ended, whoever noticed it. */
function turnCut(message: string) {
  const failure = JSON.stringify({ code: 'sandbox_ended', message, at: new Date().toISOString() })
  return { last_turn_error: sql<string>`case when is_busy then ${failure}::jsonb else last_turn_error end` }
}

/** The next generation, meant to run. The caller has torn the old one down in the same transaction. */
export async function beginGeneration(
  trx: DbOrTransaction,
  sessionId: string,
  actor: Actor | null = null,
): Promise<void> {
  const begun = await trx
    .updateTable('project_sessions')
    .set((eb) => ({
      generation: eb('generation', '+', 1),
      status: 'provisioning',
      desired: 'running',
      error: null,
      stop_reason: null,
      unkept_work: null,
      is_busy: false,
      updated_at: new Date(),
      last_active_at: new Date(),
    }))
    .where('session_id', '=', sessionId)
    .returningAll()
    .executeTakeFirst()
  if (begun !== undefined) await tellSession(trx, 'session.provisioning', begun, null, actor)
}

/** A session as it is and stays until the transaction ends. `share`: for whoever hands out a credential of it. */
export async function lockSession(
  db: DbOrTransaction,
  sessionId: string,
  mode: 'share' | 'update',
): Promise<Pick<SessionRow, 'status' | 'desired' | 'generation'> | null> {
  const row = db
    .selectFrom('project_sessions')
    .select(['status', 'desired', 'generation'])
    .where('session_id', '=', sessionId)
  return (await (mode === 'share' ? row.forShare() : row.forUpdate()).executeTakeFirst()) ?? null
}

/** Ends every token and credential of a session, so that the next request with one fails. The lock first: what is handed out just now is seen, or sees this. */
export async function revokeCredentials(db: DbOrTransaction, sessionId: string, at: Date): Promise<void> {
  await lockSession(db, sessionId, 'update')
  await db
    .updateTable('tokens')
    .set({ revoked_at: at })
    .where('session_id', '=', sessionId)
    .where('revoked_at', 'is', null)
    .execute()
  await db
    .updateTable('sandbox_credentials')
    .set({ revoked_at: at })
    .where('session_id', '=', sessionId)
    .where('revoked_at', 'is', null)
    .execute()
}

export async function insertCredential(db: DbOrTransaction, row: NewRow<'sandbox_credentials'>): Promise<void> {
  await db.insertInto('sandbox_credentials').values(row).execute()
}

/** Whether the service key of that sandbox still holds. */
export async function holdsServiceKey(db: DbOrTransaction, sandboxId: string): Promise<boolean> {
  const row = await db
    .selectFrom('sandbox_credentials')
    .select('credential_id')
    .where('sandbox_id', '=', sandboxId)
    .where('kind', '=', 'service')
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/** False when that generation has a sandbox already. */
export async function insertSandbox(db: DbOrTransaction, row: NewRow<'session_sandboxes'>): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('session_sandboxes')
    .values(row)
    .onConflict((conflict) => conflict.columns(['session_id', 'generation']).doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

export async function updateSandbox(
  db: DbOrTransaction,
  sandboxId: string,
  set: Partial<Pick<SandboxRow, 'status' | 'external_id' | 'endpoint' | 'error' | 'last_active_at'>>,
): Promise<void> {
  await db
    .updateTable('session_sandboxes')
    .set({ ...set, updated_at: new Date() })
    .where('sandbox_id', '=', sandboxId)
    .execute()
}

export async function sandboxesOf(db: DbOrTransaction, sessionId: string): Promise<SandboxRow[]> {
  return db
    .selectFrom('session_sandboxes')
    .selectAll()
    .where('session_id', '=', sessionId)
    .orderBy('generation')
    .execute()
}

/** Whether another server that lives has the sandbox of this generation. */
export async function isKeptElsewhere(
  db: DbOrTransaction,
  session: Pick<SessionRow, 'session_id' | 'generation'>,
  input: { instanceId: string; staleSeconds: number },
): Promise<boolean> {
  const row = await db
    .selectFrom('session_sandboxes')
    .innerJoin('server_instances', 'server_instances.instance_id', 'session_sandboxes.instance_id')
    .select('sandbox_id')
    .where('session_id', '=', session.session_id)
    .where('generation', '=', session.generation)
    .where('status', 'in', ['provisioning', 'active'])
    .where('session_sandboxes.instance_id', '!=', input.instanceId)
    .where('heartbeat_at', '>', sql<string>`now() - make_interval(secs => ${input.staleSeconds})`)
    .executeTakeFirst()
  return row !== undefined
}

/** Those of the sandboxes that a session still means to have, or that wait for one. In one question: a claim moves one from here to there. */
export async function livingSandboxes(db: DbOrTransaction, sandboxIds: string[]): Promise<string[]> {
  if (sandboxIds.length === 0) return []
  const rows = await db
    .selectFrom('session_sandboxes')
    .select('sandbox_id')
    .where('sandbox_id', 'in', sandboxIds)
    .where('status', 'in', ['provisioning', 'active'])
    .unionAll(db.selectFrom('warm_sandboxes').select('sandbox_id').where('sandbox_id', 'in', sandboxIds))
    .execute()
  return rows.map((row) => row.sandbox_id)
}

export async function getSandbox(db: DbOrTransaction, sandboxId: string): Promise<SandboxRow | null> {
  return (
    (await db.selectFrom('session_sandboxes').selectAll().where('sandbox_id', '=', sandboxId).executeTakeFirst()) ??
    null
  )
}

/** Ends every sandbox row of a session that still counts as alive, and with them what their agents asked. */
export async function endSandboxes(
  db: DbOrTransaction,
  sessionId: string,
  status: 'stopped' | 'error',
  error: string | null,
): Promise<void> {
  await db
    .updateTable('session_sandboxes')
    .set({ status, error, endpoint: null, updated_at: new Date() })
    .where('session_id', '=', sessionId)
    .where('status', 'in', ['provisioning', 'active'])
    .execute()
  await settleQuestions(db, { sessionId }, { status: 'expired', reason: unansweredReason })
}

/** Sessions that are not where they are meant to be, or whose sandbox is kept by a server that is gone. */
export async function unsettledSessions(db: DbOrTransaction, staleSeconds: number): Promise<string[]> {
  const rows = await db
    .selectFrom('project_sessions')
    .leftJoin('session_sandboxes as sandbox', (join) =>
      join
        .onRef('sandbox.session_id', '=', 'project_sessions.session_id')
        .onRef('sandbox.generation', '=', 'project_sessions.generation'),
    )
    .leftJoin('server_instances as instance', (join) =>
      join
        .onRef('instance.instance_id', '=', 'sandbox.instance_id')
        .on('instance.heartbeat_at', '>', sql<string>`now() - make_interval(secs => ${staleSeconds})`),
    )
    .select('project_sessions.session_id')
    .where('project_sessions.status', 'in', ['provisioning', 'running'])
    .where(({ or, eb }) => or([eb('project_sessions.desired', '=', 'stopped'), eb('instance.instance_id', 'is', null)]))
    .limit(500)
    .execute()
  return rows.map((row) => row.session_id)
}

export async function upsertMessage(
  db: DbOrTransaction,
  sessionId: string,
  generation: number,
  { message, bytes }: { message: Message; bytes: number },
): Promise<void> {
  const row = {
    session_id: sessionId,
    message_id: message.message_id,
    generation,
    role: message.role,
    created_at: message.created_at,
    completed_at: message.completed_at,
    error: message.error,
    parts: JSON.stringify(message.parts),
    bytes,
  }
  await db
    .insertInto('session_messages')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'message_id']).doUpdateSet({
        completed_at: row.completed_at,
        error: row.error,
        parts: row.parts,
        bytes,
        updated_at: new Date(),
      }),
    )
    .execute()
}
