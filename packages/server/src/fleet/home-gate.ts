/**
 * Holds new writes to a project that is about to leave this server, and counts those that it still answers. Only the
 * database decides what is acknowledged (projects/home-store.ts); this turns refusals into a short wait.
 */
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** A notification can be lost. */
const lookEveryMs = 250

export class HomeGate {
  readonly #writes = new Map<string, number>()
  readonly #closed = new Set<string>()
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #listeners = new Set<(projectId: string) => void>()

  isClosed(projectId: string): boolean {
    return this.#closed.has(projectId)
  }

  /** From here on no request begins to write before it has asked the database. */
  close(projectId: string): void {
    this.#closed.add(projectId)
    this.changed(projectId)
  }

  open(projectId: string): void {
    if (this.#closed.delete(projectId)) this.changed(projectId)
  }

  get closed(): string[] {
    return [...this.#closed]
  }

  /** Counts a write until its response ends. */
  begin(projectId: string, response: Pick<ServerResponse, 'once' | 'destroyed' | 'writableFinished'>): void {
    // Its client left while it waited.
    if (response.destroyed || response.writableFinished) return
    this.#writes.set(projectId, (this.#writes.get(projectId) ?? 0) + 1)
    response.once('close', () => {
      const left = (this.#writes.get(projectId) ?? 1) - 1
      if (left > 0) this.#writes.set(projectId, left)
      else this.#writes.delete(projectId)
      this.#wake(projectId)
    })
  }

  writesOf(projectId: string): number {
    return this.#writes.get(projectId) ?? 0
  }

  /** The home of the project, or its state, has changed in the database. */
  changed(projectId: string): void {
    for (const listener of this.#listeners) listener(projectId)
    this.#wake(projectId)
  }

  onChange(listener: (projectId: string) => void): void {
    this.#listeners.add(listener)
  }

  /** Resolves when something about the project changed, and sometimes earlier. */
  async pause(projectId: string): Promise<void> {
    const woken = Promise.withResolvers<void>()
    const waiting = this.#waiting.get(projectId) ?? new Set()
    this.#waiting.set(projectId, waiting.add(woken.resolve))
    await Promise.race([woken.promise, delay(lookEveryMs)])
    waiting.delete(woken.resolve)
    if (waiting.size === 0) this.#waiting.delete(projectId)
  }

  /** False when it is still not so after `ms`. */
  async until(projectId: string, ms: number, isSo: () => boolean | Promise<boolean>): Promise<boolean> {
    const deadline = performance.now() + ms
    while (!(await isSo())) {
      if (performance.now() >= deadline) return false
      await this.pause(projectId)
    }
    return true
  }

  #wake(projectId: string): void {
    for (const wake of this.#waiting.get(projectId) ?? []) wake()
  }
}
