import type { SessionEvent } from '@svc/contract'

type Listener = (event: SessionEvent) => void

/** Publishes the events of sessions on this server to current listeners. It stores nothing: a new listener reads the database first. */
export class SessionFeed {
  readonly #listeners = new Map<string, Set<Listener>>()

  publish(sessionId: string, event: SessionEvent): void {
    for (const listener of this.#listeners.get(sessionId) ?? []) listener(event)
  }

  subscribe(sessionId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(sessionId) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(sessionId, listeners)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(sessionId)
    }
  }
}
