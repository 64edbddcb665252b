import { type Webhook, type WebhookDelivery } from '@svc/contract'
import { sql } from 'kysely'
import { isUuid, notFound } from '../auth/allow.ts'
import { isAmong, ofLiveProject } from '../db/live-project.ts'
import { isServerConnected } from '../db/live-instance.ts'
import type { Db, DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { type PageQuery, readPage } from '../db/read-page.ts'
import { deleteRows, findRow, firstRows, listRows, updateRow, updateRows } from '../db/rows.ts'

export type WebhookRow = Row<'webhooks'>
export type DeliveryRow = Row<'webhook_deliveries'>

export function presentWebhook(row: WebhookRow): Webhook {
  const { secret: _, cursor: last_event, paused_reason, last_error, ...shown } = row
  const state = paused_reason !== null ? 'paused' : row.attempts > 0 ? 'retrying' : 'active'
  return { ...shown, state, last_event, reason: paused_reason ?? last_error }
}

export function presentDelivery(row: DeliveryRow): WebhookDelivery {
  return { ...row, event_id: row.event_number }
}

export function listWebhooks(db: DbOrTransaction, projectId: string): Promise<WebhookRow[]> {
  return listRows(db, 'webhooks', { project_id: projectId }, 'created_at')
}

export async function requireWebhook(db: DbOrTransaction, projectId: string, webhookId: string): Promise<WebhookRow> {
  const of = { project_id: projectId, webhook_id: webhookId }
  const row = isUuid(webhookId) ? await findRow(db, 'webhooks', of) : null
  if (row === null) throw notFound('webhook')
  return row
}

export async function insertWebhook(trx: DbOrTransaction, row: NewRow<'webhooks'>): Promise<WebhookRow> {
  return trx.insertInto('webhooks').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateWebhook(
  trx: DbOrTransaction,
  webhookId: string,
  set: Partial<Pick<NewRow<'webhooks'>, 'url' | 'events' | 'secret' | 'paused_reason' | 'cursor'>> & {
    startsAgain?: boolean
  },
): Promise<WebhookRow> {
  const { startsAgain, ...rest } = set
  const fresh = { attempts: 0, failing_since: null, next_attempt_at: null, last_error: null }
  return trx
    .updateTable('webhooks')
    .set({ ...rest, ...(startsAgain ? fresh : {}), updated_at: new Date() })
    .where('webhook_id', '=', webhookId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteWebhookRow(trx: DbOrTransaction, webhookId: string): Promise<void> {
  await deleteRows(trx, 'webhooks', { webhook_id: webhookId })
}

export function listDeliveries(db: DbOrTransaction, webhookId: string, page: PageQuery) {
  const deliveries = db.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', webhookId)
  return readPage(deliveries, ['created_at', 'delivery_id'], 'desc', page)
}

/** A ping or a redelivery: tried once, as soon as its webhook's turn comes. */
export async function insertPing(trx: DbOrTransaction, input: { delivery_id: string; webhook_id: string }) {
  return trx
    .insertInto('webhook_deliveries')
    .values({ ...input, event_number: null, event_type: 'ping', by_hand: true })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Null when it does not exist, or waits anyway. */
export async function queueRedelivery(trx: DbOrTransaction, input: { webhookId: string; deliveryId: string }) {
  if (!isUuid(input.deliveryId)) return null
  const settled = { webhook_id: input.webhookId, delivery_id: input.deliveryId, status: sql`<> 'waiting'` }
  return updateRow(trx, 'webhook_deliveries', settled, { status: 'waiting', by_hand: true })
}

export async function getDelivery(db: DbOrTransaction, webhookId: string, deliveryId: string) {
  if (!isUuid(deliveryId)) return null
  return findRow(db, 'webhook_deliveries', { webhook_id: webhookId, delivery_id: deliveryId })
}

export interface Lease {
  webhookId: string
  instanceId: string
  seconds: number
}

/** In how many milliseconds the next retry is due. Null: none is. */
export async function nextAttemptInMs(db: DbOrTransaction): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(next_attempt_at) - now()) * 1000)::float8 as ms from webhooks
    where paused_reason is null and attempts > 0 and next_attempt_at > now()`.execute(db)
  return rows[0]?.ms ?? null
}

/**
 * Leases a webhook, of these projects or of all, that has something to send and no sender, longest waiting first. A dead
 * server's lease does not count.
 */
export async function takeWebhook(
  db: Db,
  lease: Omit<Lease, 'webhookId'> & { staleSeconds: number; changed: ReadonlySet<string> | 'all' },
) {
  const { rows } = await sql<WebhookRow>`
    update webhooks set lease_by = ${lease.instanceId}, lease_until = now() + make_interval(secs => ${lease.seconds})
    where webhook_id = (
      select w.webhook_id from webhooks w left join project_event_counters c on c.project_id = w.project_id
      where (w.lease_until <= now() or (w.lease_by <> ${lease.instanceId}
        and not ${isServerConnected(sql.ref('w.lease_by'), lease.staleSeconds)})) and (
        (w.paused_reason is null and (w.next_attempt_at is null or w.next_attempt_at <= now()) and w.cursor < c.last)
        or exists (select 1 from webhook_deliveries d
          where d.webhook_id = w.webhook_id and d.by_hand and d.status = 'waiting'))
        and ${isAmong(sql.ref('w.project_id'), lease.changed)} and ${ofLiveProject(sql.ref('w.project_id'))}
      order by w.lease_until limit 1 for update of w skip locked)
    returning *`.execute(db)
  return rows[0] ?? null
}

/** Renews the lease and returns the current row. Null: it is deleted, its project is deleted, or another server has it. */
export async function renewLease(db: Db, lease: Lease): Promise<WebhookRow | null> {
  const { rows } = await sql<WebhookRow>`
    update webhooks set lease_until = now() + make_interval(secs => ${lease.seconds})
    where webhook_id = ${lease.webhookId} and lease_by = ${lease.instanceId} and lease_until > now()
      and ${ofLiveProject(sql.ref('webhooks.project_id'))}
    returning *`.execute(db)
  return rows[0] ?? null
}

export async function endLease(db: Db, lease: Lease): Promise<void> {
  // The column has milliseconds: `now()` could be rounded up and keep the next sender waiting.
  await sql`update webhooks set lease_by = null, lease_until = date_trunc('milliseconds', now())
    where webhook_id = ${lease.webhookId} and lease_by = ${lease.instanceId}`.execute(db)
}

export async function isDue(db: Db, webhookId: string): Promise<boolean> {
  const { rows } = await sql<{ due: boolean }>`
    select paused_reason is null and (next_attempt_at is null or next_attempt_at <= now()) as due
    from webhooks where webhook_id = ${webhookId}`.execute(db)
  return rows[0]?.due ?? false
}

export async function nextByHand(db: Db, webhookId: string): Promise<DeliveryRow | null> {
  const byHand = { webhook_id: webhookId, by_hand: true, status: 'waiting' } as const
  return (await firstRows(db, 'webhook_deliveries', byHand, 1, 'created_at'))[0] ?? null
}

/** The row of an event's delivery, the same at every try: receivers deduplicate by its id. */
export async function beginDelivery(
  db: Db,
  row: { delivery_id: string; webhook_id: string; event_number: number; event_type: string },
): Promise<DeliveryRow> {
  return db
    .insertInto('webhook_deliveries')
    .values(row)
    .onConflict((conflict) => conflict.columns(['webhook_id', 'event_number']).doUpdateSet({ status: 'waiting' }))
    .returningAll()
    .executeTakeFirstOrThrow()
}

export type Attempt = Pick<DeliveryRow, 'http_status' | 'error' | 'answer' | 'ms'>

export async function recordAttempt(
  trx: DbOrTransaction,
  deliveryId: string,
  attempt: Attempt,
  status: DeliveryRow['status'],
): Promise<void> {
  const now = { by_hand: false, attempts: sql<number>`attempts + 1`, last_attempt_at: sql<string>`now()` }
  await updateRows(trx, 'webhook_deliveries', { delivery_id: deliveryId }, { ...attempt, status, ...now })
}

/** Skips what was sent or not subscribed to. Only forwards, and only by the holder of the lease. */
export async function passEvents(trx: DbOrTransaction, lease: Lease, number: number): Promise<void> {
  await sql`update webhooks set cursor = ${number}, attempts = 0, failing_since = null, next_attempt_at = null, last_error = null
    where webhook_id = ${lease.webhookId} and lease_by = ${lease.instanceId} and cursor < ${number}`.execute(trx)
}

/** Schedules the next try after a pause; none after a day of them, or when `gaveUp` gives a reason. */
export async function recordFailure(
  trx: DbOrTransaction,
  lease: Lease,
  failure: { pauseSeconds: number; error: string; patienceHours: number; gaveUp: string | null },
): Promise<{ isPaused: boolean }> {
  const { rows } = await sql<{ paused_reason: string | null }>`
    update webhooks set attempts = attempts + 1, failing_since = coalesce(failing_since, now()),
      last_error = ${failure.error}, next_attempt_at = now() + make_interval(secs => ${failure.pauseSeconds}),
      paused_reason = coalesce(paused_reason, ${failure.gaveUp}::text, case
        when failing_since < now() - make_interval(hours => ${failure.patienceHours}::integer)
        then 'No delivery was accepted for a day. Last try: ' || ${failure.error}::text end)
    where webhook_id = ${lease.webhookId} and lease_by = ${lease.instanceId}
    returning paused_reason`.execute(trx)
  return { isPaused: rows[0]?.paused_reason != null }
}

/** Deliveries expire with the events they deliver. */
export async function deleteOldDeliveries(db: DbOrTransaction, days: number): Promise<void> {
  await sql`delete from webhook_deliveries where delivery_id in (
    select delivery_id from webhook_deliveries
    where created_at < now() - make_interval(days => ${days}::integer) and status <> 'waiting'
    order by created_at limit 10000)`.execute(db)
}
