import type { Message } from '@svc/contract'
import { endOfPromptPart } from '@svc/contract/daemon/prompt-part'
import { sql } from 'kysely'
import { afterCursor } from '../../db/after-cursor.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import { hasRow } from '../../db/rows.ts'
import { cutPage, invalidCursor, readCursor } from '../../http/page.ts'
import { abortedCode, sandboxEndedCode } from './assemble.ts'
import { namePrompt } from './name-prompt.ts'

const messagesMax = 20_000

/** An id of the runtime, or the UUID of a prompt. */
const messageId = /^(msg_\w{1,100}|[0-9a-f]{8}-[0-9a-f-]{27})$/

const columns = ['message_id', 'role', 'created_at', 'completed_at', 'error', 'error_code', 'parts'] as const

/** Oldest first. With a limit, returns the newest messages before the cursor, or the oldest ones without a cursor. */
export async function readTranscript(
  db: DbOrTransaction,
  sessionId: string,
  page: {
    limit?: number | undefined
    cursor?: string | undefined
    from?: 'start' | 'end'
    /** Only messages of earlier starts of the session. */
    beforeGeneration?: number
    /** Only this message and the ones before it. */
    until?: string
  } = {},
): Promise<{ messages: Message[]; next: string | null }> {
  const limit = page.limit ?? messagesMax
  const before = readCursor(page.cursor)
  if (before !== null && !messageId.test(before[1])) throw invalidCursor()
  const ofSession = db
    .selectFrom('session_messages')
    .select(columns)
    .where('session_id', '=', sessionId)
    .where(afterCursor(['created_at', 'message_id'], 'desc', before))
    .$if(page.beforeGeneration !== undefined, (query) => query.where('generation', '<', page.beforeGeneration!))
    .$if(page.until !== undefined, (query) => query.where(isUntil(sessionId, page.until!)))
  if (page.from === 'start') {
    if (before !== null) throw invalidCursor()
    const rows = await ofSession.orderBy('created_at').orderBy('message_id').limit(limit).execute()
    return { messages: rows.map(messageOf), next: null }
  }
  const newest = ofSession.orderBy('created_at', 'desc').orderBy('message_id', 'desc')
  const { rows, next } = cutPage(await newest.limit(limit + 1).execute(), limit, (last) => [
    last.created_at,
    last.message_id,
  ])
  return { messages: rows.reverse().map(messageOf), next }
}

/** No message, when that one is deleted. */
const isUntil = (sessionId: string, messageId: string) => sql<boolean>`(created_at, message_id) <= (
  select created_at, message_id from session_messages where session_id = ${sessionId} and message_id = ${messageId})`

type MessageRow = Omit<Message, 'error_code'> & { error_code: string | null }

/** Servers before 0070 stored only the text. The runtime writes this word for a turn that a person stopped. */
function withErrorCode<Row extends Pick<MessageRow, 'error' | 'error_code'>>({ error_code: stored, ...row }: Row) {
  const code = stored ?? (row.error === 'Aborted' ? abortedCode : null)
  return code === null ? row : { ...row, error_code: code }
}

const messageOf = (row: object) => namePrompt(withErrorCode(row as MessageRow))

/** Whether the agent answered, in this start of the session or in any later one. */
export async function hasAnswer(
  db: DbOrTransaction,
  sessionId: string,
  start: number | { after: number },
): Promise<boolean> {
  const answers = db.selectFrom('session_messages').where('session_id', '=', sessionId).where('role', '=', 'assistant')
  const ofStart =
    typeof start === 'number' ? answers.where('generation', '=', start) : answers.where('generation', '>', start.after)
  return hasRow(ofStart.select('message_id'))
}

/** Oldest first. */
export async function messagesStoredSince(db: DbOrTransaction, sessionId: string, since: Date) {
  const rows = await db
    .selectFrom('session_messages')
    .select([...columns, 'updated_at'])
    .where('session_id', '=', sessionId)
    .where('updated_at', '>=', since.toISOString())
    .orderBy('created_at')
    .orderBy('message_id')
    .limit(messagesMax)
    .execute()
  return rows.map(({ updated_at: at, ...message }) => ({ message: messageOf(message), at: new Date(at) }))
}

export async function upsertMessage(
  db: DbOrTransaction,
  sessionId: string,
  generation: number,
  { message, bytes }: { message: Message; bytes: number },
): Promise<void> {
  const { message_id, role, created_at, completed_at, error, error_code = null } = message
  const content = { completed_at, error, error_code, parts: JSON.stringify(message.parts), bytes }
  await db
    .insertInto('session_messages')
    .values({ session_id: sessionId, message_id, generation, role, created_at, ...content })
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'message_id']).doUpdateSet({ ...content, updated_at: new Date() }),
    )
    .execute()
}

/** The earlier start of the session in which the prompt came into the conversation. */
export async function startWithPrompt(
  db: DbOrTransaction,
  { session_id, before, prompt_id }: { session_id: string; before: number; prompt_id: string },
): Promise<number | null> {
  const end = endOfPromptPart(prompt_id)
  if (end === null) return null
  const found = await db
    .selectFrom('session_messages')
    .select('generation')
    .where((eb) => eb.and({ session_id, role: 'user' }))
    .where('generation', '<', before)
    .where(sql<boolean>`exists (select from jsonb_array_elements(parts) part where part->>'id' like ${`%${end}`})`)
    .executeTakeFirst()
  return found?.generation ?? null
}

/** Shows why the last turn of that start has no end, if it has none and no server saw why. */
export async function failCutTurn(
  db: DbOrTransaction,
  { session_id, generation }: { session_id: string; generation: number },
  reason: string,
): Promise<void> {
  await sql`
    update session_messages set error = ${reason}, error_code = ${sandboxEndedCode}, updated_at = now()
    where session_id = ${session_id} and error is null and (role = 'user' or completed_at is null)
      and message_id = (select message_id from session_messages
        where session_id = ${session_id} and generation = ${generation}
        order by created_at desc, message_id desc limit 1)`.execute(db)
}

export async function failuresOf(db: DbOrTransaction, sessionId: string) {
  const rows = await db
    .selectFrom('session_messages')
    .select(['message_id', 'error', 'error_code'])
    .where('session_id', '=', sessionId)
    .where('error', 'is not', null)
    .execute()
  return rows.map(withErrorCode)
}

/** Rows of older servers have no figure. */
export const rowBytes = sql<number>`coalesce(bytes, pg_column_size(parts))`

export async function messageBytesOf(db: DbOrTransaction, sessionId: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('session_messages')
    .select(['message_id', rowBytes.as('bytes')])
    .where('session_id', '=', sessionId)
    .execute()
  return new Map(rows.map((row) => [row.message_id, row.bytes]))
}
