import { type Channel, invariant } from '@svc/contract'
import { sql } from 'kysely'
import { isUuid, notFound } from '../auth/allow.ts'
import { isAmong, ofLiveProject } from '../db/live-project.ts'
import type { Db, DbOrTransaction, NewRow, Row } from '../db/schema.ts'
import { getDefaultBranch } from '../projects/default-branch.ts'
import type { PlatformName } from './platforms.ts'
import {
  deleteRows,
  findRow,
  firstRow,
  firstRows,
  insertIfNew,
  listRows,
  lockRow,
  updateRow,
  updateRows,
} from '../db/rows.ts'

export type ChannelRow = Row<'channels'>
export type ThreadRow = Row<'channel_threads'>

/** The API's view of channels, with the settings of svc.toml for their platform. */
export async function presentChannels(db: Db, rows: ChannelRow[]): Promise<Channel[]> {
  const pending = await countPending(
    db,
    rows.map(({ channel_id }) => channel_id),
  )
  const seen = rows[0] === undefined ? null : await getDefaultBranch(db, rows[0].project_id)
  return rows.map((row) => {
    const entry = seen?.manifest.channels.find(({ platform }) => platform === row.platform)
    const { sealed: _, version: __, ...shown } = row
    return {
      ...shown,
      agent: entry?.agent ?? null,
      events: entry?.events ?? [],
      waiting: pending.get(row.channel_id) ?? 0,
    }
  })
}

export async function presentChannel(db: Db, row: ChannelRow): Promise<Channel> {
  const [channel] = await presentChannels(db, [row])
  invariant(channel !== undefined, 'each row is presented')
  return channel
}

async function countPending(db: DbOrTransaction, channelIds: string[]): Promise<Map<string, number>> {
  if (channelIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('channel_messages')
    .select(({ fn }) => ['channel_id', fn.countAll<string>().as('pending')])
    .where('channel_id', 'in', channelIds)
    .whereRef('wanted', '>', 'sent')
    .where('given_up_at', 'is', null)
    .groupBy('channel_id')
    .execute()
  return new Map(rows.map((row) => [row.channel_id, Number(row.pending)]))
}

export function listChannels(db: DbOrTransaction, projectId: string): Promise<ChannelRow[]> {
  return listRows(db, 'channels', { project_id: projectId }, 'created_at desc')
}

export async function requireChannel(db: DbOrTransaction, projectId: string, channelId: string): Promise<ChannelRow> {
  const row = isUuid(channelId) ? await getChannel(db, channelId) : null
  if (row === null || row.project_id !== projectId) throw notFound('channel')
  return row
}

export async function getChannel(db: DbOrTransaction, channelId: string): Promise<ChannelRow | null> {
  return findRow(db, 'channels', { channel_id: channelId })
}

/** The channels a platform request may target. */
export function channelsOfConversation(db: DbOrTransaction, platform: PlatformName, conversationId: string) {
  return firstRows(db, 'channels', { platform, conversation_id: conversationId }, 20)
}

/** Locks the row, so that two connects of the same channel run one after the other. */
export function lockSameChannel(
  db: DbOrTransaction,
  same: Pick<ChannelRow, 'platform' | 'workspace_id' | 'conversation_id' | 'bot_user_id'>,
): Promise<ChannelRow | null> {
  return lockRow(db, 'channels', same)
}

/** Null when another project connected that channel first. */
export async function insertChannel(db: DbOrTransaction, row: NewRow<'channels'>): Promise<ChannelRow | null> {
  return firstRow(
    db
      .insertInto('channels')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .returningAll(),
  )
}

export function updateChannel(
  db: DbOrTransaction,
  channelId: string,
  set: Partial<Omit<NewRow<'channels'>, 'channel_id' | 'project_id' | 'account_id'>>,
): Promise<ChannelRow | null> {
  return updateRow(db, 'channels', { channel_id: channelId }, { ...set, updated_at: new Date() })
}

export async function deleteChannel(db: DbOrTransaction, channelId: string): Promise<boolean> {
  return (await deleteRows(db, 'channels', { channel_id: channelId })) > 0
}

export async function getThread(db: DbOrTransaction, channelId: string, key: string): Promise<ThreadRow | null> {
  return findRow(db, 'channel_threads', { channel_id: channelId, thread_key: key })
}

export function getThreadById(db: DbOrTransaction, threadId: string): Promise<ThreadRow | null> {
  return findRow(db, 'channel_threads', { thread_id: threadId })
}

export async function insertThread(db: DbOrTransaction, row: NewRow<'channel_threads'>): Promise<void> {
  await insertIfNew(db, 'channel_threads', row, ['channel_id', 'thread_key'])
}

export async function setThread(
  db: DbOrTransaction,
  threadId: string,
  set: Partial<Pick<ThreadRow, 'session_id' | 'started_by' | 'chat_user_name' | 'told'>>,
): Promise<void> {
  await updateRows(db, 'channel_threads', { thread_id: threadId }, set)
}

/** Deletes a thread in which no session started. */
export async function deleteUnstartedThread(db: DbOrTransaction, channelId: string, key: string): Promise<void> {
  await deleteRows(db, 'channel_threads', { channel_id: channelId, thread_key: key, told: null, session_id: null })
}

export function newestThreads(db: DbOrTransaction, channelId: string, limit: number): Promise<ThreadRow[]> {
  return firstRows(db, 'channel_threads', { channel_id: channelId }, limit, 'created_at desc', 'thread_id')
}

/** Threads whose posted state differs from their session's. The state is one text, so that any difference counts. */
export async function threadsToNotify(
  db: DbOrTransaction,
  { changed, limit }: { changed: ReadonlySet<string> | 'all'; limit: number },
) {
  const { rows } = await sql<{ thread_id: string; session_id: string; state: string }>`
    select t.thread_id, t.session_id, now.state from channel_threads t
    join project_sessions s on s.session_id = t.session_id
    cross join lateral (
      select max(m.updated_at) as at from session_messages m where m.session_id = s.session_id) said
    cross join lateral (select max(w.saved_at) as at, max(w.recovered_at) as back from session_wip w
      where w.session_id = s.session_id) work
    cross join lateral (
      select md5(string_agg(concat(q.question_id, q.status, q.answer), ' ' order by q.question_id)) as state
      from session_questions q where q.session_id = s.session_id) asked
    cross join lateral (
      select concat_ws(' ', asked.state, s.status, s.generation, s.is_busy, md5(coalesce(s.error, '')), extract(epoch from said.at),
        extract(epoch from work.at), extract(epoch from work.back)) as state) now
    where t.told is distinct from now.state and ${isAmong(sql.ref('s.project_id'), changed)}
      and ${ofLiveProject(sql.ref('s.project_id'))}
      -- Idle sessions are already posted; scanning them all every second would cost more each day.
      and (t.told is null or greatest(s.updated_at, s.last_active_at) > now() - interval '1 day')
    order by t.created_at desc limit ${limit}`.execute(db)
  return rows
}

/** Whether an agent works in the session of a thread, or stopped a moment ago and its last message is being stored. */
export async function isThreadAtWork(db: DbOrTransaction): Promise<boolean> {
  const { rows } = await sql`
    select 1 from project_sessions s where s.status in ('provisioning', 'running')
      and (s.is_busy or s.last_active_at > now() - interval '10 seconds')
      and exists (select 1 from channel_threads t where t.session_id = s.session_id) limit 1`.execute(db)
  return rows.length > 0
}
