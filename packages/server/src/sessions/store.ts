import type { SessionStatus } from '@svc/contract'
import { sql, type SqlBool } from 'kysely'
import type { Actor } from '../auth/actor.ts'
import { isUuid, notFound } from '../auth/allow.ts'
import { isAtHome } from '../db/home.ts'
import { isServerDead } from '../db/live-instance.ts'
import { type PageQuery, readPage } from '../db/read-page.ts'
import { type Changes, findRow, firstRow, listRows, takeRow, updateRow } from '../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import type { SandboxRow } from '../sandboxes/store.ts'
import { isWaiting } from './questions/store.ts'
import { recordSessionEvent } from './record-event.ts'

export type SessionRow = Row<'project_sessions'>
export type SessionWithSandbox = SessionRow & {
  sandbox: Pick<SandboxRow, 'sandbox_id' | 'driver' | 'status' | 'generation'> | null
  asleep_since: SandboxRow['asleep_since']
  /** Why the sandbox of the generation before ended, unless a request restarted or stopped it. */
  sandbox_ended: SandboxRow['error']
  is_waiting: boolean
}

export type ListedSession = SessionWithSandbox & { task: string | null }

/** The statuses that count toward the limit of live sessions. */
export const liveStatuses: SessionStatus[] = ['queued', 'branching', 'provisioning', 'running']

function withSandbox(db: DbOrTransaction) {
  return db
    .selectFrom('project_sessions')
    .leftJoin('session_sandboxes as sandbox', (join) =>
      join
        .onRef('sandbox.session_id', '=', 'project_sessions.session_id')
        .onRef('sandbox.generation', '=', 'project_sessions.generation'),
    )
    .leftJoin('session_sandboxes as earlier', (join) =>
      join
        .onRef('earlier.session_id', '=', 'project_sessions.session_id')
        .on('earlier.generation', '=', sql<number>`project_sessions.generation - 1`),
    )
    .selectAll('project_sessions')
    .select('earlier.error as sandbox_ended')
    .select(['sandbox.sandbox_id', 'sandbox.driver', 'sandbox.status as sandbox_status', 'sandbox.asleep_since'])
    .select((eb) => isWaiting(eb).as('is_waiting'))
}

type Joined = SessionRow & {
  sandbox_id: string | null
  driver: string | null
  sandbox_status: SandboxRow['status'] | null
  asleep_since: SandboxRow['asleep_since']
  sandbox_ended: SandboxRow['error']
  is_waiting: SqlBool
}

async function one(query: { executeTakeFirst(): Promise<Joined | undefined> }): Promise<SessionWithSandbox | null> {
  const row = await query.executeTakeFirst()
  return row === undefined ? null : nest(row)
}

function nest({ sandbox_id, driver, sandbox_status, is_waiting, ...row }: Joined): SessionWithSandbox {
  const sandbox =
    sandbox_id === null || driver === null || sandbox_status === null
      ? null
      : { sandbox_id, driver, status: sandbox_status, generation: row.generation }
  return { ...row, sandbox, is_waiting: is_waiting === true }
}

export async function getSession(db: DbOrTransaction, projectId: string, sessionId: string) {
  return one(
    withSandbox(db)
      .where('project_sessions.session_id', '=', sessionId)
      .where('project_sessions.project_id', '=', projectId),
  )
}

/** Throws `not_found`, also for an id that is none. */
export async function requireSession(db: DbOrTransaction, projectId: string, sessionId: string) {
  const session = isUuid(sessionId) ? await getSession(db, projectId, sessionId) : null
  if (session === null) throw notFound('session')
  return session
}

/** The session of an earlier request with that id. A session with a warm sandbox has another id. */
export async function findSessionRequestedAs(db: DbOrTransaction, projectId: string, askedAs: string) {
  return one(
    withSandbox(db)
      .where(({ eb, or }) =>
        or([eb('project_sessions.session_id', '=', askedAs), eb('project_sessions.asked_as', '=', askedAs)]),
      )
      .where('project_sessions.project_id', '=', projectId),
  )
}

/** For jobs and sandboxes, which know no project. */
export async function getSessionById(db: DbOrTransaction, sessionId: string): Promise<SessionWithSandbox | null> {
  return one(withSandbox(db).where('project_sessions.session_id', '=', sessionId))
}

export async function listSessions(
  db: DbOrTransaction,
  projectId: string,
  page: PageQuery & { status: SessionStatus | 'all' },
) {
  let query = withSandbox(db)
    .select(firstPrompt('project_sessions').as('task'))
    .where('project_sessions.project_id', '=', projectId)
  if (page.status !== 'all') query = query.where('project_sessions.status', '=', page.status)
  const order: [string, string] = ['project_sessions.created_at', 'project_sessions.session_id']
  const { rows, next } = await readPage(query, order, 'desc', page)
  return { rows: rows.map((row): ListedSession => ({ ...nest(row), task: row.task })), next }
}

/**
 * The beginning of the first prompt, for a list. Null until the agent has it, because the text may contain secret values until
 * then. `sessions` is the name of the table in the statement.
 */
export function firstPrompt(sessions: string) {
  const of = (column: string) => sql.ref(`${sessions}.${column}`)
  return sql<string | null>`left(coalesce(
    case when ${of('initial_prompt_delivered_at')} is not null then ${of('initial_prompt')} end,
    (select case when p.status <> 'accepted' then p.text end from session_prompts p
      where p.session_id = ${of('session_id')} order by p.created_at, p.prompt_id limit 1)), 1000)`
}

/** Sessions with a sandbox, or on their way to one. */
export async function runningSessionsOf(db: DbOrTransaction, projectId: string): Promise<SessionWithSandbox[]> {
  const ofProject = withSandbox(db).where('project_sessions.project_id', '=', projectId)
  return (await ofProject.where('project_sessions.status', 'in', ['provisioning', 'running']).execute()).map(nest)
}

/** Of all projects. */
export function liveSessions(db: DbOrTransaction): Promise<SessionRow[]> {
  return listRows(db, 'project_sessions', { status: liveStatuses }, 'session_id')
}

export async function insertSession(db: DbOrTransaction, row: NewRow<'project_sessions'>, actor: Actor | null) {
  const made = await db.insertInto('project_sessions').values(row).returningAll().executeTakeFirstOrThrow()
  await recordSessionEvent(db, 'session.provisioning', made, null, actor)
}

/** Needs a transaction. False when another caller deleted it first. */
export async function deleteSessionRow(trx: DbOrTransaction, sessionId: string, actor: Actor | null): Promise<boolean> {
  const gone = await takeRow(trx, 'project_sessions', { session_id: sessionId })
  if (gone !== null) await recordSessionEvent(trx, 'session.deleted', gone, null, actor)
  return gone !== null
}

/** Locks the account, so that concurrent counts are exact. */
export async function countLiveLocked(db: DbOrTransaction, accountId: string) {
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

export function updateSession(db: DbOrTransaction, sessionId: string, set: Changes<'project_sessions'>) {
  return updateRow(db, 'project_sessions', { session_id: sessionId }, { ...set, updated_at: new Date() })
}

/** Changes the status while the session has the given generation and one of the given statuses. Needs a transaction. */
export async function moveSession(
  trx: DbOrTransaction,
  input: {
    sessionId: string
    generation: number
    from: SessionStatus[]
    to: 'running' | 'stopped' | 'failed'
    error: string | null
    desired?: 'running' | 'stopped'
    /** The sandbox booted with the first prompt, so the agent is busy from the beginning. */
    isBusy?: boolean
  },
): Promise<boolean> {
  const where = { session_id: input.sessionId, generation: input.generation, status: input.from }
  const moved = await updateRow(trx, 'project_sessions', where, {
    status: input.to,
    error: input.error,
    is_busy: input.isBusy ?? false,
    ...(input.to === 'running' || input.error === null ? {} : turnCut(input.error)),
    updated_at: new Date(),
    ...(input.desired === undefined ? {} : { desired: input.desired }),
  })
  if (moved !== null) await recordSessionEvent(trx, `session.${input.to}`, moved, input.error)
  return moved !== null
}

/** Fails the turn that was running when the sandbox ended. */
function turnCut(message: string) {
  const failure = JSON.stringify({ code: 'sandbox_ended', message, at: new Date().toISOString() })
  return { last_turn_error: sql<string>`case when is_busy then ${failure}::jsonb else last_turn_error end` }
}

/** Begins the next generation. The caller ends the old one in the same transaction. */
export async function beginGeneration(trx: DbOrTransaction, sessionId: string, actor: Actor | null = null) {
  const begun = await updateRow(
    trx,
    'project_sessions',
    { session_id: sessionId },
    {
      generation: sql<number>`generation + 1`,
      ...{ status: 'provisioning', desired: 'running', is_busy: false },
      ...{ error: null, stop_reason: null, unkept_work: null, refresh: null },
      next_sandbox_id: sql<string>`gen_random_uuid()`,
      updated_at: new Date(),
      last_active_at: new Date(),
    },
  )
  if (begun !== null) await recordSessionEvent(trx, 'session.provisioning', begun, null, actor)
}

/** Locks a session until the transaction ends. `share` is for issuing a credential of it. */
export async function lockSession(db: DbOrTransaction, sessionId: string, mode: 'share' | 'update') {
  const columns = ['status', 'desired', 'generation'] as const
  const row = db.selectFrom('project_sessions').select(columns).where('session_id', '=', sessionId)
  return firstRow(mode === 'share' ? row.forShare() : row.forUpdate())
}

/** The session whose next sandbox has that id. */
export async function getSessionBySandbox(db: DbOrTransaction, sandboxId: string): Promise<SessionWithSandbox | null> {
  return one(withSandbox(db).where('next_sandbox_id', '=', sandboxId))
}

/**
 * Sessions that are not in their wanted state, whose sandbox has ended, or whose server is dead. `inHand`: sessions that
 * this server runs or starts. Any other session that has its name lost it to an error, such as a database that was
 * unavailable.
 */
export async function sessionsToReconcile(
  db: DbOrTransaction,
  of: { staleSeconds: number; home: string | null; instanceId: string; inHand: string[]; limit: number },
): Promise<string[]> {
  const { staleSeconds, home, instanceId, inHand, limit } = of
  const { rows } = await sql<{ session_id: string }>`
    select s.session_id from project_sessions s
    left join session_sandboxes b on b.session_id = s.session_id and b.generation = s.generation
    where s.status in ('provisioning', 'running') and ${isAtHome(sql.ref('s.project_id'), home)}
      and (s.desired = 'stopped' or b.instance_id is null or ${isServerDead(sql.ref('b.instance_id'), staleSeconds)}
        or b.status in ('stopped', 'error')
        or b.instance_id = ${instanceId} and s.session_id <> all(${inHand}::uuid[]))
    limit ${limit}`.execute(db)
  return rows.map((row) => row.session_id)
}

export async function countSessionsOf(db: DbOrTransaction, projectId: string): Promise<{ all: number; live: number }> {
  const { all, live } = await db
    .selectFrom('project_sessions')
    .select(({ fn }) => fn.countAll<string>().as('all'))
    .select(({ fn }) => fn.countAll<string>().filterWhere('status', 'in', liveStatuses).as('live'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return { all: Number(all), live: Number(live) }
}

/** Live sessions of deleted projects, with the user who deleted the project. */
export async function unstoppedOfDeleted(
  db: DbOrTransaction,
  { projectId, home }: { projectId: string | null; home: string | null },
) {
  let query = withSandbox(db)
    .innerJoin('projects', 'projects.project_id', 'project_sessions.project_id')
    .select('projects.deleted_by')
    .where('projects.deleted_at', 'is not', null)
    .where('project_sessions.status', 'in', liveStatuses)
    .where('project_sessions.desired', '=', 'running')
    .where(isAtHome(sql.ref('project_sessions.project_id'), home))
    .limit(100)
  if (projectId !== null) query = query.where('project_sessions.project_id', '=', projectId)
  return (await query.execute()).map(({ deleted_by, ...row }) => ({ ...nest(row), deleted_by }))
}

/**
 * Serializes callers that make one session, such as a trigger that is slow and the job that takes its slot over. False when
 * another one made it, under this id or in a warm sandbox.
 */
export async function lockPlannedId(trx: DbOrTransaction, projectId: string, plannedId: string): Promise<boolean> {
  await lockId(trx, plannedId)
  return (await findSessionRequestedAs(trx, projectId, plannedId)) === null
}

async function lockId(trx: DbOrTransaction, sessionId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`session ${sessionId}`}, 0))`.execute(trx)
}

/** Serializes requests with the same id. False when another request used the id. */
export async function lockChosenId(trx: DbOrTransaction, sessionId: string): Promise<boolean> {
  await lockId(trx, sessionId)
  const made = await findRow(trx, 'project_sessions', { session_id: sessionId })
  return made === null && !(await isSpent(trx, sessionId))
}

/**
 * An id stays used after its session was deleted, as usage and secrets refer to it. The first prompt of a session has the
 * id of the session, so the id of another prompt cannot become one either.
 */
export async function isSpent(db: DbOrTransaction, sessionId: string): Promise<boolean> {
  const { rows } = await sql<{ spent: boolean }>`select
    exists (select from deleted_sandboxes where session_id = ${sessionId})
    or exists (select from warm_sandboxes where session_id = ${sessionId})
    or exists (select from session_prompts where prompt_id = ${sessionId}) as spent`.execute(db)
  return rows[0]!.spent
}
