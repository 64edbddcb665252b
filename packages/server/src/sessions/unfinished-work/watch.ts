/** Saves the unfinished work of one running sandbox: at the end of every turn, soon after the agent used a tool, every minute, and before the sandbox ends. */
import type { SessionEvent } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { type DaemonAddress, readHealth } from '../../sandboxes/daemon-client.ts'
import { withDeadline } from '../../deadline.ts'
import type { SaveOutcome } from './save-outcome.ts'
import { saveWip } from './wip.ts'

type WatchDeps = Pick<Deps, 'db' | 'config' | 'disk' | 'keyring' | 'now' | 'log' | 'feed'>

const afterToolMs = 5_000
const saveMsMax = 120_000
/** A save of a large work tree takes seconds, so the pause after it is this many times as long. */
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
  /** When the last complete save began. */
  #savedAt: number | null = null
  #running: Promise<SaveOutcome> | null = null
  #tools = new Map<string, number>()
  #ended = false
  #hadSpace = true
  /** Called when work no longer fits, and when it fits again. */
  readonly #onSpaceChange: () => void

  constructor(deps: WatchDeps, daemon: DaemonAddress, onSpaceChange: () => void) {
    this.#deps = deps
    this.#onSpaceChange = onSpaceChange
    this.#daemon = daemon
    this.#unsubscribe = deps.feed.subscribe(daemon.sessionId, (event) => this.#onEvent(event))
    this.#within(this.#deps.config.saveWorkEveryMs)
  }

  /** Saves now. During a running save, waits for it and saves again. */
  async saveNow(limitMs = saveMsMax, isLast = false): Promise<SaveOutcome> {
    while (this.#running !== null) await this.#running
    // The last save has run, so the sandbox may be gone.
    if (this.#ended && !isLast) return { kind: 'failed', reason: 'The sandbox has ended.' }
    const began = performance.now()
    this.#savedAt = null
    this.#running = saveWip(this.#deps, this.#daemon, AbortSignal.timeout(limitMs), { isLast }).catch(
      (error: unknown): SaveOutcome => {
        this.#deps.log.warn({ err: error, session_id: this.#daemon.sessionId }, 'storing unfinished work failed')
        return { kind: 'failed', reason: 'An internal error occurred; see the server log.' }
      },
    )
    const outcome = await this.#running
    this.#running = null
    if (outcome.kind !== 'failed' && outcome.kind !== 'no-space') this.#savedAt = began
    this.#restUntil = performance.now() + (performance.now() - began) * restFactor
    this.#reportSpace(outcome)
    if (outcome.kind === 'failed')
      this.#deps.log.info(
        { session_id: this.#daemon.sessionId, reason: outcome.reason },
        'saving unfinished work failed; retrying',
      )
    return outcome
  }

  /** Runs the last save. */
  async end(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    this.#unsubscribe()
    if (this.#timer !== null) clearTimeout(this.#timer)
    await withDeadline(this.saveNow(lastSaveMs, true), lastSaveMs + 500, () => null)
  }

  #reportSpace(outcome: SaveOutcome): void {
    if (outcome.kind === 'failed') return
    const hasSpace = outcome.kind !== 'no-space'
    if (hasSpace === this.#hadSpace) return
    this.#hadSpace = hasSpace
    if (outcome.kind === 'no-space')
      this.#deps.log.warn({ session_id: this.#daemon.sessionId }, 'no space for unfinished work; keeping the last save')
    this.#onSpaceChange()
  }

  #onEvent(event: SessionEvent): void {
    if (event.type === 'turn' && event.status !== 'busy') this.#within(0)
    if (event.type !== 'message') return
    const { message_id: id, parts } = event.message
    const used = parts.filter((part) => part.type === 'tool' && part.status !== 'pending' && part.status !== 'running')
    if (used.length <= (this.#tools.get(id) ?? 0)) return
    // Only the newest message can still grow.
    this.#tools = new Map([[id, used.length]])
    this.#within(afterToolMs)
  }

  /** Schedules a save, keeping an earlier one. Except at the end of a turn, it waits for the pause after the last save. */
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
    if (!(await this.#hasSleptSince())) await this.saveNow()
    this.#within(this.#deps.config.saveWorkEveryMs)
  }

  /** True when the runtime sleeps since before the last save, so no file can have changed. */
  async #hasSleptSince(): Promise<boolean> {
    const savedAt = this.#savedAt
    if (savedAt === null) return false
    const outcome = await readHealth(this.#daemon.socket)
    const asleepMs = outcome.kind === 'ok' ? outcome.value.runtime_asleep_ms : null
    return asleepMs !== null && performance.now() - asleepMs < savedAt
  }
}
