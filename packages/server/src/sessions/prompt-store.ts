/** All SQL on the prompts of sessions. */
import type { Prompt, PromptStatus } from '@svc/contract'
import { type RawBuilder, sql } from 'kysely'
import type { DbOrTransaction, NewRow } from '../db/schema.ts'
import { cutPage, readIdCursor } from '../http/page.ts'

export interface PromptError {
  code: string
  message: string
}

export async function insertPrompt(db: DbOrTransaction, row: NewRow<'session_prompts'>): Promise<void> {
  await db
    .insertInto('session_prompts')
    .values(row)
    .onConflict((conflict) => conflict.column('prompt_id').doNothing())
    .execute()
}

export interface AcceptedPrompt {
  prompt_id: string
  text: string
  created_at: string
}

/** Oldest first, as they are delivered. */
export async function acceptedPrompts(db: DbOrTransaction, sessionId: string): Promise<AcceptedPrompt[]> {
  return db
    .selectFrom('session_prompts')
    .select(['prompt_id', 'text', 'created_at'])
    .where('session_id', '=', sessionId)
    .where('status', '=', 'accepted')
    .orderBy('created_at')
    .orderBy('prompt_id')
    .execute()
}

export async function sessionsWithAcceptedPrompts(db: DbOrTransaction): Promise<string[]> {
  const rows = await db
    .selectFrom('session_prompts')
    .innerJoin('project_sessions', 'project_sessions.session_id', 'session_prompts.session_id')
    .select('session_prompts.session_id')
    .where('session_prompts.status', '=', 'accepted')
    .where('project_sessions.status', '=', 'running')
    .groupBy('session_prompts.session_id')
    .limit(200)
    .execute()
  return rows.map((row) => row.session_id)
}

export async function outcomeOfPrompt(
  db: DbOrTransaction,
  promptId: string,
): Promise<{ status: PromptStatus; error: PromptError | null } | null> {
  const row = await db
    .selectFrom('session_prompts')
    .select(['status', 'error', 'error_code'])
    .where('prompt_id', '=', promptId)
    .executeTakeFirst()
  return row === undefined ? null : { status: row.status, error: presentError(row) }
}

/** False when it was settled before, as by a person who took it back. */
export async function settlePrompt(
  db: DbOrTransaction,
  promptId: string,
  /** `text` is what is kept: the original is needed only until the delivery. */
  result: { status: Exclude<PromptStatus, 'accepted'>; text: string; error: PromptError | null; at: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('session_prompts')
    .set({
      status: result.status,
      text: result.text,
      error: result.error?.message ?? null,
      error_code: result.error?.code ?? null,
      delivered_at: result.status === 'delivered' ? result.at : null,
      settled_at: result.at,
    })
    .where('prompt_id', '=', promptId)
    .where('status', '=', 'accepted')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Newest first. The first prompt of a session is in the session's row, because its sandbox boots with it, and is named by
 * the session's id.
 */
export async function listPrompts(
  db: DbOrTransaction,
  sessionId: string,
  page: { limit: number; cursor?: string | undefined },
): Promise<{ prompts: Omit<Prompt, 'attachments'>[]; next: string | null }> {
  const after = readIdCursor(page.cursor)
  const older: RawBuilder<unknown> =
    after === null ? sql`` : sql`where (created_at, prompt_id) < (${after[0]}::timestamptz, ${after[1]}::uuid)`
  const { rows } = await sql<PromptRow>`
    select * from (
      select prompt_id, text, status::text as status, error, error_code, created_by, created_at,
        coalesce(settled_at, delivered_at) as settled_at
      from session_prompts where session_id = ${sessionId}
      union all
      select session_id, initial_prompt,
        case when initial_prompt_delivered_at is null then 'accepted' else 'delivered' end, null, null, created_by,
        created_at, initial_prompt_delivered_at
      from project_sessions where session_id = ${sessionId} and initial_prompt is not null
    ) prompts ${older}
    order by created_at desc, prompt_id desc limit ${page.limit + 1}`.execute(db)
  const cut = cutPage(rows, page.limit, (last) => [last.created_at, last.prompt_id])
  const prompts = cut.rows.map(({ error, error_code, ...row }) => ({
    ...row,
    error: presentError({ error, error_code }),
  }))
  return { prompts, next: cut.next }
}

interface PromptRow extends Omit<Prompt, 'error' | 'attachments'> {
  error: string | null
  error_code: string | null
}

/** Rows of older servers have no code. */
function presentError(row: { error: string | null; error_code: string | null }): PromptError | null {
  return row.error === null ? null : { code: row.error_code ?? 'prompt_failed', message: row.error }
}
