/** SQL on model usage, reservations of running calls, and caps. */
import { sql } from 'kysely'
import { isServerDead, lostSecondsMax } from '../db/live-instance.ts'
import { insertRow, takeRow } from '../db/rows.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import type { Tokens } from './shapes.ts'

export interface Spender {
  account_id: string
  project_id: string
  session_id: string
}

export interface Cap {
  scope: 'session' | 'project' | 'account'
  tokens: number
  /** Used and reserved. */
  taken: number
}

/** Serializes checks of an account's caps until the transaction ends, so that concurrent calls cannot exceed them. */
export async function lockCaps(db: DbOrTransaction, accountId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('model caps ' || ${accountId}, 0))`.execute(db)
}

/** Each cap that applies to a session, with its usage; monthly for projects and accounts. */
export async function capsOf(db: DbOrTransaction, spender: Spender): Promise<Cap[]> {
  const { rows } = await sql<{ session: string | null; project: string | null; account: string | null }>`
    select p.settings->>'model_tokens_per_session' as session, p.settings->>'model_tokens_per_month' as project,
      a.model_tokens_per_month::text as account
    from projects p join accounts a on a.account_id = p.account_id
    where p.project_id = ${spender.project_id}`.execute(db)
  const limits = rows[0] ?? { session: null, project: null, account: null }
  const scopes = (['session', 'project', 'account'] as const).filter((scope) => limits[scope] !== null)
  return Promise.all(
    scopes.map(async (scope) => ({ scope, tokens: Number(limits[scope]), taken: await takenOf(db, scope, spender) })),
  )
}

async function takenOf(db: DbOrTransaction, scope: Cap['scope'], spender: Spender): Promise<number> {
  const of = scope === 'session' ? 'session_id' : scope === 'project' ? 'project_id' : 'account_id'
  const month = scope === 'session' ? sql`true` : sql`day >= date_trunc('month', now() at time zone 'UTC')`
  const { rows } = await sql<{ taken: string }>`
    select (
      (select coalesce(sum(tokens_in + tokens_out), 0) from model_usage where ${sql.ref(of)} = ${spender[of]} and ${month})
      + (select coalesce(sum(tokens_in + tokens_out), 0) from model_reservations where ${sql.ref(of)} = ${spender[of]})
    )::text as taken`.execute(db)
  return Number(rows[0]?.taken ?? 0)
}

export async function insertReservation(
  db: DbOrTransaction,
  row: Spender & { reservation_id: string; instance_id: string; model: string; tokens: Tokens },
): Promise<void> {
  const { tokens, ...of } = row
  await insertRow(db, 'model_reservations', { ...of, tokens_in: tokens.in, tokens_out: tokens.out })
}

/** Replaces a reservation by the actual usage; null when the call did not happen. */
export async function resolveReservation(db: DbOrTransaction, reservationId: string, used: Tokens | null) {
  const row = await takeRow(db, 'model_reservations', { reservation_id: reservationId })
  if (row !== null && used !== null) await addUsage(db, { ...row, tokens: used })
}

export async function addUsage(db: DbOrTransaction, row: Spender & { model: string; tokens: Tokens }): Promise<void> {
  const { account_id, project_id, session_id, model, tokens } = row
  await sql`
    insert into model_usage (account_id, project_id, session_id, day, model, calls, tokens_in, tokens_out)
    values (${account_id}, ${project_id}, ${session_id}, (now() at time zone 'UTC')::date, ${model}, 1,
      ${tokens.in}, ${tokens.out})
    on conflict (session_id, day, model) do update set
      calls = model_usage.calls + 1,
      tokens_in = model_usage.tokens_in + excluded.tokens_in,
      tokens_out = model_usage.tokens_out + excluded.tokens_out`.execute(db)
}

/** Reservations of crashed servers. Their output is unknown, but the upstream counted the input. */
export async function orphanedReservations(db: DbOrTransaction, staleSeconds: number) {
  const { rows } = await sql<Pick<Row<'model_reservations'>, 'reservation_id' | 'tokens_in'>>`
    select reservation_id, tokens_in from model_reservations r
    where created_at < now() - make_interval(secs => ${lostSecondsMax})
      and ${isServerDead(sql.ref('r.instance_id'), staleSeconds)}
    limit 500`.execute(db)
  return rows.map((row) => ({ reservation_id: row.reservation_id, tokens: { in: Number(row.tokens_in), out: 0 } }))
}

export type UsageScope = { account_id: string } | { project_id: string } | { session_id: string }

export async function usageOf(db: DbOrTransaction, scope: UsageScope, days: number) {
  const [models, { sandboxes, sandbox_seconds }, sessions, calls] = await Promise.all([
    usageByModel(db, scope, days),
    sandboxSeconds(db, scope, days),
    usageBySession(db, scope, days),
    usageInAll(db, scope, days),
  ])
  // A session may have model calls without a sandbox in this period, or the reverse.
  const ran = new Map(sandboxes.map((row) => [row.session_id, row]))
  const asked = new Set(sessions.map(({ session_id }) => session_id))
  const used = [
    ...sessions.map((row) => ({ ...row, sandbox_seconds: ran.get(row.session_id)?.seconds ?? 0 })),
    ...sandboxes
      .filter(({ session_id }) => !asked.has(session_id))
      .map(({ seconds, ...row }) => ({ ...noCalls, ...row, sandbox_seconds: seconds })),
  ]
  const names = await namesOf(
    db,
    used.map(({ session_id }) => session_id),
  )
  return {
    sessions: used.map((row) => ({ ...row, name: names.get(row.session_id) ?? null })),
    models,
    sandboxes,
    totals: { ...calls, sandbox_seconds },
  }
}

const noCalls = { calls: 0, tokens_in: 0, tokens_out: 0 }
type Used = typeof noCalls

const sums = sql`coalesce(sum(calls), 0)::float8 as calls, coalesce(sum(tokens_in), 0)::float8 as tokens_in,
  coalesce(sum(tokens_out), 0)::float8 as tokens_out`

function inScope(scope: UsageScope, days: number) {
  const [[column, id] = ['session_id', '']] = Object.entries(scope)
  return {
    where: sql`${sql.ref(column)} = ${id}`,
    since: sql`day > (now() at time zone 'UTC')::date - ${days}::integer`,
  }
}

async function usageByModel(db: DbOrTransaction, scope: UsageScope, days: number) {
  const { where, since } = inScope(scope, days)
  const { rows } = await sql<Used & { day: string; project_id: string; model: string }>`
    select to_char(day, 'YYYY-MM-DD') as day, project_id, model, ${sums}
    from model_usage where ${where} and ${since}
    group by model_usage.day, project_id, model order by model_usage.day desc, model, project_id limit 5000`.execute(db)
  return rows
}

async function usageBySession(db: DbOrTransaction, scope: UsageScope, days: number) {
  const { where, since } = inScope(scope, days)
  const { rows } = await sql<Used & { project_id: string; session_id: string }>`
    select project_id, session_id, ${sums} from model_usage where ${where} and ${since}
    group by project_id, session_id order by sum(model_usage.tokens_in + model_usage.tokens_out) desc limit 1000`.execute(
    db,
  )
  return rows
}

/** The lists have limits; the totals count every row. */
async function usageInAll(db: DbOrTransaction, scope: UsageScope, days: number): Promise<Used> {
  const { where, since } = inScope(scope, days)
  const { rows } = await sql<Used>`select ${sums} from model_usage where ${where} and ${since}`.execute(db)
  return rows[0] ?? noCalls
}

/** The scope is in each part, so that each uses its index: none reads the sandboxes of other accounts. */
async function sandboxSeconds(db: DbOrTransaction, scope: UsageScope, days: number) {
  const [[column, id] = ['session_id', '']] = Object.entries(scope)
  const of = (table: string) => sql`${sql.ref(`${table}.${column}`)} = ${id}`
  const { rows } = await sql<{ project_id: string; session_id: string; seconds: number; all_seconds: number }>`
    with since as (select now() - make_interval(days => ${days}::integer) as at),
    times as (
      select s.project_id, s.session_id, b.created_at as began_at, now() as ended_at
      from session_sandboxes b join project_sessions s on s.session_id = b.session_id
      where b.status in ('provisioning', 'active') and ${of('s')}
      union all
      select s.project_id, s.session_id, b.created_at, b.updated_at
      from session_sandboxes b join project_sessions s on s.session_id = b.session_id
      where b.status not in ('provisioning', 'active') and b.updated_at > (select at from since) and ${of('s')}
      union all
      select d.project_id, d.session_id, d.began_at, d.ended_at from deleted_sandboxes d
      where ${of('d')} and d.ended_at > (select at from since)
    )
    select project_id, session_id, ceil(extract(epoch from total))::float8 as seconds,
      (sum(ceil(extract(epoch from total))) over ())::float8 as all_seconds
    from (select project_id, session_id, sum(ended_at - greatest(began_at, since.at)) as total from times, since
      group by project_id, session_id) each_session
    order by total desc limit 1000`.execute(db)
  return {
    sandboxes: rows.map(({ project_id, session_id, seconds }) => ({ project_id, session_id, seconds })),
    sandbox_seconds: rows[0]?.all_seconds ?? 0,
  }
}

async function namesOf(db: DbOrTransaction, sessionIds: string[]): Promise<Map<string, string>> {
  if (sessionIds.length === 0) return new Map()
  const named = db.selectFrom('project_sessions').where('session_id', 'in', sessionIds)
  const rows = await named.select(['session_id', 'name']).execute()
  return new Map(rows.map(({ session_id, name }) => [session_id, name]))
}

/** The account's usage this month, and its cap if there is one. */
export async function accountCap(db: DbOrTransaction, accountId: string) {
  const row = await db
    .selectFrom('accounts')
    .select('model_tokens_per_month')
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  const spender = { account_id: accountId, project_id: '', session_id: '' }
  const cap = row.model_tokens_per_month
  return { cap: cap === null ? null : Number(cap), taken: await takenOf(db, 'account', spender) }
}
