/** A session whose sandbox another server keeps: what happens in it is read from the database, where that server writes it within a second. */
import type { Message, Session, SessionEvent } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { isAtWork } from './at-work.ts'
import { getSession, presentSession, type SessionWithSandbox } from './store.ts'
import { keptSince } from './transcript.ts'

/** While it lives. */
const aliveMs = 500
/** While all that can come is that somebody starts it again. */
const restingMs = 2_000

type WatchDeps = Pick<Deps, 'db' | 'keeper' | 'config' | 'log'>

export class ElsewhereWatch {
  readonly #deps: WatchDeps
  readonly #session: SessionWithSandbox
  readonly #tell: (event: SessionEvent) => void
  #timer: NodeJS.Timeout | null = null
  #isStopped = false
  /** What the reader was told last, by us or by this server's own feed. */
  #told = { session: '', turn: '' }
  /** Of the messages that were kept at `at`, and so may be read twice, how they were. */
  #kept = { at: new Date(0), messages: new Map<string, string>() }

  constructor(deps: WatchDeps, session: SessionWithSandbox, tell: (event: SessionEvent) => void) {
    this.#deps = deps
    this.#session = session
    this.#tell = tell
  }

  /** From the state that the reader was told; what was kept before is known. */
  start(): void {
    this.#kept.at = new Date(Date.now() - 2_000)
    this.#again(aliveMs)
  }

  stop(): void {
    this.#isStopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** What else tells the reader passes here too, so that no state is told twice. */
  note(event: SessionEvent): void {
    if (event.type === 'session') this.#told.session = gist(event.session)
    else if (event.type === 'turn') this.#told.turn = event.status === 'busy' ? 'busy' : 'idle'
  }

  #again(ms: number): void {
    if (this.#isStopped) return
    this.#timer = setTimeout(() => void this.#lookAndGoOn(), ms)
  }

  async #lookAndGoOn(): Promise<void> {
    let ms = restingMs
    try {
      ms = await this.#look()
    } catch (error) {
      this.#deps.log.warn({ err: error, session_id: this.#session.session_id }, 'a session could not be watched')
    }
    this.#again(ms)
  }

  async #look(): Promise<number> {
    const { db, keeper, config } = this.#deps
    const { session_id: sessionId, project_id: projectId } = this.#session
    // Kept here: its follower tells, and sooner.
    if (keeper.daemonOf(sessionId) !== null) return aliveMs
    const session = await getSession(db, projectId, sessionId)
    if (session === null) return restingMs
    // Before the messages: that a turn has ended is written after the last of them.
    const isBusy = await isAtWork(this.#deps, session)
    for (const message of await this.#news()) this.#say({ type: 'message', message })
    const event = { type: 'session' as const, session: presentSession(config, session) }
    if (gist(event.session) !== this.#told.session) this.#say(event)
    const status = isBusy ? 'busy' : 'idle'
    if (status !== this.#told.turn) this.#say({ type: 'turn', status, error: null })
    return session.status === 'running' || session.status === 'provisioning' ? aliveMs : restingMs
  }

  async #news(): Promise<Message[]> {
    const rows = await keptSince(this.#deps.db, this.#session.session_id, this.#kept.at)
    const fresh = rows.filter(({ message }) => this.#kept.messages.get(message.message_id) !== JSON.stringify(message))
    const at = rows.reduce((latest, row) => (row.at > latest ? row.at : latest), this.#kept.at)
    this.#kept = {
      at,
      messages: new Map(
        rows.filter((row) => row.at >= at).map(({ message }) => [message.message_id, JSON.stringify(message)]),
      ),
    }
    return fresh.map(({ message }) => message)
  }

  #say(event: SessionEvent): void {
    if (this.#isStopped) return
    this.note(event)
    this.#tell(event)
  }
}

/** Without the times: that somebody is at work is told by what is said. */
const gist = ({ status, error, last_turn_error, name, model, agent_name, metadata, sandbox }: Session) =>
  JSON.stringify([status, error, last_turn_error, name, model, agent_name, metadata, sandbox])
