import type { Attachment } from '@svc/contract'
import { type RawBuilder, sql } from 'kysely'
import { firstRow, insertRow } from '../../db/rows.ts'
import type { DbOrTransaction } from '../../db/schema.ts'

export interface StoredAttachment extends Attachment {
  content: Buffer
}

export async function insertAttachments(
  db: DbOrTransaction,
  of: { session_id: string; prompt_id: string },
  attachments: StoredAttachment[],
): Promise<void> {
  for (const [position, attachment] of attachments.entries())
    await insertRow(db, 'session_attachments', { ...of, ...attachment, position })
}

/** A column of `session_prompts`: the attachments of the prompt, in order. */
export const attachmentsOfPrompt: RawBuilder<Attachment[]> = sql`
  coalesce((
    select jsonb_agg(jsonb_build_object('attachment_id', attachment_id, 'name', name, 'bytes', bytes,
      'content_type', content_type) order by position)
    from session_attachments where session_attachments.session_id = session_prompts.session_id
      and session_attachments.prompt_id = session_prompts.prompt_id), '[]'::jsonb)`

const columns = ['attachment_id', 'name', 'bytes', 'content_type'] as const

function selectAttachment(db: DbOrTransaction, sessionId: string, attachmentId: string) {
  return db
    .selectFrom('session_attachments')
    .select(columns)
    .where((eb) => eb.and({ session_id: sessionId, attachment_id: attachmentId }))
}

export function attachmentOf(db: DbOrTransaction, sessionId: string, attachmentId: string) {
  return firstRow(selectAttachment(db, sessionId, attachmentId).select('content'))
}

export function attachmentWithoutContent(db: DbOrTransaction, sessionId: string, attachmentId: string) {
  return firstRow(selectAttachment(db, sessionId, attachmentId))
}

const pieceBytes = 256 * 1024

/** Reads one piece per pull, so that a stalled reader holds one piece and no connection. */
export async function* contentOf(
  db: DbOrTransaction,
  { attachment_id, bytes }: Attachment,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < bytes; at += pieceBytes) {
    const { piece } = await db
      .selectFrom('session_attachments')
      .select(sql<Buffer>`substring(content from ${at + 1}::integer for ${pieceBytes}::integer)`.as('piece'))
      .where('attachment_id', '=', attachment_id)
      .executeTakeFirstOrThrow()
    yield new Uint8Array(piece)
  }
}

export async function attachmentsOfSession(db: DbOrTransaction, sessionId: string): Promise<Attachment[]> {
  return db.selectFrom('session_attachments').select(columns).where('session_id', '=', sessionId).execute()
}

export async function attachmentBytesOf(db: DbOrTransaction, sessionId: string): Promise<number> {
  const row = await db
    .selectFrom('session_attachments')
    .select(sql<string>`coalesce(sum(bytes), 0)::bigint`.as('bytes'))
    .where('session_id', '=', sessionId)
    .executeTakeFirstOrThrow()
  return Number(row.bytes)
}
