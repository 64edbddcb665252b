/** All SQL on triggers and the ledger of their slots. */
import type { SessionStatus, Trigger, TriggerSlot, TurnError } from '@svc/contract'
import { sql } from 'kysely'
import type { Config } from '../config.ts'
import { isLiving } from '../db/living.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { tellSlot } from './tell.ts'

export type TriggerRow = Row<'triggers'>
export type SlotRow = Row<'trigger_slots'>

export function presentTrigger(config: Pick<Config, 'publicUrl'>, row: TriggerRow): Trigger {
  const { definition } = row
  return {
    slug: row.slug,
    type: row.type,
    enabled: row.enabled,
    cron: definition.cron,
    timezone: definition.timezone,
    run_at: definition.run_at,
    agent: definition.agent,
    model: definition.model,
    prompt: definition.prompt,
    secret_env: definition.secret_env,
    last_fired_at: row.last_fired_at,
    next_fire_at: row.next_due_at,
    webhook_url:
      row.type === 'webhook' ? `${config.publicUrl}/v1/projects/${row.project_id}/triggers/${row.slug}/webhook` : null,
  }
}

/** A slot with what became of the session it started. */
export type SlotWithOutcome = SlotRow & {
  session_status: SessionStatus | null
  session_error: string | null
  first_turn_ended_at: string | null
  first_turn_error: TurnError | null
}

/** `tellsWhy`: the reader may see what the session says about itself. */
export function presentSlot(row: SlotWithOutcome, tellsWhy: boolean): TriggerSlot {
  const { slot_id, kind, due_at, status, fired_at, session_id, reason, caught_up, created_at } = row
  const slot = { slot_id, kind, due_at, status, fired_at, session_id, reason, caught_up, created_at }
  const failure = status === 'fired' ? failureOf(row) : null
  if (failure === null) return slot
  return { ...slot, status: 'failed', reason: tellsWhy ? failure : 'The first turn of its session failed.' }
}

/** Why the turn that the slot asked for failed, or never began; null when it did not fail, or not yet. */
function failureOf(row: SlotWithOutcome): string | null {
  if (row.first_turn_error !== null) return row.first_turn_error.message
  const neverEnded = row.session_status === 'failed' && row.first_turn_ended_at === null
  return neverEnded ? (row.session_error ?? 'The session failed.') : null
}

export async function listTriggers(db: DbOrTransaction, projectId: string): Promise<TriggerRow[]> {
  return db.selectFrom('triggers').selectAll().where('project_id', '=', projectId).orderBy('position').execute()
}

export async function getTrigger(db: DbOrTransaction, projectId: string, slug: string): Promise<TriggerRow | null> {
  // The database refuses to compare such a text.
  if (slug.includes('\0')) return null
  const row = await db
    .selectFrom('triggers')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('slug', '=', slug)
    .executeTakeFirst()
  return row ?? null
}

/** Locked until the transaction ends: whoever plans its slots and whoever changes its schedule take turns. */
export async function lockTriggers(trx: DbOrTransaction, projectId: string): Promise<TriggerRow[]> {
  return trx
    .selectFrom('triggers')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('slug')
    .forUpdate()
    .execute()
}

export async function upsertTrigger(trx: DbOrTransaction, row: NewRow<'triggers'>): Promise<void> {
  await trx
    .insertInto('triggers')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['project_id', 'slug']).doUpdateSet({
        position: row.position,
        type: row.type,
        definition: row.definition,
        enabled: row.enabled,
        appeared_at: row.appeared_at,
        next_due_at: row.next_due_at ?? null,
        run_as: row.run_as ?? null,
      }),
    )
    .execute()
}

export async function deleteTriggers(trx: DbOrTransaction, projectId: string, slugs: string[]): Promise<void> {
  if (slugs.length === 0) return
  await trx.deleteFrom('triggers').where('project_id', '=', projectId).where('slug', 'in', slugs).execute()
}

/** The next trigger that is due, locked; one that another server has in hand is left to it. */
export async function lockDueTrigger(trx: DbOrTransaction, now: Date): Promise<TriggerRow | null> {
  const row = await trx
    .selectFrom('triggers')
    .selectAll()
    .where('enabled', '=', true)
    .where('next_due_at', '<=', now.toISOString())
    .orderBy('next_due_at')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
  return row ?? null
}

export async function setNextDue(
  trx: DbOrTransaction,
  trigger: Pick<TriggerRow, 'project_id' | 'slug'>,
  nextDueAt: Date | null,
): Promise<void> {
  await trx
    .updateTable('triggers')
    .set({ next_due_at: nextDueAt })
    .where('project_id', '=', trigger.project_id)
    .where('slug', '=', trigger.slug)
    .execute()
}

/** Those that were not in the ledger yet: what is there already is somebody's. */
export async function insertSlots(trx: DbOrTransaction, rows: NewRow<'trigger_slots'>[]): Promise<SlotRow[]> {
  if (rows.length === 0) return []
  return trx
    .insertInto('trigger_slots')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['project_id', 'slug', 'kind', 'slot_key']).doNothing())
    .returningAll()
    .execute()
}

export async function getSlot(
  db: DbOrTransaction,
  slot: Pick<SlotRow, 'project_id' | 'slug' | 'kind' | 'slot_key'>,
): Promise<SlotRow | null> {
  const row = await db
    .selectFrom('trigger_slots')
    .selectAll()
    .where('project_id', '=', slot.project_id)
    .where('slug', '=', slot.slug)
    .where('kind', '=', slot.kind)
    .where('slot_key', '=', slot.slot_key)
    .executeTakeFirst()
  return row ?? null
}

export async function newestSlots(
  db: DbOrTransaction,
  projectId: string,
  slug: string,
  limit: number,
): Promise<SlotWithOutcome[]> {
  return db
    .selectFrom('trigger_slots')
    .leftJoin('project_sessions as session', 'session.session_id', 'trigger_slots.session_id')
    .selectAll('trigger_slots')
    .select(['session.status as session_status', 'session.error as session_error'])
    .select(['session.first_turn_ended_at', 'session.first_turn_error'])
    .where('trigger_slots.project_id', '=', projectId)
    .where('slug', '=', slug)
    .orderBy('trigger_slots.created_at', 'desc')
    .orderBy('due_at', 'desc')
    .limit(limit)
    .execute()
}

/** The due time of the newest cron slot that started, or may still start, a session. */
export async function lastDueAt(db: DbOrTransaction, projectId: string, slug: string): Promise<Date | null> {
  const row = await db
    .selectFrom('trigger_slots')
    .select('due_at')
    .where('project_id', '=', projectId)
    .where('slug', '=', slug)
    .where('kind', '=', 'cron')
    .where('status', 'in', ['claimed', 'fired'])
    .orderBy('due_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : new Date(row.due_at)
}

export async function countRecent(
  db: DbOrTransaction,
  input: { projectId: string; slug?: string; kind: SlotRow['kind']; seconds: number },
): Promise<number> {
  let query = db
    .selectFrom('trigger_slots')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('project_id', '=', input.projectId)
    .where('kind', '=', input.kind)
    .where('created_at', '>', sql<string>`now() - make_interval(secs => ${input.seconds})`)
  if (input.slug !== undefined) query = query.where('slug', '=', input.slug)
  return Number((await query.executeTakeFirstOrThrow()).count)
}

/** Fired, and the trigger says since when, in one transaction: `last_fired_at` moves only together with a session. */
export async function recordFired(
  trx: DbOrTransaction,
  slot: SlotRow,
  { sessionId, at }: { sessionId: string; at: Date },
): Promise<void> {
  const fired = await trx
    .updateTable('trigger_slots')
    .set({ status: 'fired', fired_at: at, session_id: sessionId, reason: null, plan: null })
    .where('slot_id', '=', slot.slot_id)
    .where('status', '=', 'claimed')
    .returningAll()
    .executeTakeFirst()
  if (fired === undefined) return
  await tellSlot(trx, 'trigger.fired', fired)
  await trx
    .updateTable('triggers')
    .set({ last_fired_at: sql`greatest(last_fired_at, ${at.toISOString()}::timestamptz)` })
    .where('project_id', '=', slot.project_id)
    .where('slug', '=', slot.slug)
    .execute()
}

/** Inside a transaction. */
export async function recordSkipped(trx: DbOrTransaction, slotId: string, reason: string): Promise<void> {
  const skipped = await trx
    .updateTable('trigger_slots')
    .set({ status: 'skipped', reason, plan: null })
    .where('slot_id', '=', slotId)
    .where('status', '=', 'claimed')
    .returningAll()
    .executeTakeFirst()
  if (skipped !== undefined) await tellSlot(trx, 'trigger.missed', skipped)
}

export async function recordWaiting(db: DbOrTransaction, slotId: string, reason: string): Promise<void> {
  await db
    .updateTable('trigger_slots')
    .set({ reason, claimed_at: sql`now()` })
    .where('slot_id', '=', slotId)
    .where('status', '=', 'claimed')
    .execute()
}

/** One slot whose server died over it, or whose last try was some time ago; ours from here on. */
export async function takeForsakenSlot(
  db: DbOrTransaction,
  input: { instanceId: string; waitSeconds: number; staleSeconds: number },
): Promise<SlotRow | null> {
  const { rows } = await sql<SlotRow>`
    update trigger_slots set instance_id = ${input.instanceId}, claimed_at = now()
    where slot_id = (
      select s.slot_id from trigger_slots s
      where s.status = 'claimed' and s.claimed_at < now() - interval '3 seconds' and (
        (s.reason is not null and s.claimed_at < now() - make_interval(secs => ${input.waitSeconds}))
        or s.claimed_at < now() - make_interval(secs => 120)
        or not ${isLiving(sql.ref('s.instance_id'), input.staleSeconds)})
      order by s.claimed_at limit 1 for update of s skip locked)
    returning *`.execute(db)
  return rows[0] ?? null
}

/** The ledger of a quarter is kept. */
export async function forgetOldSlots(db: DbOrTransaction): Promise<void> {
  await sql`delete from trigger_slots where slot_id in (
    select slot_id from trigger_slots where created_at < now() - interval '90 days' and status <> 'claimed' limit 10000)`.execute(
    db,
  )
}
