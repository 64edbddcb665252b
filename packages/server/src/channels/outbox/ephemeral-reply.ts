/** Short ephemeral replies to the author, in their thread. */
import { errorClass, ServiceError } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { EventRow } from '../ingress/inbox-store.ts'
import type { ChannelEvent, EventDeps, EventOutcome } from '../ingress/channel-event.ts'
import type { ChatAuthor, ResolvedAuthor } from '../links/author.ts'
import type { ChannelRow } from '../store.ts'
import { line, type Message, type StoredMessage } from './message.ts'
import { enqueueMessage } from './outbox-store.ts'

interface ReplyTarget {
  author: ChatAuthor
  /** Each key is sent once. */
  key: string
  threadId: string
}

export async function sendEphemeralReply(
  deps: Pick<Deps, 'newId'>,
  db: DbOrTransaction,
  channel: ChannelRow,
  { author, key, threadId }: ReplyTarget,
  body: StoredMessage,
): Promise<void> {
  const message_key = `whisper ${author.userId} ${key}`
  // Not ordered with the thread: it goes to one user and is most useful immediately.
  const place = { thread_key: message_key, thread_id: threadId, recipient: author.userId }
  await enqueueMessage(deps, db, channel, { ...place, message_key, kind: 'reply', body })
}

export async function replyToAuthor(
  deps: Pick<Deps, 'newId'>,
  db: DbOrTransaction,
  channel: ChannelRow,
  { payload, thread_key, delivery_id: key }: EventRow,
  body: Message,
): Promise<void> {
  const threadId = 'thread_key' in payload ? payload.thread_key : thread_key
  await sendEphemeralReply(deps, db, channel, { author: payload.author, key, threadId }, body)
}

/** Replies with the refusal of an action. Any other error is thrown, so that the event is retried. */
export async function replyWithRefusal(
  deps: EventDeps,
  { channel, row }: ChannelEvent,
  error: unknown,
  bodyOf: (error: ServiceError) => Message,
): Promise<EventOutcome> {
  if (!(error instanceof ServiceError) || ['unavailable', 'internal'].includes(errorClass(error.code))) throw error
  await replyToAuthor(deps, deps.db, channel, row, bodyOf(error))
  return { kind: 'refused', reason: `${error.code}: ${error.message}` }
}

/** Refuses an author, and invites an unlinked one to link. */
export async function refuseAuthor(
  deps: EventDeps,
  channel: ChannelRow,
  target: ReplyTarget,
  { why, reason }: Pick<ResolvedAuthor & { kind: 'refused' }, 'why' | 'reason'>,
  skipped = '',
): Promise<EventOutcome & { kind: 'refused' }> {
  const body: StoredMessage = line(skipped, reason)
  const { workspaceId, userId: chatUserId } = target.author
  if (why === 'unlinked') body.invites = { workspaceId, chatUserId }
  await sendEphemeralReply(deps, deps.db, channel, target, body)
  return { kind: 'refused', reason }
}
