/** Wakes whoever waits for events of a project, whichever server wrote them. What happened is read from the database. */
import type pg from 'pg'
import type { Deps } from '../deps.ts'
import { lastNumbers } from './store.ts'

/** What a lost notification costs, and what a database behind a pooler that carries none is read by. */
const lookMs = 5_000
const reconnectMs = 1_000
const channel = 'svc_project_events'

export class EventWire {
  readonly #deps: Pick<Deps, 'db' | 'locks' | 'log'>
  readonly #listeners = new Map<string, Set<() => void>>()
  /** The newest number each project was seen to have. */
  #seen = new Map<string, number>()
  #client: pg.PoolClient | null = null
  #timer: NodeJS.Timeout | null = null
  #isClosed = false
  #work: Promise<void> = Promise.resolve()

  constructor(deps: Pick<Deps, 'db' | 'locks' | 'log'>) {
    this.#deps = deps
  }

  /** `wake` may come more often than there is news, and comes at least once after whatever commits from now on. */
  subscribe(projectId: string, wake: () => void): () => void {
    const listeners = this.#listeners.get(projectId) ?? new Set()
    listeners.add(wake)
    this.#listeners.set(projectId, listeners)
    this.#lookSoon(0)
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

  /** Everybody is woken and finds it closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const projectId of [...this.#listeners.keys()]) this.#wake(projectId)
    this.#listeners.clear()
    this.#hangUp()
    await this.#work
    this.#hangUp()
  }

  #lookSoon(ms: number): void {
    if (this.#isClosed || this.#listeners.size === 0) return
    if (this.#timer !== null && ms > 0) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#work = this.#work.then(() => this.#look())
    }, ms)
    this.#timer.unref()
  }

  /** Listens first: what commits after that is told, and what committed before is found by looking. */
  async #look(): Promise<void> {
    if (this.#isClosed || this.#listeners.size === 0) return
    let nextMs = lookMs
    try {
      if (this.#client === null) await this.#dial()
      const last = await lastNumbers(this.#deps.db, [...this.#listeners.keys()])
      for (const [projectId, number] of last) if (this.#seen.get(projectId) !== number) this.#wake(projectId)
      this.#seen = last
    } catch (error) {
      nextMs = reconnectMs
      this.#drop()
      this.#deps.log.debug({ err: error }, 'the database does not tell of events; it is asked again')
    }
    this.#lookSoon(nextMs)
  }

  async #dial(): Promise<void> {
    const client = await this.#deps.locks.connect()
    client.on('notification', ({ payload }) => this.#wake(payload ?? ''))
    client.on('error', (error) => {
      if (this.#client !== client) return
      this.#client = null
      client.release(error)
      this.#lookSoon(0)
    })
    this.#client = client
    await client.query(`listen ${channel}`)
  }

  #hangUp(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#drop()
  }

  /** The connection is ended and not given back: it listens. */
  #drop(): void {
    const client = this.#client
    this.#client = null
    client?.release(true)
  }

  #wake(projectId: string): void {
    for (const wake of this.#listeners.get(projectId) ?? []) wake()
  }
}
