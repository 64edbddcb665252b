import type { SessionEvent } from '@svc/contract'

type Listener = (event: SessionEvent) => void

/** Publishes the events of sessions on this server to current listeners. It stores nothing: a new listener reads the database first. */
export class SessionFeed {
  readonly #listeners = new Map<string, Map<Listener, () => void>>()
  #isClosed = false

  publish(sessionId: string, event: SessionEvent): void {
    for (const listener of this.#listeners.get(sessionId)?.keys() ?? []) listener(event)
  }

  /** `ended` is called when the server stops and nothing more is published. */
  subscribe(sessionId: string, listener: Listener, ended: () => void = () => {}): () => void {
    const listeners = this.#listeners.get(sessionId) ?? new Map<Listener, () => void>()
    listeners.set(listener, ended)
    this.#listeners.set(sessionId, listeners)
    if (this.#isClosed) ended()
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(sessionId)
    }
  }

  /** Ends the readers of a session whose project has another home, where they read on. */
  end(sessionId: string): void {
    for (const ended of [...(this.#listeners.get(sessionId)?.values() ?? [])]) ended()
  }

  /** Ends every reader, which reads on from the next server. */
  close(): void {
    this.#isClosed = true
    for (const ended of [...this.#listeners.values()].flatMap((listeners) => [...listeners.values()])) ended()
  }
}
