/** Moves sessions to their wanted state. All of its state is in the database, so any run continues where another one ended. */
import { availableParallelism } from 'node:os'
import { ServiceError } from '@svc/contract'
import { SandboxError } from '@svc/sandbox'
import type { Deps, SessionRunner } from '../../deps.ts'
import '../../failpoint.ts'
import { sandboxKey } from '../../sandboxes/key.ts'
import type { DaemonAddress } from '../../sandboxes/daemon-client.ts'
import { atMost, BootQueue, bootsElsewhere } from '../../sandboxes/boot-queue.ts'
import { byPressure } from '../../sandboxes/pressure.ts'
import { setSessionError } from '../activity-store.ts'
import { sandboxEndedCode } from '../conversation/assemble.ts'
import type { Follower } from '../conversation/follow.ts'
import { acceptedPrompts } from '../conversation/prompt-store.ts'
import { failureReason, isPassing } from '../../sandboxes/failure-reason.ts'
import type { WipWatch } from '../unfinished-work/watch.ts'
import { type AttachedSandbox, attachSandbox, endAttached, leaveTurn, silentMs } from './attached-sandbox.ts'
import { cancelPrompts, deliverPrompts } from './prompt-delivery.ts'
import { adoptRunning, endsUnread, findLeft, mayEndUnread } from './adopt.ts'
import { beginAgain } from './begin-again.ts'
import { endAllSandboxes, orphanedSandboxes } from './orphans.ts'
import { becomeRunning } from './become-running.ts'
import { recordSleep } from './record-sleep.ts'
import { ClaimedElsewhere, continueBoot, provision } from './provision.ts'
import { startInTurn } from './start-in-turn.ts'
import { beganAt, countLostStart, interruptedMax, lostLately, lostMax } from './lost-lately.ts'
import { isElsewhere, mayStartHere } from './may-start-here.ts'
import { endedByOperator, lostReason, moveReason } from './reasons.ts'
import { claimWarm } from '../warm/claim.ts'
import { getSessionById, type SessionWithSandbox } from '../store.ts'
import { publishSession } from '../publish-session.ts'
import { sandboxesOf, updateSandbox } from '../../sandboxes/store.ts'
import { recordEnd } from './end-generation.ts'

const starting = 'the session was starting'
/** How long a driver may take to report why a sandbox ended. */
const exitReportMs = 15_000
/** A runtime that wakes takes a prompt after seconds. A server that stops waits no longer than this for that. */
const deliverMsOnStop = 2_500

export class SessionReconciler implements SessionRunner {
  readonly #deps: Omit<Deps, 'sessions'>
  readonly #attached = new Map<string, AttachedSandbox>()
  /** Sandboxes whose last save is under way. */
  readonly #ending = new Map<string, WipWatch>()
  /** Why a sandbox ended, by its id, until the database has it. */
  readonly #unrecorded = new Map<string, string>()
  /** Starts and adoptions under way. */
  readonly #starting = new Map<string, { sandboxId: string; abort: AbortController }>()
  /** Sessions whose stop was requested after their last reconciliation read the row. */
  readonly #interrupted = new Set<string>()
  readonly #boots: BootQueue
  /** Sessions that took a warm sandbox, with the commit of their branch. */
  readonly #claims = new Map<string, Promise<string | null>>()
  readonly #running = new Set<Promise<void>>()
  readonly #deliveriesOver = new AbortController()
  #attachedTo: (projectId: string) => void = () => {}
  isClosed = false
  #handsOver = false

  constructor(deps: Omit<Deps, 'sessions'>) {
    this.#deps = deps
    const othersRun = () => this.#attached.size > 0
    const ofThisMachine = byPressure({ cores: availableParallelism(), read: deps.pressure, othersRun })
    this.#boots = new BootQueue(deps.sandboxes?.isElsewhere === true ? atMost(bootsElsewhere) : ofThisMachine)
    deps.metrics.boots.set('sessions', this.#boots)
    deps.sandboxes?.onExit(({ sandboxId, reason }) => this.#onExit(sandboxId, reason))
  }

  enqueue(sessionId: string): void {
    const work = this.reconcile(sessionId).catch((error: unknown) =>
      this.#deps.log.error({ err: error, session_id: sessionId }, 'reconciling a session failed; retrying'),
    )
    const tracked: Promise<void> = work.then(() => void this.#running.delete(tracked))
    this.#running.add(tracked)
  }

  /** Moves a session to running, stopped or failed. Calls for one session run one at a time. */
  reconcile(sessionId: string): Promise<void> {
    return this.#deps.localLocks.run(`session ${sessionId}`, () => this.#reconcile(sessionId))
  }

  /** Aborts a running start, so that a stop need not wait for it. */
  interrupt(sessionId: string): void {
    this.#interrupted.add(sessionId)
    this.abortStart(sessionId, new SandboxError('aborted', 'The session was stopped while it was starting.'))
  }

  abortStart(sessionId: string, why: Error): boolean {
    const begun = this.#starting.get(sessionId)
    begun?.abort.abort(why)
    return begun !== undefined
  }

  /** The start of the session claims its warm sandbox, which a job must not take for one that an earlier server left. */
  expectClaim(sessionId: string, commit: Promise<string | null>): void {
    this.#claims.set(sessionId, commit)
  }

  turnOf(sessionId: string): 'busy' | 'idle' {
    return this.followerOf(sessionId)?.turn ?? 'idle'
  }

  followerOf(sessionId: string): Follower | undefined {
    return this.#attached.get(sessionId)?.follower
  }

  daemonOf(sessionId: string): DaemonAddress | null {
    return this.#attached.get(sessionId)?.daemon ?? null
  }

  onAttached(listener: (projectId: string) => void): void {
    this.#attachedTo = listener
  }

  async inHand(): Promise<string[]> {
    const live = new Set(((await this.#deps.sandboxes?.list()) ?? []).map(({ sandboxId }) => sandboxId))
    const running = [...this.#attached].filter(([, { sandboxId }]) => live.has(sandboxId))
    return [...running.map(([sessionId]) => sessionId), ...this.#starting.keys()]
  }

  /** Saves the unfinished work of the session. Null unless this server runs the sandbox, or is ending it. */
  wipOf(sessionId: string): WipWatch | null {
    return this.#attached.get(sessionId)?.wip ?? this.#ending.get(sessionId) ?? null
  }

  async deliverPrompts(sessionId: string): Promise<void> {
    await this.#deps.localLocks.run(`prompts ${sessionId}`, async () => {
      const attached = this.#attached.get(sessionId)
      if (attached === undefined) return
      await attached.follower.whenCaughtUp()
      await deliverPrompts(this.#deps, attached, this.#deliveriesOver.signal)
    })
  }

  async cancelPrompts(sessionId: string): Promise<void> {
    const attached = this.#attached.get(sessionId)
    if (attached !== undefined) await cancelPrompts(this.#deps, attached)
  }

  /** Delivers answers to the agent. Answers that it does not accept now are delivered later. */
  async deliverAnswers(sessionId: string): Promise<void> {
    const questions = this.#attached.get(sessionId)?.follower.questions
    if (questions !== undefined) await this.#deps.localLocks.run(`answers ${sessionId}`, () => questions.deliver())
  }

  /** Leaves the sandboxes of sessions to the next server if they outlive this one; otherwise ends them. */
  async close({ endsSandboxes }: { endsSandboxes: boolean }): Promise<number> {
    this.isClosed = true
    this.#handsOver = !endsSandboxes && this.#deps.sandboxes?.outlives === true
    setTimeout(() => this.#deliveriesOver.abort(), deliverMsOnStop).unref()
    for (const [sessionId] of this.#starting) this.interrupt(sessionId)
    for (const wip of this.#ending.values()) wip.hurry()
    // Beside the rest, which waits for requests to these daemons.
    const givenUp = Promise.all([...this.#attached.values()].map((attached) => attached.giveUpIfSilent()))
    await Promise.all([givenUp, ...this.#running])
    await this.#deps.warm.close({ endsSandboxes })
    if (this.#handsOver) return this.#handOver()
    await Promise.all([...this.#attached.keys()].map((sessionId) => this.#release(sessionId)))
    await endAllSandboxes(this.#deps, endsSandboxes ? endedByOperator : null)
    return 0
  }

  /** Takes over the sandbox of a running session and delivers nothing to it: `close` ends it next, with its last save. */
  async takeOver(session: SessionWithSandbox): Promise<void> {
    const { session_id: sessionId } = session
    await this.#deps.localLocks.run(`session ${sessionId}`, () => this.#adopt(session))
    await this.#attached.get(sessionId)?.follower.caughtUp.promise
  }

  /** Waits for a start that is under way. The row keeps no sandbox, so the home of the project starts one. */
  moveAway(sessionId: string, reason = moveReason): Promise<void> {
    return this.#deps.localLocks.run(`session ${sessionId}`, async () => {
      const session = await getSessionById(this.#deps.db, sessionId)
      if (session === null || session.desired !== 'running') return
      if (session.status !== 'provisioning' && session.status !== 'running') return
      // The next server saves what a server that stops has not.
      if (this.isClosed) throw new ServiceError('unavailable', 'This server is stopping.')
      await this.#adoptToEnd(session)
      await leaveTurn(this.#deps, this.#attached.get(sessionId), reason)
      await this.#endSandboxes(sessionId)
      await beginAgain(this.#deps, session, { error: reason, hasMoved: true })
    })
  }

  async #handOver(): Promise<number> {
    const attached = [...this.#attached.values()]
    this.#attached.clear()
    await Promise.all(
      attached.map(async ({ follower, wip }) => {
        await wip.handOver()
        await follower.stop({ isOver: false })
      }),
    )
    if (attached.length > 0) this.#deps.log.info({ sessions: attached.length }, 'sessions go on without this server')
    return attached.length
  }

  async #reconcile(sessionId: string): Promise<void> {
    this.#interrupted.delete(sessionId)
    // The row as it is once its branch was cut.
    await this.#claims.get(sessionId)
    const session = await getSessionById(this.#deps.db, sessionId)
    if (session === null || !(await mayStartHere(this.#deps, session))) return
    if (session.status !== 'provisioning' && session.status !== 'running') return
    if (session.desired === 'stopped') {
      if (!this.isClosed) await this.#adoptToEnd(session)
      return this.#stopAsRequested(session)
    }
    // The sandbox may have been left to the next server already.
    if (this.isClosed || (await isElsewhere(this.#deps, session))) return
    if (session.status === 'running') return this.#checkRunning(session)
    return this.#start(session)
  }

  async #start(session: SessionWithSandbox): Promise<void> {
    const { sandboxes } = this.#deps
    if (sandboxes === null)
      return this.#fail(session, 'This server was started without a sandbox driver (SVC_SANDBOX_DRIVER=none).')
    const commit = (await this.#claims.get(session.session_id)) ?? null
    this.#claims.delete(session.session_id)
    if (session.sandbox !== null && commit === null && (await findLeft(this.#deps.sandboxes, session)) !== null)
      return this.#provision(session, null, true)
    if (session.sandbox !== null && commit !== null)
      return this.#provision(session, { sandboxId: session.sandbox.sandbox_id, commit })
    if (session.sandbox !== null) {
      const rows = await sandboxesOf(this.#deps.db, session.session_id)
      const lost = lostLately(rows, this.#deps.now())
      const isOwn = beganAt(this.#deps.instanceId, rows, session)
      if (lost >= (isOwn ? interruptedMax : lostMax))
        return this.#fail(session, `The start was interrupted ${lost} times.`)
      await this.#beginAgain(session, isOwn ? 'The start was interrupted.' : undefined)
      return this.enqueue(session.session_id)
    }
    return this.#provision(session)
  }

  /** `isLeft`: an earlier server began the start, and its sandbox lives. */
  async #provision(
    session: SessionWithSandbox,
    warm: { sandboxId: string; commit: string } | null = null,
    isLeft = false,
  ) {
    const { db, log } = this.#deps
    const driver = this.#deps.sandboxes
    if (driver === null || this.isClosed) return
    const sandboxId = warm?.sandboxId ?? (isLeft ? session.sandbox!.sandbox_id : session.next_sandbox_id)
    const abort = new AbortController()
    this.#begin(session.session_id, { sandboxId, abort })
    if (warm === null) this.#deps.warm.startBegins()
    else this.#deps.warm.isNeeded()
    try {
      const boot = isLeft
        ? () => continueBoot(this.#deps, driver, session, abort.signal)
        : () =>
            startInTurn(this.#deps, this.#boots, session, abort.signal, (journal) =>
              provision(this.#deps, driver, session, sandboxId, { journal, signal: abort.signal }),
            )
      const { sandbox, runtimeSessionId } =
        warm === null ? await boot() : await claimWarm(this.#deps, driver, session, warm)
      const firstPrompt = session.initial_prompt_delivered_at === null ? session.initial_prompt : null
      if (!(await becomeRunning(this.#deps, session, { sandboxId, firstPrompt })))
        throw new SandboxError('aborted', 'The session was changed while it was starting.')
      // The sandbox may have ended since it was ready, and its exit is reported only once.
      abort.signal.throwIfAborted()
      const { daemonSocket } = sandbox
      this.#attach(session, { daemonSocket, sandboxId, runtimeSessionId, firstPrompt, stored: null })
      log.info({ session_id: session.session_id, sandbox_id: sandboxId }, 'a session is running')
    } catch (error) {
      // Another server makes the sandbox of this generation under the same id.
      if (error instanceof ClaimedElsewhere) return
      // The next server continues a start whose daemon answers already.
      if (this.#handsOver && (await driver.find(sandboxId)) !== null) return
      const memory = await driver.memoryTrouble(sandboxId)
      await driver.stop(sandboxId)
      // A closing server leaves the session as it is, for the next server.
      if (this.isClosed) return
      const current = await getSessionById(db, session.session_id)
      if (current === null) return
      if (current.desired === 'stopped') return await this.#stopAsRequested(current)
      if (warm !== null || isLeft || isPassing(error)) return await this.#startAgain(session, error)
      log.warn({ err: error, session_id: session.session_id }, 'starting a session failed')
      return await this.#fail(session, failureReason(error, starting, memory))
    } finally {
      if (warm === null) this.#deps.warm.startEnds()
      this.#starting.delete(session.session_id)
    }
    await this.#goOn(session.session_id)
  }

  /** The sandbox runs. An error here is no reason to end it: jobs deliver its prompts later. */
  async #goOn(sessionId: string): Promise<void> {
    await publishSession(this.#deps, sessionId)
    await this.deliverPrompts(sessionId)
  }

  #begin(sessionId: string, starting: { sandboxId: string; abort: AbortController }): void {
    this.#starting.set(sessionId, starting)
    // A stop was requested since the row was read.
    if (this.#interrupted.has(sessionId)) this.interrupt(sessionId)
  }

  async #startAgain(session: SessionWithSandbox, cause: unknown): Promise<void> {
    const reason = failureReason(cause, starting)
    await countLostStart(this.#deps, session)
    const rows = await sandboxesOf(this.#deps.db, session.session_id)
    const max = isPassing(cause) ? interruptedMax : lostMax
    if (lostLately(rows, this.#deps.now()) >= max) return this.#fail(session, reason)
    this.#deps.log.warn({ err: cause, session_id: session.session_id }, 'starting a session failed; it starts again')
    await this.#beginAgain(session, reason)
    this.enqueue(session.session_id)
  }

  #attach(session: SessionWithSandbox, input: Parameters<typeof attachSandbox>[2]): void {
    const { session_id: sessionId } = session
    const announce = () => this.#record(sessionId, () => publishSession(this.#deps, sessionId))
    const attached = attachSandbox(this.#deps, session, input, {
      trouble: (error) => this.#record(sessionId, () => this.#recordTrouble(session, error)),
      givenUp: (reason) => this.#onExit(input.sandboxId, reason),
      turnStored: announce,
      nextPrompt: () => this.#record(sessionId, () => this.deliverPrompts(sessionId)),
      saveStateChanged: announce,
      sleepChanged: (since, wake) =>
        this.#record(sessionId, async () => {
          await recordSleep(this.#deps, { ...session, sandboxId: input.sandboxId }, { since, wake })
          await publishSession(this.#deps, sessionId)
        }),
    })
    this.#attached.set(sessionId, attached)
    this.#attachedTo(session.project_id)
  }

  async #recordTrouble(session: SessionWithSandbox, given: string | null): Promise<void> {
    const error = given === null ? null : this.#deps.redaction.of(session.session_id).text(given)
    if (await setSessionError(this.#deps.db, session.session_id, session.generation, error))
      await publishSession(this.#deps, session.session_id)
  }

  async #checkRunning(session: SessionWithSandbox): Promise<void> {
    const { sandbox } = session
    const attached = this.#attached.get(session.session_id)
    if (sandbox !== null && attached !== undefined) {
      if (await this.#deps.sandboxes?.find(sandbox.sandbox_id)) return
      // The driver reports the reason soon (`#onExit`). Ending the session here would lose it.
      const now = this.#deps.now().getTime()
      attached.missingSince ??= now
      if (now - attached.missingSince < exitReportMs) return
    }
    const outcome = attached === undefined ? await this.#adopt(session) : { reason: null }
    if (outcome === 'interrupted') return
    if (outcome !== 'adopted') return this.#endLost(session, outcome.reason)
    await this.#goOn(session.session_id)
  }

  /** Ends a session whose sandbox is gone or given up. It begins again for accepted prompts, unless its sandboxes keep ending. */
  async #endLost(session: SessionWithSandbox, why: string | null): Promise<void> {
    const rows = await sandboxesOf(this.#deps.db, session.session_id)
    const current = rows.find((row) => row.generation === session.generation)
    const reason = why ?? current?.error ?? this.#unrecorded.get(current?.sandbox_id ?? '') ?? null
    const hasPrompts = (await acceptedPrompts(this.#deps.db, session.session_id)).length > 0
    if (hasPrompts && lostLately(rows, this.#deps.now()) < lostMax) {
      await this.#beginAgain(session, reason ?? undefined)
      return this.enqueue(session.session_id)
    }
    if (current?.status === 'stopped') return this.#end(session, { to: 'stopped', sandbox: 'stopped', reason })
    if (why !== null || current?.instance_id === this.#deps.instanceId)
      return this.#fail(session, reason ?? 'The sandbox ended by itself.')
    return this.#end(session, { to: 'stopped', sandbox: 'error', reason: lostReason(this.#deps.sandboxes) })
  }

  /** Goes on with the sandbox that an earlier server left. `interrupted`: a stop follows, or the next server goes on. */
  async #adopt(
    session: SessionWithSandbox,
    until: AbortSignal | null = null,
  ): Promise<'adopted' | 'interrupted' | { reason: string | null }> {
    const { log, sandboxes: driver } = this.#deps
    const left = await findLeft(this.#deps.sandboxes, session)
    if (driver === null || left === null) return { reason: null }
    const { session_id } = session
    const abort = new AbortController()
    // Another stop aborts starts. It must not cut the last look of this one.
    if (until === null) this.#begin(session_id, { sandboxId: left.sandboxId, abort })
    else until.addEventListener('abort', () => abort.abort(until.reason))
    try {
      const found = await adoptRunning(this.#deps, driver, session, abort.signal)
      if (found.kind === 'lost') return found
      const { stored, sandbox, runtimeSessionId, asleepMs } = found
      const { daemonSocket, sandboxId } = sandbox
      const isAsleep = asleepMs !== null
      this.#attach(session, { daemonSocket, sandboxId, runtimeSessionId, firstPrompt: null, stored, isAsleep })
      log.info({ session_id, sandbox_id: sandboxId }, 'a session goes on with the sandbox of an earlier server')
      return 'adopted'
    } catch (error) {
      if (!abort.signal.aborted) throw error
      if (this.isClosed || this.#interrupted.has(session_id)) return 'interrupted'
      // Its end was reported meanwhile.
      return { reason: abort.signal.reason.message }
    } finally {
      this.#starting.delete(session_id)
    }
  }

  /** A stop or a move that finds the sandbox of an earlier server keeps the end of its conversation and its last work. */
  async #adoptToEnd(session: SessionWithSandbox): Promise<void> {
    const { session_id: sessionId, status } = session
    if (status !== 'running' || this.#attached.has(sessionId)) return
    if ((await isElsewhere(this.#deps, session)) || !(await mayEndUnread(this.#deps, session))) return
    await this.#adopt(session, AbortSignal.timeout(silentMs)).catch(endsUnread(this.#deps, sessionId))
    const attached = this.#attached.get(sessionId)
    if (attached !== undefined) attached.isLeaving = true
    await attached?.follower.whenCaughtUp()
  }

  /** The stop reason is not an error of the sandbox. */
  async #stopAsRequested(session: SessionWithSandbox): Promise<void> {
    await this.#end(session, { to: 'stopped', sandbox: 'stopped', reason: session.stop_reason })
  }

  async #fail(session: SessionWithSandbox, reason: string): Promise<void> {
    await this.#end(session, { to: 'failed', sandbox: 'error', reason })
  }

  /** Ends the sandbox before the row: after a crash in between, the next run finds the row and finishes. The other order leaks a sandbox. */
  async #end(
    session: SessionWithSandbox,
    end: { to: 'stopped' | 'failed'; sandbox: 'stopped' | 'error'; reason: string | null },
  ): Promise<void> {
    const reason = end.reason === null ? null : this.#deps.redaction.of(session.session_id).text(end.reason)
    await this.#endSandboxes(session.session_id)
    await failpoint('session.reconcile.before_row')
    await recordEnd(this.#deps, session, { ...end, reason })
    await failpoint('session.reconcile.after_row')
    await publishSession(this.#deps, session.session_id)
  }

  async #beginAgain(session: SessionWithSandbox, reason = 'The server that ran this sandbox stopped.'): Promise<void> {
    const error = this.#deps.redaction.of(session.session_id).text(reason)
    await this.#endSandboxes(session.session_id)
    await beginAgain(this.#deps, session, { error, hasMoved: false })
  }

  async #endSandboxes(sessionId: string): Promise<void> {
    await this.#release(sessionId)
    for (const row of await sandboxesOf(this.#deps.db, sessionId)) await this.#deps.sandboxes?.stop(row.sandbox_id)
  }

  async #release(sessionId: string): Promise<void> {
    const attached = this.#attached.get(sessionId)
    this.#attached.delete(sessionId)
    if (attached === undefined) return
    this.#ending.set(sessionId, attached.wip)
    if (this.isClosed) attached.wip.hurry()
    try {
      await endAttached(this.#deps, attached)
    } finally {
      this.#ending.delete(sessionId)
    }
  }

  /** Ends sandboxes of this server whose session another server stopped. */
  async endOrphans(): Promise<void> {
    for (const sandboxId of await orphanedSandboxes(this.#deps)) {
      for (const [sessionId, { daemon }] of this.#attached)
        if (daemon.sandboxKey === sandboxKey(this.#deps, sandboxId)) await this.#release(sessionId)
      await this.#deps.sandboxes?.stop(sandboxId)
    }
  }

  #onExit(sandboxId: string, reason: string): void {
    for (const starting of this.#starting.values())
      if (starting.sandboxId === sandboxId) starting.abort.abort(new SandboxError('boot-failed', reason))
    for (const [sessionId, { daemon, redactor, follower }] of this.#attached) {
      if (sandboxKey(this.#deps, sandboxId) !== daemon.sandboxKey) continue
      const message = redactor.text(reason)
      this.#deps.log.warn({ session_id: sessionId, sandbox_id: sandboxId, reason }, 'a sandbox ended by itself')
      // Under the lock of the session, so that a reconciliation finds either the reason or the attached sandbox.
      const write = async () => {
        if (this.#attached.get(sessionId)?.daemon !== daemon) return
        this.#unrecorded.set(sandboxId, message)
        follower.cutTurn({ code: sandboxEndedCode, message })
        await this.#release(sessionId)
        await this.#deps.sandboxes?.stop(sandboxId)
        await updateSandbox(this.#deps.db, sandboxId, { error: message })
        this.#unrecorded.delete(sandboxId)
      }
      this.#record(sessionId, async () => {
        await this.#deps.localLocks.run(`session ${sessionId}`, write)
        this.enqueue(sessionId)
      })
    }
  }

  #record(sessionId: string, write: () => Promise<void>): void {
    write().catch((error: unknown) =>
      this.#deps.log.error({ err: error, session_id: sessionId }, 'recording the state of a sandbox failed'),
    )
  }
}
