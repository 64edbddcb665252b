/** Wakes readers of project events, whichever server wrote them. Readers get the events themselves from the database. */
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Db } from '../db/schema.ts'
import { lastNumbers } from './store.ts'

/** The delay of a lost notification, and the polling interval behind a pooler that carries none. */
const pollMs = 5_000
const reconnectMs = 1_000
const channel = 'svc_project_events'

interface NotifierDeps {
  db: Db
  locks: pg.Pool
  log: Logger
}

export class EventNotifier {
  readonly #deps: NotifierDeps
  readonly #listeners = new Map<string, Set<() => void>>()
  /** The newest known event number per project. */
  #seen = new Map<string, number>()
  #client: pg.PoolClient | null = null
  #timer: NodeJS.Timeout | null = null
  #isClosed = false
  #work: Promise<void> = Promise.resolve()

  constructor(deps: NotifierDeps) {
    this.#deps = deps
  }

  /** `wake` may be called without new events, and is called at least once after every commit from now on. */
  subscribe(projectId: string, wake: () => void): () => void {
    const listeners = this.#listeners.get(projectId) ?? new Set()
    listeners.add(wake)
    this.#listeners.set(projectId, listeners)
    this.#pollSoon(0)
    return () => {
      listeners.delete(wake)
      if (listeners.size > 0) return
      this.#listeners.delete(projectId)
      this.#seen.delete(projectId)
      if (this.#listeners.size === 0) this.#hangUp()
    }
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Wakes all readers, who find it closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const projectId of [...this.#listeners.keys()]) this.#wake(projectId)
    this.#listeners.clear()
    this.#hangUp()
    await this.#work
    this.#hangUp()
  }

  #pollSoon(ms: number): void {
    if (this.#isClosed || this.#listeners.size === 0) return
    if (this.#timer !== null && ms > 0) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#work = this.#work.then(() => this.#poll())
    }, ms)
    this.#timer.unref()
  }

  /** Listens first: later commits notify, and earlier ones are found by the query. */
  async #poll(): Promise<void> {
    if (this.#isClosed || this.#listeners.size === 0) return
    let nextMs = pollMs
    try {
      if (this.#client === null) await this.#dial()
      const last = await lastNumbers(this.#deps.db, [...this.#listeners.keys()])
      for (const [projectId, number] of last) if (this.#seen.get(projectId) !== number) this.#wake(projectId)
      this.#seen = last
    } catch (error) {
      nextMs = reconnectMs
      this.#drop()
      this.#deps.log.debug({ err: error }, 'failed to listen for events in the database; retrying')
    }
    this.#pollSoon(nextMs)
  }

  async #dial(): Promise<void> {
    const client = await this.#deps.locks.connect()
    client.on('notification', ({ payload }) => this.#wake(payload ?? ''))
    client.on('error', (error) => {
      if (this.#client !== client) return
      this.#client = null
      client.release(error)
      this.#pollSoon(0)
    })
    this.#client = client
    await client.query(`listen ${channel}`)
  }

  #hangUp(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#drop()
  }

  /** Ends the connection instead of returning it to the pool: it listens. */
  #drop(): void {
    const client = this.#client
    this.#client = null
    client?.release(true)
  }

  #wake(projectId: string): void {
    for (const wake of this.#listeners.get(projectId) ?? []) wake()
  }
}
