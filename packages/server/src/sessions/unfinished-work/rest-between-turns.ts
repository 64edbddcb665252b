import type { SessionEvent } from '@svc/contract'

/**
 * Whether the agent rests, and after which message, by the events of a session. What the work tree has then is the work of
 * the turns so far. A prompt that no answer follows yet belongs to that rest: the agent changed nothing for it.
 */
export class RestBetweenTurns {
  #newest: { id: string; at: string } | null = null
  #isResting = false
  /** It has a prompt whose turn is not over. The events of that turn may come late. */
  #isAtWork = false
  #keptAfter: string | null = null

  /** The newest message; null while the agent may change files, and before the first event. */
  get after(): string | null {
    return this.#isResting && !this.#isAtWork ? (this.#newest?.id ?? null) : null
  }

  /** The work up to this rest was not kept yet. */
  get isUnkept(): boolean {
    return this.after !== null && this.after !== this.#keptAfter
  }

  kept(messageId: string): void {
    this.#keptAfter = messageId
  }

  /** The turn is over, though its end may not be published because the next prompt waits. */
  begins(): void {
    this.#isResting = true
    this.#isAtWork = false
  }

  /** The agent gets a prompt now. */
  delivers(): void {
    this.#isAtWork = true
  }

  take(event: SessionEvent): void {
    if (event.type === 'turn') {
      // `busy` comes before the agent has the prompt.
      if (event.status !== 'busy') this.begins()
      return
    }
    if (event.type !== 'message') return
    const { message_id: id, created_at: at, role } = event.message
    if (id === this.#newest?.id || (this.#newest !== null && at < this.#newest.at)) return
    this.#newest = { id, at }
    this.#isResting = role === 'user'
  }
}
