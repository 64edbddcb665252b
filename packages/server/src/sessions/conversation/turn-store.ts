/** Finds a turn of a conversation by one of its messages. */
import { sql } from 'kysely'
import type { DbOrTransaction } from '../../db/schema.ts'

export interface FoundTurn {
  /** The last message of the turn. */
  last: string
  /** The start of the session that the turn was in. */
  generation: number
  /**
   * That message and the ones until the agent answers the next prompt, oldest first. The agent changes nothing between
   * them. Those of a later start are left out: its work tree began anew.
   */
  until: string[]
  /** No prompt follows. */
  isNewest: boolean
  /** The last message is of the agent. */
  isAnswered: boolean
}

/** Longer turns are cut, which the caller sees as a turn without an end. */
const messagesMax = 5_000

/** Null when the session has no such message. */
export async function turnWith(db: DbOrTransaction, sessionId: string, messageId: string): Promise<FoundTurn | null> {
  const { rows } = await sql<{ message_id: string; role: 'user' | 'assistant'; generation: number }>`
    select m.message_id, m.role, m.generation from session_messages m
    join session_messages given on given.session_id = m.session_id and given.message_id = ${messageId}
    where m.session_id = ${sessionId}
      and (m.created_at, m.message_id) >= (given.created_at, given.message_id)
    order by m.created_at, m.message_id limit ${messagesMax}`.execute(db)
  if (rows.length === 0) return null
  const next = rows.findIndex(({ role }, at) => at > 0 && role === 'user')
  const ofTurn = next === -1 ? rows : rows.slice(0, next)
  const rest = next === -1 ? [] : rows.slice(next)
  const last = ofTurn.at(-1)!
  const { generation } = last
  const answer = rest.findIndex((row) => row.role === 'assistant' || row.generation !== generation)
  return {
    last: last.message_id,
    generation,
    until: [last, ...(answer === -1 ? rest : rest.slice(0, answer))].map((row) => row.message_id),
    isNewest: next === -1,
    isAnswered: last.role === 'assistant',
  }
}

export async function newestMessageOf(db: DbOrTransaction, sessionId: string): Promise<string | null> {
  const newest = await db
    .selectFrom('session_messages')
    .select('message_id')
    .where('session_id', '=', sessionId)
    .orderBy('created_at', 'desc')
    .orderBy('message_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return newest?.message_id ?? null
}
