/** Wakes jobs when rows they work on change, on this server or another. Jobs read what to do from the database. */
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Deps } from '../deps.ts'
import { pause } from '../pause.ts'
import { type Changed, Inbox } from './inbox.ts'
import { sendProbe } from './instance-store.ts'

/** A table whose triggers notify. `project_events`: a project has a new event. */
export type Topic =
  | 'app_deploys'
  | 'apps'
  | 'change_requests'
  | 'channel_events'
  | 'channel_messages'
  | 'channel_threads'
  | 'channels'
  | 'check_runs'
  | 'connectors'
  | 'default_branches'
  | 'host_landings'
  | 'project_events'
  | 'project_looks'
  | 'project_moves'
  | 'project_sessions'
  | 'projects'
  | 'server_instances'
  | 'session_prompts'
  | 'session_questions'
  | 'session_wip'
  | 'triggers'
  | 'wanted_change_request_facts'
  | 'warm_sandboxes'
  | 'webhook_deliveries'
  | 'webhooks'

const jobsChannel = 'svc_jobs'
const eventsChannel = 'svc_project_events'
const probe = 'probe'
/** A connection that died without a word is noticed after this time. */
const probeMs = 60_000
const answerMsMax = 5_000
const reconnectMs = 1_000
/** Behind a pooler that carries no notifications. */
const deafMs = 120_000

type WakerDeps = Pick<Deps, 'db' | 'locks' | 'log'>

export class JobWaker {
  readonly #deps: WakerDeps
  readonly #inboxes = new Map<string, Set<Inbox>>()
  #heard: { nonce: string; resolve: () => void } | null = null
  #isListening = false
  #isKnownDeaf = false

  constructor(deps: WakerDeps) {
    this.#deps = deps
  }

  /** Whether notifications arrive. Otherwise each job polls at its shortest interval. */
  get isListening(): boolean {
    return this.#isListening
  }

  inboxOf(topics: readonly Topic[]): Inbox {
    const inbox = new Inbox()
    for (const topic of topics) this.#inboxes.set(topic, (this.#inboxes.get(topic) ?? new Set()).add(inbox))
    return inbox
  }

  /** For what this server notices by itself, in one project or in all. */
  wake(topic: Topic, projectId: string | null = null): void {
    this.#put(topic, projectId)
  }

  /** Listens until the signal aborts, and replaces a connection that is lost. */
  async listen(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const end = await this.#listenOnce(signal).catch((error: unknown) => {
        this.#deps.log.debug({ err: error }, 'failed to listen for changed rows; jobs poll meanwhile')
        return 'lost' as const
      })
      this.#setListening(false)
      await pause(end === 'deaf' ? deafMs : reconnectMs, signal)
    }
  }

  async #listenOnce(signal: AbortSignal): Promise<'lost' | 'deaf'> {
    const client = await this.#deps.locks.connect()
    const lost = new AbortController()
    client.on('error', () => lost.abort())
    client.on('notification', (message) => this.#onNotification(message))
    const over = AbortSignal.any([signal, lost.signal])
    try {
      for (const channel of [jobsChannel, eventsChannel]) await client.query(`listen ${channel}`)
      while (!over.aborted) {
        if (!(await this.#isHeard(over))) return over.aborted ? 'lost' : this.#onDeaf()
        this.#setListening(true)
        await pause(probeMs, over)
      }
      return 'lost'
    } finally {
      // Not back to the pool: it listens.
      client.release(true)
    }
  }

  /** Sends a notification over another connection and waits for it. A pooler accepts LISTEN and carries nothing. */
  async #isHeard(over: AbortSignal): Promise<boolean> {
    const arrived = new AbortController()
    const nonce = randomUUID()
    this.#heard = { nonce, resolve: () => arrived.abort() }
    await sendProbe(this.#deps.db, jobsChannel, `${probe} ${nonce}`)
    await pause(answerMsMax, AbortSignal.any([over, arrived.signal]))
    return arrived.signal.aborted
  }

  #onDeaf(): 'deaf' {
    if (!this.#isKnownDeaf)
      this.#deps.log.info('the database connection carries no notifications, as behind a pooler; jobs poll instead')
    this.#isKnownDeaf = true
    return 'deaf'
  }

  #onNotification({ channel, payload = '' }: pg.Notification): void {
    if (channel === eventsChannel) return this.#put('project_events', payload)
    const [topic = '', key] = payload.split(' ')
    if (topic === probe && key === this.#heard?.nonce) return this.#heard?.resolve()
    this.#put(topic, key ?? null)
  }

  #put(topic: string, key: string | null): void {
    for (const inbox of this.#inboxes.get(topic) ?? []) inbox.put(key === null ? 'all' : new Set([key]))
  }

  /** Without a listener the server missed changes, so every job runs. */
  #setListening(isListening: boolean): void {
    if (this.#isListening === isListening) return
    this.#isListening = isListening
    const everything: Changed = 'all'
    for (const inboxes of this.#inboxes.values()) for (const inbox of inboxes) inbox.put(everything)
  }
}
