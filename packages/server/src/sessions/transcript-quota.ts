/** Cuts what is kept of a conversation where its session's quota ends. The session goes on, and readers see it live. */
import { type Message, type MessagePart, sizeText } from '@svc/contract'
import { sql } from 'kysely'
import type { Deps } from '../deps.ts'
import { quotasOf } from '../projects/quotas.ts'
import { getProject } from '../projects/store.ts'
import type { DbOrTransaction } from '../db/schema.ts'

/** For the mark, and for the ends of messages that are cut. */
const reservedBytes = 1024

/** Rows of older servers have no figure. */
const rowBytes = sql<number>`coalesce(bytes, pg_column_size(parts))`

export class TranscriptQuota {
  readonly #quotaBytes: number
  /** What each message counts as. */
  readonly #kept: Map<string, number>
  #bytes: number
  #cut: { messageId: string; parts: MessagePart[] } | null = null

  /** As the database has the session by now. */
  static async open(db: DbOrTransaction, config: Deps['config'], sessionId: string): Promise<TranscriptQuota> {
    const session = await db
      .selectFrom('project_sessions')
      .select('project_id')
      .where('session_id', '=', sessionId)
      .executeTakeFirst()
    const project = session === undefined ? null : await getProject(db, session.project_id)
    const { transcriptBytes } = project === null ? config.quotas : quotasOf(config, project)
    const rows = await db
      .selectFrom('session_messages')
      .select(['message_id', rowBytes.as('bytes')])
      .where('session_id', '=', sessionId)
      .execute()
    return new TranscriptQuota(transcriptBytes, new Map(rows.map((row) => [row.message_id, row.bytes])))
  }

  constructor(quotaBytes: number, kept: Map<string, number>) {
    this.#quotaBytes = quotaBytes
    this.#kept = kept
    this.#bytes = [...kept.values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  /** The message as it is kept: whole, cut where the quota ends, or null once nothing more is. */
  fit(message: Message): { message: Message; bytes: number } | null {
    const { message_id: id } = message
    const others = this.#bytes - (this.#kept.get(id) ?? 0)
    if (this.#cut?.messageId === id)
      return this.#settle({ ...message, parts: this.#cut.parts }, this.#quotaBytes - others)
    const left = this.#quotaBytes - reservedBytes - others
    const bytes = bytesOf(message.parts)
    if (bytes <= left) return this.#settle(message, bytes)
    // The one that is cut fills the quota up, so this is a later one, or a restart after it.
    if (left < 0) return null
    const parts = [...cutParts(message.parts, left), this.#mark(message)]
    this.#cut = { messageId: id, parts }
    return this.#settle({ ...message, parts }, this.#quotaBytes - others)
  }

  #settle(message: Message, bytes: number): { message: Message; bytes: number } {
    this.#bytes += bytes - (this.#kept.get(message.message_id) ?? 0)
    this.#kept.set(message.message_id, bytes)
    return { message, bytes }
  }

  #mark({ message_id }: Message): MessagePart {
    const text = `The transcript is full (${sizeText(this.#quotaBytes)}). What follows is not kept; the session goes on.`
    return { type: 'text', id: `${message_id}-full`, text }
  }
}

function cutParts(parts: MessagePart[], bytesMax: number): MessagePart[] {
  const kept: MessagePart[] = []
  let left = bytesMax
  for (const part of parts) {
    const bytes = bytesOf([part])
    if (bytes <= left) {
      kept.push(part)
      left -= bytes
      continue
    }
    if (part.type !== 'tool' && left > reservedBytes) {
      const text = Buffer.from(part.text)
        .subarray(0, Math.floor(left / 2))
        .toString('utf8')
        .toWellFormed()
      kept.push({ ...part, text: `${text}\n… cut here` })
    }
    return kept
  }
  return kept
}

const bytesOf = (parts: object[]) => Buffer.byteLength(JSON.stringify(parts))

/** What the transcripts of a project's sessions take. */
export async function transcriptBytesOf(db: DbOrTransaction, projectId: string): Promise<number> {
  const row = await db
    .selectFrom('session_messages')
    .innerJoin('project_sessions', 'project_sessions.session_id', 'session_messages.session_id')
    .select(sql<number>`coalesce(sum(${rowBytes}), 0)::bigint`.as('bytes'))
    .where('project_sessions.project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  return Number(row.bytes)
}
