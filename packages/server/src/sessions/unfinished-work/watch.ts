/** Saves the unfinished work of one running sandbox: at the end of every turn, soon after the agent used a tool, every minute, and before the sandbox ends. */
import { ServiceError } from '@svc/contract'
import { GitError, isDiskFull } from '@svc/git'
import { setTimeout as delay } from 'node:timers/promises'
import type { SessionEvent } from '@svc/contract'
import { isDatabaseFull } from '../../db/embedded/error.ts'
import { isDatabaseUnavailable } from '../../db/unavailable.ts'
import type { Deps } from '../../deps.ts'
import { type DaemonAddress, readHealth } from '../../sandboxes/daemon-client.ts'
import { withDeadline } from '../../deadline.ts'
import { RestBetweenTurns } from './rest-between-turns.ts'
import type { SaveOutcome } from './save-outcome.ts'
import { setUnsavedWork } from './snapshot-store.ts'
import { saveWip } from './wip.ts'

type WatchDeps = Pick<
  Deps,
  'db' | 'home' | 'localLocks' | 'replicas' | 'config' | 'disk' | 'keyring' | 'now' | 'log' | 'feed'
>

const afterToolMs = 5_000
const saveMsMax = 120_000
/** A save of a large work tree takes seconds, so the pause after it is this many times as long. */
const restFactor = 20
/** SIGTERM leaves ten seconds for everything. A daemon that answers by then is busy, and gets longer unless its server ends. */
const hurriedSaveMs = 6_000
const lastSaveMs = 30_000
const lookMs = 20
/** A stop that leaves sandboxes at work is quick. The next server saves what this one did not. */
const handOverMs = 3_000
/** Between two looks at a sandbox that sleeps, as many times longer. The server notices each use of it by itself. */
const asleepFactor = 5

interface WatchEvents {
  /** Work no longer fits, or fits again. */
  spaceChanged: () => void
  /** The time for which the runtime has slept, as the daemon reported it; null when it is awake. */
  sleepSeen: (asleepMs: number | null) => void
}

/** For people. The log has the error itself. */
function reasonOf(error: unknown, limitMs: number, { databaseUrl }: Deps['config']): string {
  const { name } = error as { name?: string }
  if (name === 'TimeoutError' || name === 'AbortError')
    return `Saving took longer than ${limitMs / 1000} seconds and was stopped. Large files outside .gitignore make it slow.`
  if (isDatabaseUnavailable(error)) return "The server's database did not answer."
  if (isDatabaseFull(error) && databaseUrl !== null) return "The database's disk is full. Its operator must free space."
  if (isDiskFull(error) || isDatabaseFull(error)) return "The server's disk is full. Its operator must free space."
  if (error instanceof GitError)
    return "git on the server couldn't store the changes. The server log says why, under this session's id."
  return "The server couldn't store the changes. Its log says why, under this session's id."
}

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
  /** Calls of `saveNow` that have not ended. */
  #saves = 0
  #lastOutcome: SaveOutcome | null = null
  #tools = new Map<string, number>()
  readonly #rest = new RestBetweenTurns()
  #ended = false
  /** Calls of `saveBeforeEnd` that have not ended. */
  #leaving = 0
  readonly #hurried = Promise.withResolvers<void>()
  #hadSpace = true
  readonly #on: WatchEvents

  constructor(deps: WatchDeps, daemon: DaemonAddress, on: WatchEvents) {
    this.#deps = deps
    this.#on = on
    this.#daemon = daemon
    this.#unsubscribe = deps.feed.subscribe(daemon.sessionId, (event) => this.#onEvent(event))
    this.#within(this.#deps.config.saveWorkEveryMs)
  }

  /** Saves now. During a running save, waits for it and saves again. */
  async saveNow(limitMs = saveMsMax, isLast = false): Promise<SaveOutcome> {
    this.#saves++
    try {
      return (this.#lastOutcome = await this.#save(limitMs, isLast))
    } finally {
      this.#saves--
    }
  }

  saveSoon(): void {
    this.#within(0)
  }

  /** A prompt is about to begin the next turn. Waits, within the limit, until the work of the turns before it is kept. */
  async beforeTurn(limitMs: number): Promise<void> {
    this.#rest.begins()
    if (!this.#rest.isUnkept) return
    this.#within(0)
    await this.whyStale(limitMs)
  }

  /** What the work tree has from now on is of the next turn, also before its first event. */
  turnBegins(): void {
    this.#rest.delivers()
  }

  /** Waits for a save that runs or is due. Returns why the stored work may be older than the sandbox's, or null. */
  async whyStale(limitMs: number): Promise<string | null> {
    const deadline = performance.now() + limitMs
    while (this.#saves > 0 || this.#dueAt <= performance.now()) {
      if (performance.now() > deadline) return 'A newer state is still being saved.'
      await delay(lookMs)
    }
    const outcome = this.#lastOutcome
    if (outcome?.kind !== 'failed') return null
    return `The newest changes are not saved yet: ${outcome.reason} What was saved before stays. The server tries again by itself; push the work to be sure that it is kept.`
  }

  async #save(limitMs: number, isLast: boolean): Promise<SaveOutcome> {
    while (this.#running !== null) await this.#running
    // The last save has run, so the sandbox may be gone.
    if (this.#ended && !isLast) return { kind: 'failed', reason: 'The sandbox has ended.' }
    const began = performance.now()
    this.#savedAt = null
    this.#running = saveWip(this.#deps, this.#daemon, AbortSignal.timeout(limitMs), {
      isLast,
      mayLag: () => this.#ended || this.#leaving > 0,
      rest: this.#rest,
    }).catch((error: unknown): SaveOutcome => {
      if (error instanceof ServiceError) return { kind: 'failed', reason: error.message }
      this.#deps.log.warn({ err: error, session_id: this.#daemon.sessionId }, 'storing unfinished work failed')
      return { kind: 'failed', reason: reasonOf(error, limitMs, this.#deps.config), cause: error }
    })
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

  /** The sandbox goes on. It may end before the next server comes, so its work is saved if that takes a moment. */
  async handOver(): Promise<void> {
    const needsSave = !this.#ended && !(await this.#hasSleptSince().catch(() => false))
    if (needsSave) await withDeadline(this.saveNow(handOverMs), handOverMs, () => null)
    this.release()
  }

  release(): void {
    this.#ended = true
    this.#dueAt = Infinity
    this.#unsubscribe()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** The server ends: the last save gets no more than a moment. */
  hurry(): void {
    setTimeout(() => this.#hurried.resolve(), hurriedSaveMs).unref()
  }

  /**
   * Saves while the sandbox can still stay. Returns why the work would be lost if it ended now, or null. A sandbox that does
   * not answer can save nothing, so by default it is no reason to keep it: `ifSilent`. Throws when the database does not
   * answer, which is no fault of the work.
   */
  async saveBeforeEnd(ifSilent: string | null = null): Promise<string | null> {
    if (this.#ended) return null
    if (!(await this.#answers())) return ifSilent
    this.#leaving++
    try {
      const outcome = await this.#saveLast()
      if (outcome.kind !== 'failed' && outcome.kind !== 'no-space') return null
      if (outcome.kind === 'failed' && isDatabaseUnavailable(outcome.cause)) throw outcome.cause
      return (await this.#answers()) ? outcome.reason : ifSilent
    } finally {
      this.#leaving--
    }
  }

  async #answers(): Promise<boolean> {
    return (await readHealth(this.#daemon.socket)).kind === 'ok'
  }

  /** Runs the last save. */
  async end(): Promise<void> {
    if (this.#ended) return
    this.release()
    const outcome = await this.#saveLast()
    if (outcome.kind !== 'failed') return
    this.#deps.log.warn(
      { session_id: this.#daemon.sessionId, reason: outcome.reason },
      'a sandbox ends although its last changes may not be saved',
    )
    await this.#recordUnsaved(outcome.reason)
  }

  async #saveLast(): Promise<SaveOutcome> {
    const late: SaveOutcome = { kind: 'failed', reason: 'It took longer than a stop may wait.' }
    const save = this.saveNow(lastSaveMs, true)
    const inTime = Promise.race([save, this.#hurried.promise.then(() => late)])
    const outcome = await withDeadline(inTime, hurriedSaveMs, () => null)
    if (outcome !== null) return outcome
    const health = this.#answers().then((isThere) => (isThere ? inTime : late))
    return withDeadline(Promise.race([inTime, health]), lastSaveMs - hurriedSaveMs, () => late)
  }

  /** The session shows it, so that its end does not look as if everything had been saved. */
  async #recordUnsaved(why: string): Promise<void> {
    try {
      await setUnsavedWork(this.#deps.db, this.#daemon, unsavedReason(why))
    } catch (error) {
      this.#deps.log.warn({ err: error, session_id: this.#daemon.sessionId }, 'recording unsaved work failed')
    }
  }

  #reportSpace(outcome: SaveOutcome): void {
    if (outcome.kind === 'failed') return
    const hasSpace = outcome.kind !== 'no-space'
    if (hasSpace === this.#hadSpace) return
    this.#hadSpace = hasSpace
    if (outcome.kind === 'no-space')
      this.#deps.log.warn({ session_id: this.#daemon.sessionId }, 'no space for unfinished work; keeping the last save')
    this.#on.spaceChanged()
  }

  #onEvent(event: SessionEvent): void {
    this.#rest.take(event)
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
    // A read waits for the question, too: the answer may be a save.
    this.#saves++
    let sleeps = false
    try {
      sleeps = await this.#hasSleptSince()
      if (!sleeps) await this.saveNow()
    } finally {
      this.#saves--
    }
    this.#within(this.#deps.config.saveWorkEveryMs * (sleeps ? asleepFactor : 1))
  }

  /** The runtime is about to wake up. */
  wakes(): void {
    this.#within(this.#deps.config.saveWorkEveryMs)
  }

  /** True when the runtime sleeps since before the last save, so no file can have changed. */
  async #hasSleptSince(): Promise<boolean> {
    const savedAt = this.#savedAt
    if (savedAt === null) return false
    const outcome = await readHealth(this.#daemon.socket)
    if (outcome.kind !== 'ok' || this.#ended) return false
    const { runtime_asleep_ms: asleepMs } = outcome.value
    this.#on.sleepSeen(asleepMs)
    return asleepMs !== null && performance.now() - asleepMs < savedAt
  }
}

/** `why` is a sentence. */
export const unsavedReason = (why: string) =>
  `The last changes of this session may not be saved. ${why} An earlier state is saved, if there was one.`
