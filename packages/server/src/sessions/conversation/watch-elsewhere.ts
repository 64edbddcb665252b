/** Watches a session that another server runs, through the database, where that server stores changes within a second. */
import type { Message, Session, SessionEvent } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { isAtWork } from './at-work.ts'
import { getSession, type SessionWithSandbox } from '../store.ts'
import { presentSession } from '../present.ts'
import { messagesStoredSince } from './message-store.ts'

const liveMs = 500
const stoppedMs = 2_000

type WatchDeps = Pick<Deps, 'db' | 'sessions' | 'config' | 'log'>

export class ElsewhereWatch {
  readonly #deps: WatchDeps
  readonly #session: SessionWithSandbox
  readonly #send: (event: SessionEvent) => void
  #timer: NodeJS.Timeout | null = null
  #isStopped = false
  /** The state that was sent to the reader last, from here or from the feed of this server. */
  #sent = { session: '', turn: '' }
  /** The messages stored at `at`, which the next read may return again. */
  #seen = { at: new Date(0), messages: new Map<string, string>() }

  constructor(deps: WatchDeps, session: SessionWithSandbox, send: (event: SessionEvent) => void) {
    this.#deps = deps
    this.#session = session
    this.#send = send
  }

  start(): void {
    this.#seen.at = new Date(Date.now() - 2_000)
    this.#schedule(liveMs)
  }

  stop(): void {
    this.#isStopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** Records events from other sources, so that no state is sent twice. */
  note(event: SessionEvent): void {
    if (event.type === 'session') this.#sent.session = gist(event.session)
    else if (event.type === 'turn') this.#sent.turn = event.status === 'busy' ? 'busy' : 'idle'
  }

  #schedule(ms: number): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => void this.#pollAndSchedule(), ms)
  }

  async #pollAndSchedule(): Promise<void> {
    let ms = stoppedMs
    try {
      ms = await this.#poll()
    } catch (error) {
      this.#deps.log.warn({ err: error, session_id: this.#session.session_id }, 'polling a session failed')
    }
    this.#schedule(ms)
  }

  async #poll(): Promise<number> {
    const { db, sessions, config } = this.#deps
    const { session_id: sessionId, project_id: projectId } = this.#session
    // This server runs the sandbox, and its follower publishes sooner.
    if (sessions.daemonOf(sessionId) !== null) return liveMs
    const session = await getSession(db, projectId, sessionId)
    if (session === null) return stoppedMs
    // Read before the messages: the end of a turn is stored after its last message.
    const isBusy = await isAtWork(this.#deps, session)
    for (const message of await this.#changedMessages()) this.#emit({ type: 'message', message })
    const event = { type: 'session' as const, session: presentSession(config, session) }
    if (gist(event.session) !== this.#sent.session) this.#emit(event)
    const status = isBusy ? 'busy' : 'idle'
    if (status !== this.#sent.turn) this.#emit({ type: 'turn', status, error: null })
    return session.status === 'running' || session.status === 'provisioning' ? liveMs : stoppedMs
  }

  async #changedMessages(): Promise<Message[]> {
    const rows = await messagesStoredSince(this.#deps.db, this.#session.session_id, this.#seen.at)
    const fresh = rows.filter(({ message }) => this.#seen.messages.get(message.message_id) !== JSON.stringify(message))
    const at = rows.reduce((latest, row) => (row.at > latest ? row.at : latest), this.#seen.at)
    this.#seen = {
      at,
      messages: new Map(
        rows.filter((row) => row.at >= at).map(({ message }) => [message.message_id, JSON.stringify(message)]),
      ),
    }
    return fresh.map(({ message }) => message)
  }

  #emit(event: SessionEvent): void {
    if (this.#isStopped) return
    this.note(event)
    this.#send(event)
  }
}

/** Excludes times, which change with each activity. */
const gist = ({ status, error, last_turn_error, name, model, agent_name, metadata, sandbox }: Session) =>
  JSON.stringify([status, error, last_turn_error, name, model, agent_name, metadata, sandbox])
