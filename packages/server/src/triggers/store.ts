/** All SQL on triggers and the ledger of their slots. */
import {
  nextTimesShown,
  type SessionStatus,
  slotsAfter,
  type Trigger,
  type TriggerSlot,
  type TurnError,
} from '@svc/contract'
import { sql } from 'kysely'
import { mayWrite } from '../auth/actor.ts'
import type { Config } from '../config.ts'
import { isAtHome } from '../db/home.ts'
import { ofLiveProject } from '../db/live-project.ts'
import { isServerConnected } from '../db/live-instance.ts'
import { deleteRows, findRow, listRows, updateRow, updateRows, upsertRow } from '../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { scheduleWords } from '../projects/schedule-words.ts'
import { recordEvent, shortened } from '../events/record.ts'

export type TriggerRow = Row<'triggers'>
export type SlotRow = Row<'trigger_slots'>
export type TriggerKey = Pick<TriggerRow, 'project_id' | 'slug'>

export function presentTrigger(config: Pick<Config, 'publicUrl'>, row: TriggerRow): Trigger {
  const { definition } = row
  return {
    slug: row.slug,
    name: row.slug,
    type: row.type,
    enabled: row.enabled,
    cron: definition.cron,
    timezone: definition.timezone,
    run_at: definition.run_at,
    schedule: row.type === 'cron' ? scheduleWords(definition) : null,
    agent: definition.agent,
    model: definition.model,
    prompt: definition.prompt,
    prompt_template: definition.prompt,
    secret_env: definition.secret_env,
    last_fired_at: row.last_fired_at,
    next_fire_at: row.next_due_at,
    next_fire_times: nextTimes(row),
    webhook_url:
      row.type === 'webhook' ? `${config.publicUrl}/v1/projects/${row.project_id}/triggers/${row.slug}/webhook` : null,
  }
}

function nextTimes({ next_due_at: next, definition }: TriggerRow): string[] {
  if (next === null) return []
  const later = slotsAfter(definition, new Date(next), nextTimesShown - 1)
  return [next, ...later.map((at) => at.toISOString())]
}

type SlotWithOutcome = SlotRow & {
  session_status: SessionStatus | null
  session_error: string | null
  first_turn_ended_at: string | null
  first_turn_error: TurnError | null
}

/** `showsReason`: the reader may see the errors of the session. */
export function presentSlot(row: SlotWithOutcome, showsReason: boolean): TriggerSlot {
  const { slot_id, kind, due_at, status, fired_at, session_id, reason, caught_up, created_at } = row
  const slot = { slot_id, kind, due_at, status, fired_at, session_id, reason, caught_up, created_at }
  const failure = status === 'fired' ? failureOf(row) : null
  if (failure === null) return slot
  return { ...slot, status: 'failed', reason: showsReason ? failure : 'The first turn of its session failed.' }
}

/** Why the first turn of the session failed or never began; null otherwise. */
function failureOf(row: SlotWithOutcome): string | null {
  if (row.first_turn_error !== null) return row.first_turn_error.message
  const neverEnded = row.session_status === 'failed' && row.first_turn_ended_at === null
  return neverEnded ? (row.session_error ?? 'The session failed.') : null
}

export async function listTriggers(db: DbOrTransaction, projectId: string): Promise<TriggerRow[]> {
  return listRows(db, 'triggers', { project_id: projectId }, 'position')
}

export async function getTrigger(db: DbOrTransaction, projectId: string, slug: string): Promise<TriggerRow | null> {
  // PostgreSQL rejects a NUL in text.
  return slug.includes('\0') ? null : findRow(db, 'triggers', { project_id: projectId, slug })
}

/** Locks until the transaction ends, which serializes planning slots with changing schedules. */
export async function lockTriggers(trx: DbOrTransaction, projectId: string): Promise<TriggerRow[]> {
  const ofProject = trx.selectFrom('triggers').selectAll().where('project_id', '=', projectId)
  return ofProject.orderBy('slug').forUpdate().execute()
}

/** Keeps when it fired last. */
export function upsertTrigger(trx: DbOrTransaction, row: Omit<NewRow<'triggers'>, 'last_fired_at'>): Promise<void> {
  return upsertRow(trx, 'triggers', row, 'project_id', 'slug')
}

export async function deleteTriggers(trx: DbOrTransaction, projectId: string, slugs: string[]): Promise<void> {
  await deleteRows(trx, 'triggers', { project_id: projectId, slug: slugs })
}

/** Locks the next due trigger and skips those that another server holds. */
export async function lockDueTrigger(
  trx: DbOrTransaction,
  { now, home }: { now: Date; home: string | null },
): Promise<TriggerRow | null> {
  const { rows } = await sql<TriggerRow>`
    select * from triggers where enabled and next_due_at <= ${now} and ${ofLiveProject(sql.ref('triggers.project_id'))}
      and ${isAtHome(sql.ref('triggers.project_id'), home)}
    order by next_due_at limit 1 for update of triggers skip locked`.execute(trx)
  return rows[0] ?? null
}

/** When a trigger is due next. */
export async function nextDueAt(db: DbOrTransaction, home: string | null): Promise<string | null> {
  const { rows } = await sql<{ next_due_at: string }>`
    select next_due_at from triggers where enabled and next_due_at is not null
      and ${ofLiveProject(sql.ref('triggers.project_id'))} and ${isAtHome(sql.ref('triggers.project_id'), home)}
    order by next_due_at limit 1`.execute(db)
  return rows[0]?.next_due_at ?? null
}

export async function setNextDue(trx: DbOrTransaction, { project_id, slug }: TriggerKey, nextDueAt: Date | null) {
  await updateRows(trx, 'triggers', { project_id, slug }, { next_due_at: nextDueAt })
}

/** Returns the rows that the ledger did not have yet; another server owns the others. */
export async function insertSlots(trx: DbOrTransaction, rows: NewRow<'trigger_slots'>[]): Promise<SlotRow[]> {
  if (rows.length === 0) return []
  return trx
    .insertInto('trigger_slots')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['project_id', 'slug', 'kind', 'slot_key']).doNothing())
    .returningAll()
    .execute()
}

type SlotKey = Pick<SlotRow, 'project_id' | 'slug' | 'kind' | 'slot_key'>

export function getSlot(db: DbOrTransaction, { project_id, slug, kind, slot_key }: SlotKey): Promise<SlotRow | null> {
  return findRow(db, 'trigger_slots', { project_id, slug, kind, slot_key })
}

export async function newestSlots(db: DbOrTransaction, projectId: string, slug: string, limit: number) {
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
  const { rows } = await sql<Pick<SlotRow, 'due_at'>>`
    select due_at from trigger_slots
    where project_id = ${projectId} and slug = ${slug} and kind = 'cron' and status in ('claimed', 'fired')
    order by due_at desc limit 1`.execute(db)
  return rows[0] === undefined ? null : new Date(rows[0].due_at)
}

export async function countRecent(
  db: DbOrTransaction,
  input: { projectId: string; slug?: string; kind: SlotRow['kind']; seconds: number },
): Promise<number> {
  let query = db
    .selectFrom('trigger_slots')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where((eb) => eb.and({ project_id: input.projectId, kind: input.kind }))
    .where('created_at', '>', sql<string>`now() - make_interval(secs => ${input.seconds})`)
  if (input.slug !== undefined) query = query.where('slug', '=', input.slug)
  return Number((await query.executeTakeFirstOrThrow()).count)
}

/** Sets `last_fired_at` in the same transaction, so that it moves only together with a session. */
export async function recordFired(
  trx: DbOrTransaction,
  slot: SlotRow,
  { sessionId, at }: { sessionId: string; at: Date },
): Promise<void> {
  const set = { status: 'fired', fired_at: at, session_id: sessionId, reason: null, plan: null } as const
  const fired = await updateRow(trx, 'trigger_slots', claimed(slot.slot_id), set)
  if (fired === null) return
  await recordSlotEvent(trx, 'trigger.fired', fired)
  const newest = sql<string>`greatest(last_fired_at, ${at.toISOString()}::timestamptz)`
  await updateRows(trx, 'triggers', { project_id: slot.project_id, slug: slot.slug }, { last_fired_at: newest })
}

/** Null: another request was first. */
export function claimSkipped(
  db: DbOrTransaction,
  slotId: string,
  claim: Pick<NewRow<'trigger_slots'>, 'due_at' | 'planned_session_id' | 'plan' | 'instance_id'>,
): Promise<SlotRow | null> {
  const set = { ...claim, status: 'claimed', reason: null, claimed_at: sql<string>`now()` } as const
  return updateRow(db, 'trigger_slots', { slot_id: slotId, status: 'skipped' }, set)
}

const claimed = (slotId: string) => ({ slot_id: slotId, status: 'claimed' }) as const

/** Needs a transaction. */
export async function recordSkipped(trx: DbOrTransaction, slotId: string, reason: string): Promise<void> {
  const set = { status: 'skipped', reason, plan: null } as const
  const skipped = await updateRow(trx, 'trigger_slots', claimed(slotId), set)
  if (skipped !== null) await recordSlotEvent(trx, 'trigger.missed', skipped)
}

export async function recordWaiting(db: DbOrTransaction, slotId: string, reason: string): Promise<void> {
  await updateRows(db, 'trigger_slots', claimed(slotId), { reason, claimed_at: sql<string>`now()` })
}

/** Assigns to this server one slot of a dead server, or one whose last try was some time ago. */
export async function takeOrphanedSlot(
  db: DbOrTransaction,
  input: { instanceId: string; home: string | null; waitSeconds: number; staleSeconds: number },
): Promise<SlotRow | null> {
  const { rows } = await sql<SlotRow>`
    update trigger_slots set instance_id = ${input.instanceId}, claimed_at = now()
    where slot_id = (
      select s.slot_id from trigger_slots s
      where s.status = 'claimed' and s.claimed_at < now() - interval '3 seconds'
        and ${isAtHome(sql.ref('s.project_id'), input.home)} and (
        (s.reason is not null and s.claimed_at < now() - make_interval(secs => ${input.waitSeconds}))
        or s.claimed_at < now() - make_interval(secs => 120)
        or not ${isServerConnected(sql.ref('s.instance_id'), input.staleSeconds)})
      order by s.claimed_at limit 1 for update of s skip locked)
    returning *`.execute(db)
  return rows[0] ?? null
}

export async function deleteOldSlots(db: DbOrTransaction, days: number): Promise<void> {
  await sql`delete from trigger_slots where slot_id in (
    select slot_id from trigger_slots
    where created_at < now() - make_interval(days => ${days}::integer) and status <> 'claimed'
    order by created_at limit 10000)`.execute(db)
}

/** The user a trigger's sessions act for: whoever merged it, if they can still write; otherwise the first owner. Null when the account has no owner. */
export async function runAs(db: DbOrTransaction, trigger: TriggerRow): Promise<string | null> {
  const members = await db
    .selectFrom('account_members')
    .innerJoin('projects', 'projects.account_id', 'account_members.account_id')
    .select(['account_members.user_id', 'account_members.role'])
    .where('projects.project_id', '=', trigger.project_id)
    .orderBy('account_members.created_at')
    .orderBy('account_members.user_id')
    .execute()
  const merger = members.find(({ user_id, role }) => user_id === trigger.run_as && mayWrite(role))
  return (merger ?? members.find(({ role }) => role === 'owner'))?.user_id ?? null
}

/** Records the result of a slot as a project event, in the transaction that sets it. */
export async function recordSlotEvent(
  trx: DbOrTransaction,
  type: 'trigger.fired' | 'trigger.missed',
  slot: SlotRow,
): Promise<void> {
  const { project_id, slug, slot_id, kind, due_at, session_id } = slot
  const reason = slot.reason === null ? null : shortened(slot.reason)
  await recordEvent(trx, { project_id, type, data: { slug, slot_id, kind, due_at, session_id, reason } })
}
