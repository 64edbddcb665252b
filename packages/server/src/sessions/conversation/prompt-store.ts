import type { Attachment, Prompt, PromptStatus } from '@svc/contract'
import { sql } from 'kysely'
import { afterCursor } from '../../db/after-cursor.ts'
import { isAtHome } from '../../db/home.ts'
import { findRow, insertIfNew, updateRows } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow } from '../../db/schema.ts'
import { cutPage, readIdCursor } from '../../http/page.ts'
import { attachmentsOfPrompt } from '../attachments/store.ts'

export interface PromptError {
  code: string
  message: string
}

/** False when an earlier try inserted it. */
export function insertPrompt(db: DbOrTransaction, row: NewRow<'session_prompts'>): Promise<boolean> {
  return insertIfNew(db, 'session_prompts', row, ['prompt_id'])
}

export interface AcceptedPrompt {
  prompt_id: string
  text: string
  created_at: string
  attachments: Attachment[]
}

interface UndeliveredPrompt extends AcceptedPrompt {
  /** Null for a prompt of an older server, which runs with the agent and the model of the sandbox. */
  agent_name: string | null
  model: string | null
  /** The generation of the sandbox whose agent may have it, since a server began to deliver it. */
  delivery_generation: number | null
}

/** In the order of delivery, oldest first. */
export async function acceptedPrompts(db: DbOrTransaction, sessionId: string): Promise<UndeliveredPrompt[]> {
  return db
    .selectFrom('session_prompts')
    .select(['prompt_id', 'text', 'created_at', 'agent_name', 'model', 'delivery_generation'])
    .select(attachmentsOfPrompt.as('attachments'))
    .where((eb) => eb.and({ session_id: sessionId, status: 'accepted' }))
    .orderBy('created_at')
    .orderBy('prompt_id')
    .execute()
}

export async function sessionsWithAcceptedPrompts(db: DbOrTransaction, home: string | null): Promise<string[]> {
  const { rows } = await sql<{ session_id: string }>`
    select distinct session_id from session_prompts p join project_sessions s using (session_id)
    where p.status = 'accepted' and s.status = 'running' and ${isAtHome(sql.ref('s.project_id'), home)}
    limit 200`.execute(db)
  return rows.map((row) => row.session_id)
}

/** The sandbox that may have the prompt from now on; null when it did not take it. False when the prompt was finished before. */
export async function setDelivery(db: DbOrTransaction, promptId: string, generation: number | null): Promise<boolean> {
  const accepted = { prompt_id: promptId, status: 'accepted' } as const
  return (await updateRows(db, 'session_prompts', accepted, { delivery_generation: generation })) > 0
}

export const cancelledReason = 'Cancelled before the agent received it.'

/** False when the agent may have it already, or when it was finished before. */
export async function cancelWaiting(
  db: DbOrTransaction,
  promptId: string,
  { text, at, generation }: { text: string; at: Date; generation: number },
): Promise<boolean> {
  const waiting = {
    ...{ prompt_id: promptId, status: 'accepted' as const },
    delivery_generation: sql`is distinct from ${generation}`,
  }
  const error = { error: cancelledReason, error_code: 'cancelled' }
  return (await updateRows(db, 'session_prompts', waiting, { status: 'cancelled', text, settled_at: at, ...error })) > 0
}

export async function outcomeOfPrompt(db: DbOrTransaction, promptId: string) {
  const row = await findRow(db, 'session_prompts', { prompt_id: promptId })
  return row === null ? null : { status: row.status, error: presentError(row) }
}

interface FinishedPrompt {
  status: Exclude<PromptStatus, 'accepted'>
  text: string
  error: PromptError | null
  at: Date
}

/** False when the prompt was finished before, for example by a cancellation. */
export async function finishPrompt(
  db: DbOrTransaction,
  promptId: string,
  /** `text`: the redacted text, as the original is needed only until the delivery. */
  { status, text, error, at }: FinishedPrompt,
): Promise<boolean> {
  const open = { prompt_id: promptId, status: 'accepted' } as const
  const times = { delivered_at: status === 'delivered' ? at : null, settled_at: at }
  const set = { status, text, error: error?.message ?? null, error_code: error?.code ?? null, ...times }
  return (await updateRows(db, 'session_prompts', open, set)) > 0
}

/** Newest first. The first prompt has the id of the session. Without attachments it is in the row, because the sandbox boots with it. */
export async function listPrompts(
  db: DbOrTransaction,
  sessionId: string,
  page: { limit: number; cursor?: string | undefined; status?: PromptStatus | 'all' },
): Promise<{ prompts: Prompt[]; next: string | null }> {
  const status = page.status ?? 'all'
  const { rows } = await sql<PromptRow>`
    select * from (
      select prompt_id, text, status::text as status, error, error_code, created_by, created_at,
        coalesce(settled_at, delivered_at) as settled_at, ${attachmentsOfPrompt} as attachments, agent_name, model
      from session_prompts where session_id = ${sessionId}
      union all
      select session_id, initial_prompt,
        case when initial_prompt_delivered_at is null then 'accepted' else 'delivered' end, null, null, created_by,
        created_at, initial_prompt_delivered_at, '[]'::jsonb, null, null
      from project_sessions where session_id = ${sessionId} and initial_prompt is not null
    ) prompts where ${afterCursor(['created_at', 'prompt_id'], 'desc', readIdCursor(page.cursor))}
      and ${status === 'all' ? sql`true` : sql`status = ${status}`}
    order by created_at desc, prompt_id desc limit ${page.limit + 1}`.execute(db)
  const cut = cutPage(rows, page.limit, (last) => [last.created_at, last.prompt_id])
  const prompts = cut.rows.map(({ error, error_code, ...row }) => ({
    ...row,
    error: presentError({ error, error_code }),
  }))
  return { prompts, next: cut.next }
}

/** Null also for the first prompt of a session that boots with it. */
export async function findPrompt(db: DbOrTransaction, sessionId: string, promptId: string): Promise<Prompt | null> {
  const { rows } = await sql<PromptRow>`
    select prompt_id, text, status, error, error_code, created_by, created_at,
      coalesce(settled_at, delivered_at) as settled_at, ${attachmentsOfPrompt} as attachments, agent_name, model
    from session_prompts where session_id = ${sessionId} and prompt_id = ${promptId}`.execute(db)
  const [row] = rows
  if (row === undefined) return null
  const { error, error_code, ...prompt } = row
  return { ...prompt, error: presentError({ error, error_code }) }
}

interface PromptRow extends Omit<Prompt, 'error'> {
  error: string | null
  error_code: string | null
}

/** Older rows have no code. */
function presentError(row: { error: string | null; error_code: string | null }): PromptError | null {
  return row.error === null ? null : { code: row.error_code ?? 'prompt_failed', message: row.error }
}
