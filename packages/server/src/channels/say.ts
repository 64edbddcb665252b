/** Short answers to the person who asked, in their thread and for their eyes alone. */
import type { Deps } from '../deps.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { ChatAuthor } from './author.ts'
import type { EventRow } from './inbox-store.ts'
import type { Message, StoredMessage } from './message.ts'
import { want } from './outbox-store.ts'
import type { ChannelRow } from './store.ts'

interface About {
  author: ChatAuthor
  /** Said once under one key. */
  key: string
  threadId: string
}

export async function whisper(
  deps: Pick<Deps, 'newId'>,
  db: DbOrTransaction,
  channel: ChannelRow,
  about: About,
  body: StoredMessage,
): Promise<void> {
  const message_key = `whisper ${about.author.userId} ${about.key}`
  await want(db, {
    message_id: deps.newId(),
    channel_id: channel.channel_id,
    message_key,
    kind: 'reply',
    // Beside the thread, not in its order: it goes to one person and is worth most at once.
    thread_key: message_key,
    thread_id: about.threadId,
    recipient: about.author.userId,
    body,
  })
}

export async function sayTo(
  deps: Pick<Deps, 'newId'>,
  db: DbOrTransaction,
  channel: ChannelRow,
  row: EventRow,
  body: Message,
): Promise<void> {
  const { payload } = row
  const threadId = payload.kind === 'action' ? payload.thread_key : row.thread_key
  await whisper(deps, db, channel, { author: payload.author, key: row.delivery_id, threadId }, body)
}
