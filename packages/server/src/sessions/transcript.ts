/** The conversation as the database has it: whole, its end and page by page what came before, or what changed. */
import type { Message } from '@svc/contract'
import type { DbOrTransaction } from '../db/schema.ts'
import { cutPage, invalidCursor, readCursor } from '../http/page.ts'

/** More than a person reads and a conversation of a runtime holds. */
const messagesMax = 20_000

/** The runtime's own, or the UUID of a prompt. */
const messageId = /^(msg_\w{1,100}|[0-9a-f]{8}-[0-9a-f-]{27})$/

const columns = ['message_id', 'role', 'created_at', 'completed_at', 'error', 'parts'] as const

/** Oldest first. With a limit the newest ones before the cursor, and the cursor of those before them; or the oldest, and no cursor. */
export async function readTranscript(
  db: DbOrTransaction,
  sessionId: string,
  page: { limit?: number | undefined; cursor?: string | undefined; from?: 'start' | 'end' } = {},
): Promise<{ messages: Message[]; next: string | null }> {
  const limit = page.limit ?? messagesMax
  const before = readCursor(page.cursor)
  if (before !== null && !messageId.test(before[1])) throw invalidCursor()
  const ofSession = db.selectFrom('session_messages').select(columns).where('session_id', '=', sessionId)
  if (page.from === 'start') {
    if (before !== null) throw invalidCursor()
    const rows = await ofSession.orderBy('created_at').orderBy('message_id').limit(limit).execute()
    return { messages: rows as unknown as Message[], next: null }
  }
  let query = ofSession
    .orderBy('created_at', 'desc')
    .orderBy('message_id', 'desc')
    .limit(limit + 1)
  if (before !== null)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'message_id'), '<', tuple(before[0], before[1])),
    )
  const { rows, next } = cutPage(await query.execute(), limit, (last) => [last.created_at, last.message_id])
  return { messages: rows.reverse() as unknown as Message[], next }
}

/** Oldest first. */
export async function messagesChangedSince(db: DbOrTransaction, sessionId: string, since: Date): Promise<Message[]> {
  return (await keptSince(db, sessionId, since)).map(({ message }) => message)
}

/** With the time each was kept at. */
export async function keptSince(
  db: DbOrTransaction,
  sessionId: string,
  since: Date,
): Promise<{ message: Message; at: Date }[]> {
  const rows = await db
    .selectFrom('session_messages')
    .select([...columns, 'updated_at'])
    .where('session_id', '=', sessionId)
    .where('updated_at', '>=', since.toISOString())
    .orderBy('created_at')
    .orderBy('message_id')
    .limit(messagesMax)
    .execute()
  return rows.map(({ updated_at: at, ...message }) => ({ message: message as unknown as Message, at: new Date(at) }))
}
