/** Publishes changed messages to the feed, a few times a second. */
import { pause } from '../../pause.ts'
import type { Conversation } from './assemble.ts'
import type { SessionFeed } from './feed.ts'
import { quietMs } from './transcript-redaction.ts'

interface Published {
  sessionId: string
  conversation: Pick<Conversation, 'message' | 'holdsBack'>
  /** Text that was held back may be shown now. */
  changed: (messageId: string) => void
  signal: AbortSignal
}

const feedMs = 40
/** Slightly longer than the quiet time, so that one pass releases the text. */
const releaseMs = quietMs + 10

export class Publisher {
  readonly #feed: SessionFeed
  readonly #of: Published
  readonly #unpublished = new Set<string>()
  #feedTimer: NodeJS.Timeout | null = null
  /** Messages whose last characters are held back until more text or silence follows. */
  readonly #heldBack = new Set<string>()
  #releaseTimer: NodeJS.Timeout | null = null

  constructor(feed: SessionFeed, of: Published) {
    this.#feed = feed
    this.#of = of
  }

  touch(messageId: string): void {
    this.#unpublished.add(messageId)
    this.#feedTimer ??= setTimeout(() => this.publish(), feedMs)
  }

  publish(): void {
    const { sessionId, conversation, signal } = this.#of
    if (this.#feedTimer !== null) clearTimeout(this.#feedTimer)
    this.#feedTimer = null
    for (const messageId of this.#unpublished) {
      const message = conversation.message(messageId)
      if (message !== null) this.#feed.publish(sessionId, { type: 'message', message })
      if (conversation.holdsBack(messageId)) this.#heldBack.add(messageId)
    }
    this.#unpublished.clear()
    if (this.#heldBack.size > 0 && !signal.aborted) this.#releaseTimer ??= setTimeout(() => this.#release(), releaseMs)
  }

  /** Resolves once all text so far was published, including text that is held back. */
  async shown(): Promise<void> {
    if (this.#unpublished.size > 0) this.publish()
    if (this.#heldBack.size > 0) await pause(releaseMs + 2 * feedMs, this.#of.signal)
  }

  /** Publishes what is left, and these messages with it. */
  stop(messageIds: string[]): void {
    if (this.#releaseTimer !== null) clearTimeout(this.#releaseTimer)
    for (const messageId of messageIds) this.#unpublished.add(messageId)
    this.publish()
  }

  /** Text that grew meanwhile is held back again. */
  #release(): void {
    this.#releaseTimer = null
    const messageIds = [...this.#heldBack]
    this.#heldBack.clear()
    for (const messageId of messageIds) if (this.#of.conversation.holdsBack(messageId)) this.#of.changed(messageId)
  }
}
