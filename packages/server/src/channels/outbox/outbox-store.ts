import { sql } from 'kysely'
import type { Deps } from '../../deps.ts'
import type { ChannelRow } from '../store.ts'
import { ofLiveProject } from '../../db/live-project.ts'
import { isServerConnected } from '../../db/live-instance.ts'
import type { DbOrTransaction, Row } from '../../db/schema.ts'
import type { StoredMessage } from './message.ts'
import { findRow, updateRows } from '../../db/rows.ts'

export type MessageRow = Row<'channel_messages'>

interface NewMessage {
  /** Identifies the message: the same key edits it. */
  message_key: string
  kind: MessageRow['kind']
  thread_key: string
  /** Null for a message outside of threads; `thread_key` when omitted. */
  thread_id?: string | null
  recipient?: string
  body: StoredMessage
}

/** Enqueues a message. An equal body changes nothing; a different one becomes the next version of the message. */
export async function enqueueMessage(
  deps: Pick<Deps, 'newId'>,
  db: DbOrTransaction,
  { channel_id }: Pick<ChannelRow, 'channel_id'>,
  { thread_key, thread_id = thread_key, ...message }: NewMessage,
): Promise<void> {
  const body = JSON.stringify(message.body)
  await sql`
    insert into channel_messages (message_id, channel_id, message_key, kind, thread_key, thread_id, recipient, body)
    values (${deps.newId()}, ${channel_id}, ${message.message_key}, ${message.kind}, ${thread_key},
      ${thread_id}, ${message.recipient ?? null}, ${body}::jsonb)
    on conflict (channel_id, message_key) do update
      set body = excluded.body, wanted = channel_messages.wanted + 1, given_up_at = null, attempts = 0, updated_at = now()
      where channel_messages.body is distinct from excluded.body`.execute(db)
}

export interface Claim {
  row: MessageRow
  /** The version this claim delivers; a newer one may be enqueued before it is sent. */
  version: number
}

/** Claims the oldest pending message that is next in its thread, in a channel that is not paused, and that no live server holds. */
export async function claimPendingMessage(
  db: DbOrTransaction,
  input: { instanceId: string; now: Date; staleSeconds: number },
): Promise<Claim | null> {
  const { rows } = await sql<MessageRow>`
    update channel_messages set instance_id = ${input.instanceId}, claimed_at = now(), attempts = attempts + 1
    where message_id = (
      select m.message_id from channel_messages m
      join channels c on c.channel_id = m.channel_id and ${ofLiveProject(sql.ref('c.project_id'))}
      where m.wanted > m.sent and m.given_up_at is null
        and (m.next_try_at is null or m.next_try_at <= ${input.now})
        and (c.paused_until is null or c.paused_until <= ${input.now})
        and (m.claimed_at is null or m.claimed_at < now() - interval '2 minutes'
          or (m.instance_id <> ${input.instanceId} and not ${isServerConnected(sql.ref('m.instance_id'), input.staleSeconds)}))
        -- An edit may overtake, a first appearance may not.
        and (m.external_id is not null or not exists (
          select 1 from channel_messages b where b.channel_id = m.channel_id and b.thread_key = m.thread_key
            and b.seq < m.seq and b.external_id is null and b.given_up_at is null and b.wanted > b.sent))
      order by m.seq limit 1 for update of m skip locked)
    returning *`.execute(db)
  return rows[0] === undefined ? null : { row: rows[0], version: rows[0].wanted }
}

/** In how many milliseconds a message may be sent that has to wait now. Null: none waits for a time. */
export async function nextSendInMs(db: DbOrTransaction, now: Date): Promise<number | null> {
  const { rows } = await sql<{ at: string | null }>`
    select min(greatest(m.next_try_at, c.paused_until)) as at
    from channel_messages m join channels c on c.channel_id = m.channel_id
    where m.wanted > m.sent and m.given_up_at is null and greatest(m.next_try_at, c.paused_until) > ${now}`.execute(db)
  return rows[0]?.at == null ? null : Date.parse(rows[0].at) - now.getTime()
}

/** Another server may have taken over an expired claim. */
const mine = ({ row: { message_id, instance_id, claimed_at } }: Claim) => ({ message_id, instance_id, claimed_at })

/** `quietUntil` delays the next edit, so that a growing answer causes few edits. */
export async function recordSent(
  db: DbOrTransaction,
  claim: Claim,
  input: { externalId: string; at: Date; quietUntil: Date },
): Promise<void> {
  await updateRows(db, 'channel_messages', mine(claim), {
    sent: claim.version,
    external_id: input.externalId,
    attempts: 0,
    error: null,
    next_try_at: input.quietUntil,
    claimed_at: null,
    sent_at: input.at,
    updated_at: new Date(),
  })
}

export async function recordLater(db: DbOrTransaction, claim: Claim, input: { reason: string; until: Date }) {
  const set = { error: input.reason, next_try_at: input.until, claimed_at: null, updated_at: new Date() }
  await updateRows(db, 'channel_messages', mine(claim), set)
}

export async function recordGivenUp(db: DbOrTransaction, claim: Claim, input: { reason: string; at: Date }) {
  const set = { error: input.reason, given_up_at: input.at, claimed_at: null, updated_at: new Date() }
  await updateRows(db, 'channel_messages', mine(claim), set)
}

export async function getMessage(db: DbOrTransaction, channelId: string, key: string): Promise<MessageRow | null> {
  return findRow(db, 'channel_messages', { channel_id: channelId, message_key: key })
}

export async function newestMessages(db: DbOrTransaction, channelId: string, limit: number) {
  const rows = await db
    .selectFrom('channel_messages')
    .select(['kind', 'wanted', 'sent', 'given_up_at', 'attempts', 'error', 'updated_at', 'sent_at'])
    .where('channel_id', '=', channelId)
    .orderBy('updated_at', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ wanted, sent, given_up_at, ...row }) => {
    const status = given_up_at !== null ? 'failed' : wanted > sent ? 'waiting' : 'sent'
    return { ...row, status } as const
  })
}

/** Ephemeral replies expire after a week. Other messages stay until their channel is deleted. */
export async function deleteOldMessages(db: DbOrTransaction): Promise<void> {
  await sql`delete from channel_messages where message_id in (
    select message_id from channel_messages
    where recipient is not null and updated_at < now() - interval '7 days' limit 10000)`.execute(db)
}
