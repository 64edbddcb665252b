/** Tool calls of stored transcripts, without what they printed. Reads the newest part of long ones. */
import type { MessagePart } from '@svc/contract'
import { writingTools } from '@svc/contract/schemas/file-writes'
import { sql } from 'kysely'
import type { DbOrTransaction } from '../../db/schema.ts'
import { rowBytes } from './message-store.ts'

type Steps = NonNullable<Extract<MessagePart, { type: 'tool' }>['steps']>

export interface StoredToolCall {
  session_id: string
  message_id: string
  call_id: string
  tool: string
  status: 'completed' | 'error'
  title: string
  input: string
  diff: string | null
  steps: Steps | null
  /** Of its message, which the runtime begins for each step of an answer. */
  started_at: Date
  ended_at: Date | null
}

/** A long transcript is read from its end. */
const readBytesMax = 64 * 1024 * 1024
const callsMax = 2_000
const callCharsMax = 16 * 1024 * 1024
const commandCharsMax = 4_000

/** Completed calls that write files and whose input has one of the texts, oldest first. */
export function writesNaming(db: DbOrTransaction, sessionIds: string[], texts: string[]) {
  const named = (field: string) =>
    sql`exists (select from unnest(${texts}::text[]) as named(text) where strpos(p->>${field}, named.text) > 0)`
  return callsWhere(
    db,
    sessionIds,
    sql`p->>'tool' = any(${writingTools}::text[]) and p->>'status' = 'completed' and ${named('input')}`,
    sql`p->>'input'`,
  )
}

/** Commands, and calls of sub-agents with a step that names one of the texts, oldest first. Their inputs are cut. */
export function commandsAndSubAgents(db: DbOrTransaction, sessionIds: string[], texts: string[]) {
  const named = sql`exists (
    select from unnest(${texts}::text[]) as named(text) where strpos((p->'steps')::text, named.text) > 0)`
  return callsWhere(
    db,
    sessionIds,
    sql`p->>'status' in ('completed', 'error') and (p->>'tool' = 'bash' or (p ? 'steps' and ${named}))`,
    sql`left(p->>'input', ${commandCharsMax}::integer)`,
  )
}

async function callsWhere(
  db: DbOrTransaction,
  sessionIds: string[],
  condition: ReturnType<typeof sql>,
  input: ReturnType<typeof sql>,
): Promise<{ calls: StoredToolCall[]; truncated: boolean }> {
  if (sessionIds.length === 0) return { calls: [], truncated: false }
  const { rows } = await sql<StoredToolCall & { is_cut: boolean; chars: string }>`
    with newest as (
      select session_id, message_id, created_at, completed_at, parts,
        sum(${rowBytes}) over (order by created_at desc, message_id desc) as read_bytes
      from session_messages
      where session_id = any(${sessionIds}::uuid[]) and role = 'assistant'
    ), found as (
      select session_id, message_id, p->>'id' as call_id, p->>'tool' as tool, p->>'status' as status,
        left(p->>'title', 500) as title, ${input} as input, p->>'diff' as diff, p->'steps' as steps,
        created_at as started_at, completed_at as ended_at, n
      from newest cross join lateral jsonb_array_elements(parts) with ordinality as e(p, n)
      where read_bytes <= ${readBytesMax} and p->>'type' = 'tool' and ${condition}
      order by created_at desc, message_id desc, n desc
      limit ${callsMax + 1}
    )
    select *, (select max(read_bytes) > ${readBytesMax} from newest) as is_cut from (
      select *, sum(length(input) + coalesce(length(diff), 0))
        over (order by started_at desc, message_id desc, n desc) as chars
      from found
    ) counted
    where chars <= ${callCharsMax}
    order by started_at, message_id, n`.execute(db)
  const calls = rows.slice(-callsMax).map(({ is_cut: _isCut, chars: _chars, ...call }) => ({
    ...call,
    started_at: new Date(call.started_at),
    ended_at: call.ended_at === null ? null : new Date(call.ended_at),
  }))
  return { calls, truncated: rows.length > callsMax || rows.some(({ is_cut }) => is_cut) }
}

export interface StoredPrompt {
  session_id: string
  message_id: string
  text: string
  at: Date
}

const promptsMax = 2_000

/** The prompts of these sessions, oldest first, each cut to `charsMax`. */
export async function promptTexts(
  db: DbOrTransaction,
  sessionIds: string[],
  charsMax: number,
): Promise<StoredPrompt[]> {
  if (sessionIds.length === 0) return []
  const { rows } = await sql<StoredPrompt>`
    select session_id, message_id, created_at as at, texts.said as text
    from (
      select session_id, message_id, created_at, parts,
        sum(${rowBytes}) over (order by created_at desc, message_id desc) as read_bytes
      from session_messages
      where session_id = any(${sessionIds}::uuid[]) and role = 'user'
      order by created_at desc, message_id desc limit ${promptsMax}
    ) newest
    cross join lateral (select left(coalesce(string_agg(p->>'text', E'\n'), ''), ${charsMax}::integer) as said
      from jsonb_array_elements(parts) p where p->>'type' = 'text') texts
    where read_bytes <= ${readBytesMax}
    order by created_at, message_id`.execute(db)
  return rows.map((row) => ({ ...row, at: new Date(row.at) }))
}
