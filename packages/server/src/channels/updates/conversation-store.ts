/** The turns of a session: each user message and the agent's last response to it. */
import { sql } from 'kysely'
import type { DbOrTransaction } from '../../db/schema.ts'

export interface Turn {
  /** The message that started the turn. */
  message_id: string
  question: string
  /** The agent's last text in the turn, or null. */
  answer: string | null
  /** The error of its last step. */
  error: string | null
}

/** The newest turns, oldest first. Reads only texts: tool output may be megabytes. */
export async function newestTurns(db: DbOrTransaction, sessionId: string, limit: number): Promise<Turn[]> {
  const { rows } = await sql<Turn>`
    with asked as (
      select message_id, created_at, parts, error, lead(created_at) over (order by created_at, message_id) as until
      from (select * from session_messages where session_id = ${sessionId} and role = 'user'
        order by created_at desc, message_id desc limit ${limit}) newest
    )
    select asked.message_id, left(texts.said, 4000) as question, answer.said as answer,
      coalesce(last.error, asked.error) as error
    from asked
    cross join lateral (select coalesce(string_agg(p->>'text', E'\n'), '') as said
      from jsonb_array_elements(asked.parts) p where p->>'type' = 'text') texts
    left join lateral (
      select left(string_agg(p->>'text', E'\n\n'), ${answerCharsMax}::integer) as said
      from session_messages m cross join lateral jsonb_array_elements(m.parts) with ordinality as e(p, n)
      where m.session_id = ${sessionId} and m.role = 'assistant' and m.created_at >= asked.created_at
        and (asked.until is null or m.created_at < asked.until)
        and p->>'type' = 'text' and btrim(p->>'text') <> ''
      group by m.created_at, m.message_id order by m.created_at desc, m.message_id desc limit 1) answer on true
    left join lateral (
      select m.error from session_messages m
      where m.session_id = ${sessionId} and m.role = 'assistant' and m.created_at >= asked.created_at
        and (asked.until is null or m.created_at < asked.until)
      order by m.created_at desc, m.message_id desc limit 1) last on true
    order by asked.created_at, asked.message_id`.execute(db)
  return rows
}

/** Fits into a few chat messages; the session's page shows everything. */
export const answerCharsMax = 8_000
