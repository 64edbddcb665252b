/** Saves the unfinished work of one running sandbox: at the end of every turn, soon after the agent used a tool, every minute, and before the sandbox ends. */
import type { SessionEvent } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { DaemonAddress } from './daemon-client.ts'
import { type SaveOutcome, saveWip } from './wip.ts'

type WatchDeps = Pick<Deps, 'db' | 'config' | 'disk' | 'keyring' | 'now' | 'log' | 'feed'>

const everyMs = 60_000
const afterToolMs = 5_000
const saveMsMax = 120_000
/** Looking may cost a large work tree seconds: it gets at most this part of the time. */
const restFactor = 20
/** SIGTERM leaves ten seconds for everything. */
const lastSaveMs = 6_000

export class WipWatch {
  readonly #deps: WatchDeps
  readonly #daemon: DaemonAddress
  readonly #unsubscribe: () => void
  #timer: NodeJS.Timeout | null = null
  #dueAt = Infinity
  #restUntil = 0
  #running: Promise<SaveOutcome> | null = null
  #tools = new Map<string, number>()
  #ended = false
  #hadRoom = true
  /** Called when saved work begins not to fit, and when it fits again. */
  readonly #onRoom: () => void

  constructor(deps: WatchDeps, daemon: DaemonAddress, onRoom: () => void) {
    this.#deps = deps
    this.#onRoom = onRoom
    this.#daemon = daemon
    this.#unsubscribe = deps.feed.subscribe(daemon.sessionId, (event) => this.#onEvent(event))
    this.#within(everyMs)
  }

  /** Saves now. Who comes while a save runs gets one that began after he came. */
  async saveNow(limitMs = saveMsMax, isLast = false): Promise<SaveOutcome> {
    while (this.#running !== null) await this.#running
    // A save that waited behind the last one would keep a state that the sandbox is gone from.
    if (this.#ended && !isLast) return { kind: 'failed', reason: 'The sandbox has ended.' }
    const began = performance.now()
    this.#running = saveWip(this.#deps, this.#daemon, AbortSignal.timeout(limitMs), { isLast }).catch(
      (error: unknown): SaveOutcome => {
        this.#deps.log.warn({ err: error, session_id: this.#daemon.sessionId }, 'unfinished work could not be kept')
        return { kind: 'failed', reason: 'The service could not keep it; its log says why.' }
      },
    )
    const outcome = await this.#running
    this.#running = null
    this.#restUntil = performance.now() + (performance.now() - began) * restFactor
    this.#tellRoom(outcome)
    if (outcome.kind === 'failed')
      this.#deps.log.info(
        { session_id: this.#daemon.sessionId, reason: outcome.reason },
        'unfinished work was not saved this time',
      )
    return outcome
  }

  /** The last save, and no more. */
  async end(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    this.#unsubscribe()
    if (this.#timer !== null) clearTimeout(this.#timer)
    const enough = Promise.withResolvers<void>()
    const timer = setTimeout(enough.resolve, lastSaveMs + 500)
    await Promise.race([this.saveNow(lastSaveMs, true), enough.promise])
    clearTimeout(timer)
  }

  #tellRoom(outcome: SaveOutcome): void {
    if (outcome.kind === 'failed') return
    const hasRoom = outcome.kind !== 'no-room'
    if (hasRoom === this.#hadRoom) return
    this.#hadRoom = hasRoom
    if (outcome.kind === 'no-room')
      this.#deps.log.warn({ session_id: this.#daemon.sessionId }, 'unfinished work has no room; the last save is kept')
    this.#onRoom()
  }

  #onEvent(event: SessionEvent): void {
    if (event.type === 'turn' && event.status !== 'busy') this.#within(0)
    if (event.type !== 'message') return
    const { message_id: id, parts } = event.message
    const used = parts.filter((part) => part.type === 'tool' && part.status !== 'pending' && part.status !== 'running')
    if (used.length <= (this.#tools.get(id) ?? 0)) return
    // Only the message that grows now is looked at again.
    this.#tools = new Map([[id, used.length]])
    this.#within(afterToolMs)
  }

  /** Sooner wins. Except at the end of a turn it rests after what the last one cost. */
  #within(ms: number): void {
    if (this.#ended) return
    const now = performance.now()
    const at = ms === 0 ? now : Math.max(now + ms, this.#restUntil)
    if (at >= this.#dueAt) return
    this.#dueAt = at
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#run(), at - now)
  }

  async #run(): Promise<void> {
    this.#dueAt = Infinity
    await this.saveNow()
    this.#within(everyMs)
  }
}
