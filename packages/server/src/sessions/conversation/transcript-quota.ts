/** Limits the stored transcript of a session. Beyond the limit the session continues, and readers see it live. */
import { type Message, type MessagePart, sizeText } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { quotasOf } from '../../projects/quotas.ts'
import { getProjectOrDeleted } from '../../projects/store.ts'
import { getSessionById } from '../store.ts'
import { messageBytesOf } from './message-store.ts'
import type { DbOrTransaction } from '../../db/schema.ts'

/** Space for the notice and the ends of cut messages. */
const reservedBytes = 1024

export class TranscriptQuota {
  readonly #quotaBytes: number
  readonly #stored: Map<string, number>
  #bytes: number
  #cut: { messageId: string; parts: MessagePart[] } | null = null

  static async open(db: DbOrTransaction, config: Deps['config'], sessionId: string): Promise<TranscriptQuota> {
    const session = await getSessionById(db, sessionId)
    const project = session === null ? null : await getProjectOrDeleted(db, session.project_id)
    const { transcriptBytes } = project === null ? config.quotas : quotasOf(config, project)
    return new TranscriptQuota(transcriptBytes, await messageBytesOf(db, sessionId))
  }

  constructor(quotaBytes: number, stored: Map<string, number>) {
    this.#quotaBytes = quotaBytes
    this.#stored = stored
    this.#bytes = [...stored.values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  /** The message to store: whole, cut at the quota, or null beyond it. */
  fit(message: Message): { message: Message; bytes: number } | null {
    const { message_id: id } = message
    const others = this.#bytes - (this.#stored.get(id) ?? 0)
    if (this.#cut?.messageId === id)
      return this.#count({ ...message, parts: this.#cut.parts }, this.#quotaBytes - others)
    const left = this.#quotaBytes - reservedBytes - others
    const bytes = bytesOf(message.parts)
    if (bytes <= left) return this.#count(message, bytes)
    // The cut message fills the quota, so this is a later message, or the process restarted after it.
    if (left < 0) return null
    const parts = [...cutParts(message.parts, left), this.#notice(message)]
    this.#cut = { messageId: id, parts }
    return this.#count({ ...message, parts }, this.#quotaBytes - others)
  }

  #count(message: Message, bytes: number): { message: Message; bytes: number } {
    this.#bytes += bytes - (this.#stored.get(message.message_id) ?? 0)
    this.#stored.set(message.message_id, bytes)
    return { message, bytes }
  }

  #notice({ message_id }: Message): MessagePart {
    const text = `The transcript is full (${sizeText(this.#quotaBytes)}). Later messages are not stored; the session continues.`
    return { type: 'text', id: `${message_id}-full`, text }
  }
}

function cutParts(parts: MessagePart[], bytesMax: number): MessagePart[] {
  const fitting: MessagePart[] = []
  let left = bytesMax
  for (const part of parts) {
    const bytes = bytesOf([part])
    if (bytes <= left) {
      fitting.push(part)
      left -= bytes
      continue
    }
    if ('text' in part && left > reservedBytes) {
      const text = Buffer.from(part.text)
        .subarray(0, Math.floor(left / 2))
        .toString('utf8')
        .toWellFormed()
      fitting.push({ ...part, text: `${text}\n… cut here` })
    }
    return fitting
  }
  return fitting
}

const bytesOf = (parts: object[]) => Buffer.byteLength(JSON.stringify(parts))
