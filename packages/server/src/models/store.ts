/** All SQL on what models were asked: usage, what is reserved for calls under way, and caps. */
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Tokens } from './shapes.ts'

export interface Spender {
  account_id: string
  project_id: string
  session_id: string
}

export interface Cap {
  scope: 'session' | 'project' | 'account'
  tokens: number
  /** Counted and reserved. */
  taken: number
}

/** Whoever looks at the caps of an account next waits until this transaction ends: together, calls cannot pass them. */
export async function lockCaps(db: DbOrTransaction, accountId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('model caps ' || ${accountId}, 0))`.execute(db)
}

/** Each cap that holds for a session, with what is taken of it; of the month for projects and accounts. */
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
  await db
    .insertInto('model_reservations')
    .values({ ...of, tokens_in: tokens.in, tokens_out: tokens.out })
    .execute()
}

/** What a call really used, in place of what was reserved for it. Null: nothing, since it did not come to be. */
export async function settleReservation(
  db: DbOrTransaction,
  reservationId: string,
  used: Tokens | null,
): Promise<void> {
  const row = await db
    .deleteFrom('model_reservations')
    .where('reservation_id', '=', reservationId)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined || used === null) return
  const { account_id, project_id, session_id, model } = row
  await addUsage(db, { account_id, project_id, session_id, model, tokens: used })
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

/** Calls of servers that are gone: how much they used nobody knows, and the upstream counted it. */
export async function forsakenReservations(
  db: DbOrTransaction,
  staleSeconds: number,
): Promise<{ reservation_id: string; tokens: Tokens }[]> {
  const rows = await db
    .selectFrom('model_reservations')
    .leftJoin('server_instances as instance', (join) =>
      join
        .onRef('instance.instance_id', '=', 'model_reservations.instance_id')
        .on('instance.heartbeat_at', '>', sql<string>`now() - make_interval(secs => ${staleSeconds})`),
    )
    .select(['reservation_id', 'tokens_in'])
    .where('instance.instance_id', 'is', null)
    .where('created_at', '<', sql<string>`now() - make_interval(secs => ${staleSeconds})`)
    .limit(500)
    .execute()
  return rows.map((row) => ({ reservation_id: row.reservation_id, tokens: { in: Number(row.tokens_in), out: 0 } }))
}

export type UsageScope = { account_id: string } | { project_id: string } | { session_id: string }

export async function usageOf(db: DbOrTransaction, scope: UsageScope, days: number) {
  const [[name, id] = ['session_id', '']] = Object.entries(scope)
  const { rows: models } = await sql<Record<string, string>>`
    select to_char(day, 'YYYY-MM-DD') as day, project_id, model, sum(calls)::text as calls,
      sum(tokens_in)::text as tokens_in, sum(tokens_out)::text as tokens_out
    from model_usage where ${sql.ref(name)} = ${id} and day > (now() at time zone 'UTC')::date - ${days}::integer
    group by day, project_id, model order by day desc, model, project_id limit 5000`.execute(db)
  const { rows: sandboxes } = await sql<Record<string, string>>`
    with times as (
      select s.account_id, s.project_id, s.session_id, b.created_at as began_at,
        case when b.status in ('provisioning', 'active') then now() else b.updated_at end as ended_at
      from session_sandboxes b join project_sessions s on s.session_id = b.session_id
      union all
      select account_id, project_id, session_id, began_at, ended_at from deleted_sandboxes
    ), since as (select now() - make_interval(days => ${days}::integer) as at)
    select project_id, session_id, ceil(sum(extract(epoch from ended_at - greatest(began_at, since.at))))::text as seconds
    from times, since where ${sql.ref(name)} = ${id} and ended_at > since.at
    group by project_id, session_id order by sum(ended_at - greatest(began_at, since.at)) desc limit 1000`.execute(db)
  const { rows: sessions } = await sql<Record<string, string>>`
    select u.project_id, u.session_id, sum(calls)::text as calls, sum(tokens_in)::text as tokens_in,
      sum(tokens_out)::text as tokens_out
    from model_usage u
    where ${sql.ref(`u.${name}`)} = ${id} and day > (now() at time zone 'UTC')::date - ${days}::integer
    group by u.project_id, u.session_id order by sum(tokens_in + tokens_out) desc limit 1000`.execute(db)
  const used = mergeUses(
    sessions.map((row) => ({
      project_id: row.project_id!,
      session_id: row.session_id!,
      calls: Number(row.calls),
      tokens_in: Number(row.tokens_in),
      tokens_out: Number(row.tokens_out),
    })),
    sandboxes.map((row) => ({
      project_id: row.project_id!,
      session_id: row.session_id!,
      sandbox_seconds: Number(row.seconds),
    })),
  )
  const names = await namesOf(
    db,
    used.map(({ session_id }) => session_id),
  )
  return {
    sessions: used.map((row) => ({ ...row, name: names.get(row.session_id) ?? null })),
    models: models.map((row) => ({
      day: row.day!,
      project_id: row.project_id!,
      model: row.model!,
      calls: Number(row.calls),
      tokens_in: Number(row.tokens_in),
      tokens_out: Number(row.tokens_out),
    })),
    sandboxes: sandboxes.map((row) => ({
      project_id: row.project_id!,
      session_id: row.session_id!,
      seconds: Number(row.seconds),
    })),
  }
}

interface SessionUse {
  project_id: string
  session_id: string
  calls: number
  tokens_in: number
  tokens_out: number
  sandbox_seconds: number
}

/** A session may have asked models and have no sandbox in these days, or the other way round. */
function mergeUses(
  asked: Omit<SessionUse, 'sandbox_seconds'>[],
  ran: Pick<SessionUse, 'project_id' | 'session_id' | 'sandbox_seconds'>[],
): SessionUse[] {
  const seconds = new Map(ran.map((row) => [row.session_id, row.sandbox_seconds]))
  const known = new Set(asked.map(({ session_id }) => session_id))
  return [
    ...asked.map((row) => ({ ...row, sandbox_seconds: seconds.get(row.session_id) ?? 0 })),
    ...ran
      .filter(({ session_id }) => !known.has(session_id))
      .map((row) => ({ calls: 0, tokens_in: 0, tokens_out: 0, ...row })),
  ]
}

async function namesOf(db: DbOrTransaction, sessionIds: string[]): Promise<Map<string, string>> {
  if (sessionIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('project_sessions')
    .select(['session_id', 'name'])
    .where('session_id', 'in', sessionIds)
    .execute()
  return new Map(rows.map(({ session_id, name }) => [session_id, name]))
}

export async function setAccountCap(
  db: DbOrTransaction,
  accountId: string,
  tokens: number | null,
): Promise<number | null> {
  const before = await db
    .selectFrom('accounts')
    .select('model_tokens_per_month')
    .where('account_id', '=', accountId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  await db.updateTable('accounts').set({ model_tokens_per_month: tokens }).where('account_id', '=', accountId).execute()
  return before.model_tokens_per_month === null ? null : Number(before.model_tokens_per_month)
}

/** Of an account without looking at one session: what this month took, and the cap when there is one. */
export async function accountCap(
  db: DbOrTransaction,
  accountId: string,
): Promise<{ cap: number | null; taken: number }> {
  const row = await db
    .selectFrom('accounts')
    .select('model_tokens_per_month')
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  const spender = { account_id: accountId, project_id: '', session_id: '' }
  const cap = row.model_tokens_per_month
  return { cap: cap === null ? null : Number(cap), taken: await takenOf(db, 'account', spender) }
}
