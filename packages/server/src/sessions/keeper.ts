/** Moves sessions to where they are meant to be. What it needs to know is in the database, so any run of it can go on where another died. */
import { availableParallelism } from 'node:os'
import { ServiceError } from '@svc/contract'
import { SandboxError } from '@svc/sandbox'
import { isUuid } from '../auth/allow.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { sandboxKey } from './credentials.ts'
import { abortRun, type DaemonAddress, sendPrompt } from './daemon-client.ts'
import { BootQueue } from './boot-queue.ts'
import { noteTrouble } from './activity-store.ts'
import { Follower } from './follow.ts'
import { type AcceptedPrompt, acceptedPrompts, type PromptError, settlePrompt } from './prompt-store.ts'
import { ClaimedElsewhere, provision } from './provision.ts'
import { claimWarm } from './warm-claim.ts'
import {
  beginGeneration,
  endSandboxes,
  getSessionById,
  isKeptElsewhere,
  livingSandboxes,
  lockSession,
  moveSession,
  presentSession,
  revokeCredentials,
  sandboxesOf,
  type SandboxRow,
  type SessionWithSandbox,
  unansweredReason,
  updateSandbox,
  updateSession,
} from './store.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { WipWatch } from './wip-watch.ts'

/** Sandboxes a session may lose within this time before it counts as failed: starting again for ever helps nobody. */
const lostMax = 3
const lostWithinMs = 10 * 60_000
/** How long a driver may take to clean up a sandbox that ended by itself before it tells why. */
const tellsWithinMs = 15_000
/** A daemon names its own. */
const promptErrorCode = /^[a-z_]{1,50}$/

interface Kept {
  daemon: DaemonAddress
  /** When it was first missed without a word of why, in milliseconds of the epoch. */
  missedAt: number | null
  redactor: Redactor
  follower: Follower
  wip: WipWatch
}

export class SessionKeeper {
  readonly #deps: Omit<Deps, 'keeper'>
  readonly #kept = new Map<string, Kept>()
  readonly #provisioning = new Map<string, { sandboxId: string; abort: AbortController }>()
  /** Asked to stop since they were last looked at: who looked just before knows nothing of it yet. */
  readonly #interrupted = new Set<string>()
  readonly #boots = new BootQueue(2 * availableParallelism())
  /** Sessions that took a warm sandbox, with the commit their branch was cut at. */
  readonly #claims = new Map<string, string>()
  readonly #running = new Set<Promise<void>>()
  #closed = false

  constructor(deps: Omit<Deps, 'keeper'>) {
    this.#deps = deps
    deps.metrics.boots.set('sessions', this.#boots)
    deps.sandboxes?.onExit(({ sandboxId, reason }) => this.#onExit(sandboxId, reason))
  }

  /** Settles a session in the background. */
  kick(sessionId: string): void {
    const work = this.settle(sessionId).catch((error: unknown) =>
      this.#deps.log.error({ err: error, session_id: sessionId }, 'a session could not be settled; it is tried again'),
    )
    const tracked: Promise<void> = work.then(() => void this.#running.delete(tracked))
    this.#running.add(tracked)
  }

  /** Brings one session as far as it gets now: running, stopped or failed. One at a time a session. */
  settle(sessionId: string): Promise<void> {
    return this.#deps.localLocks.run(`session ${sessionId}`, () => this.#settle(sessionId))
  }

  /** Ends a start that is under way, so that whoever wants the session stopped need not wait for it. */
  interrupt(sessionId: string): void {
    this.#interrupted.add(sessionId)
    this.#provisioning
      .get(sessionId)
      ?.abort.abort(new SandboxError('aborted', 'The session was stopped while it was starting.'))
  }

  /** The session is written with a warm sandbox of this server: its start is a claim and not a boot. */
  claims(sessionId: string, commit: string): void {
    this.#claims.set(sessionId, commit)
  }

  turnOf(sessionId: string): 'busy' | 'idle' {
    return this.#kept.get(sessionId)?.follower.turn ?? 'idle'
  }

  daemonOf(sessionId: string): DaemonAddress | null {
    return this.#kept.get(sessionId)?.daemon ?? null
  }

  /** Of every sandbox this server keeps. */
  daemons(): DaemonAddress[] {
    return [...this.#kept.values()].map(({ daemon }) => daemon)
  }

  /** What saves the unfinished work of a running session, while this server keeps its sandbox. */
  wipOf(sessionId: string): WipWatch | null {
    return this.#kept.get(sessionId)?.wip ?? null
  }

  /** Delivers what was accepted, in order. What cannot be delivered now stays accepted. */
  async deliverPrompts(sessionId: string): Promise<void> {
    await this.#deps.localLocks.run(`prompts ${sessionId}`, async () => {
      const kept = this.#kept.get(sessionId)
      if (kept === undefined) return
      for (const prompt of await acceptedPrompts(this.#deps.db, sessionId)) {
        this.#deps.warm.isNeeded()
        const begins = kept.follower.beginTurn(prompt)
        const outcome = await sendPrompt(kept.daemon, { text: prompt.text, prompt_id: prompt.prompt_id })
        if (outcome.kind === 'ok') {
          kept.follower.adopt(outcome.value.runtime_session_id)
          // One that was taken back meanwhile must not run.
          if (!(await this.#settlePrompt(kept, prompt, 'delivered', null))) await abortRun(kept.daemon)
          kept.follower.promptSettled()
        } else if (outcome.kind === 'refused' && outcome.code !== 'runtime_booting') {
          const code = promptErrorCode.test(outcome.code) ? outcome.code : 'prompt_failed'
          const failure = { code, message: kept.redactor.text(outcome.reason) }
          // Before the end of the turn, so that a reader knows which prompt failed.
          await this.#settlePrompt(kept, prompt, 'failed', failure)
          if (begins) kept.follower.failTurn(failure)
          else this.#deps.feed.publish(sessionId, { type: 'turn', status: 'error', error: failure.message })
        } else {
          this.#deps.log.info(
            { session_id: sessionId, reason: outcome.reason },
            'a prompt waits: the daemon does not take it yet',
          )
          return
        }
      }
    })
  }

  /** Takes back what the agent did not get yet. */
  async cancelPrompts(sessionId: string): Promise<void> {
    const kept = this.#kept.get(sessionId)
    if (kept === undefined) return
    const reason = { code: 'cancelled', message: 'Cancelled before the agent got it.' }
    for (const prompt of await acceptedPrompts(this.#deps.db, sessionId))
      await this.#settlePrompt(kept, prompt, 'cancelled', reason)
  }

  async #settlePrompt(
    kept: Kept,
    prompt: AcceptedPrompt,
    status: 'delivered' | 'failed' | 'cancelled',
    error: PromptError | null,
  ): Promise<boolean> {
    const result = { status, text: kept.redactor.text(prompt.text), error, at: this.#deps.now() }
    const isSettled = await settlePrompt(this.#deps.db, prompt.prompt_id, result)
    if (isSettled && error !== null) await kept.follower.failPrompt(prompt, error.message)
    return isSettled
  }

  /** Gives the agent the answers of people. What it does not take now is delivered later. */
  async deliverAnswers(sessionId: string): Promise<void> {
    const questions = this.#kept.get(sessionId)?.follower.questions
    if (questions !== undefined) await this.#deps.localLocks.run(`answers ${sessionId}`, () => questions.deliver())
  }

  /** Ends every sandbox of this server: they live and die with it. */
  async close(): Promise<void> {
    this.#closed = true
    for (const [sessionId] of this.#provisioning) this.interrupt(sessionId)
    await Promise.all(this.#running)
    await this.#deps.warm.close()
    await Promise.all([...this.#kept.keys()].map((sessionId) => this.#release(sessionId)))
    for (const sandbox of (await this.#deps.sandboxes?.list()) ?? [])
      await this.#deps.sandboxes?.stop(sandbox.sandboxId)
  }

  async #settle(sessionId: string): Promise<void> {
    this.#interrupted.delete(sessionId)
    const session = await getSessionById(this.#deps.db, sessionId)
    if (session === null) return
    if (session.status !== 'provisioning' && session.status !== 'running') return
    if (session.desired === 'stopped') return this.#stopAsMeant(session)
    const { instanceId, pulse } = this.#deps
    const staleSeconds = pulse.deadAfterSeconds()
    if (await isKeptElsewhere(this.#deps.db, session, { instanceId, staleSeconds })) return
    if (session.status === 'running') return this.#checkRunning(session)
    return this.#start(session)
  }

  async #start(session: SessionWithSandbox): Promise<void> {
    const { sandboxes } = this.#deps
    if (sandboxes === null)
      return this.#fail(session, 'This server was started without a sandbox driver (SVC_SANDBOX_DRIVER=none).')
    const commit = this.#claims.get(session.session_id)
    this.#claims.delete(session.session_id)
    if (session.sandbox !== null && commit !== undefined)
      return this.#provision(session, { sandboxId: session.sandbox.sandbox_id, commit })
    if (session.sandbox !== null) {
      const lost = this.#lostLately(await sandboxesOf(this.#deps.db, session.session_id))
      if (lost >= lostMax) return this.#fail(session, `The start was interrupted ${lost} times.`)
      await this.#beginAgain(session)
      const again = await getSessionById(this.#deps.db, session.session_id)
      return again === null ? undefined : this.#provision(again)
    }
    return this.#provision(session)
  }

  /** From nothing, or with a sandbox that waited for it. */
  async #provision(session: SessionWithSandbox, warm: { sandboxId: string; commit: string } | null = null) {
    const { db, log } = this.#deps
    const driver = this.#deps.sandboxes
    if (driver === null || this.#closed) return
    const sandboxId = warm?.sandboxId ?? this.#deps.newId()
    const abort = new AbortController()
    this.#provisioning.set(session.session_id, { sandboxId, abort })
    if (this.#interrupted.has(session.session_id)) this.interrupt(session.session_id)
    if (warm === null) this.#deps.warm.startBegins()
    else this.#deps.warm.isNeeded()
    try {
      const { sandbox, runtimeSessionId } =
        warm === null
          ? await this.#boots.run(abort.signal, () => provision(this.#deps, driver, session, sandboxId, abort.signal))
          : await claimWarm(this.#deps, driver, session, warm)
      const firstPrompt = session.initial_prompt_delivered_at === null ? session.initial_prompt : null
      const begins = firstPrompt !== null
      const becameRunning = await db.transaction().execute(async (trx) => {
        await updateSandbox(trx, sandboxId, { status: 'active' })
        if (firstPrompt !== null)
          await updateSession(trx, session.session_id, {
            initial_prompt: this.#deps.redaction.of(session.session_id).text(firstPrompt),
            initial_prompt_delivered_at: this.#deps.now().toISOString(),
          })
        return moveSession(trx, {
          sessionId: session.session_id,
          generation: session.generation,
          from: ['provisioning'],
          to: 'running',
          error: null,
          isBusy: begins,
        })
      })
      if (!becameRunning) throw new SandboxError('aborted', 'The session was changed while it was starting.')
      // It can have ended since it was ready: nobody would hear of that any more once it counts as running.
      abort.signal.throwIfAborted()
      this.#keep(session, {
        daemonSocket: sandbox.daemonSocket,
        sandboxId,
        runtimeSessionId,
        firstPrompt,
      })
      log.info({ session_id: session.session_id, sandbox_id: sandboxId }, 'a session is running')
      await this.#announce(session.session_id)
      await this.deliverPrompts(session.session_id)
    } catch (error) {
      const trouble = await driver.memoryTrouble(sandboxId)
      await driver.stop(sandboxId)
      // A closing server leaves the session as it was: the next start takes it up again.
      if (this.#closed || error instanceof ClaimedElsewhere) return
      const current = await getSessionById(db, session.session_id)
      if (current === null) return
      if (current.desired === 'stopped') return await this.#stopAsMeant(current)
      if (warm !== null) return await this.#startCold(session, error)
      log.warn({ err: error, session_id: session.session_id }, 'a session could not be started')
      await this.#fail(session, trouble === null ? reasonOf(error) : `${reasonOf(error)} The sandbox ran ${trouble}.`)
    } finally {
      if (warm === null) this.#deps.warm.startEnds()
      this.#provisioning.delete(session.session_id)
    }
  }

  /** What was kept warm did not hold: the next generation boots from nothing. */
  async #startCold(session: SessionWithSandbox, cause: unknown): Promise<void> {
    this.#deps.log.warn({ err: cause, session_id: session.session_id }, 'a warm sandbox could not be claimed')
    await this.#beginAgain(session, reasonOf(cause))
    this.kick(session.session_id)
  }

  #keep(
    session: SessionWithSandbox,
    input: { daemonSocket: string; sandboxId: string; runtimeSessionId: string | null; firstPrompt: string | null },
  ): void {
    const daemon: DaemonAddress = {
      socket: input.daemonSocket,
      sandboxKey: sandboxKey(this.#deps, input.sandboxId),
      sessionId: session.session_id,
      generation: session.generation,
    }
    const redactor = this.#deps.redaction.of(session.session_id)
    const follower = new Follower(this.#deps, daemon, {
      redactor,
      userId: session.created_by ?? '',
      runtimeSessionId: input.runtimeSessionId,
      turn: input.firstPrompt === null ? 'idle' : 'busy',
      prompt:
        input.firstPrompt === null
          ? null
          : { prompt_id: session.session_id, text: input.firstPrompt, created_at: session.created_at },
      on: {
        trouble: (what) => this.#record(session.session_id, () => this.#tellTrouble(session, what)),
        givenUp: (reason) => this.#onExit(input.sandboxId, reason),
        turnKept: () => this.#record(session.session_id, () => this.#announce(session.session_id)),
      },
    })
    this.#kept.set(session.session_id, {
      daemon,
      missedAt: null,
      redactor,
      follower,
      wip: new WipWatch(this.#deps, daemon, () =>
        this.#record(session.session_id, () => this.#announce(session.session_id)),
      ),
    })
    follower.start()
  }

  async #tellTrouble(session: SessionWithSandbox, what: string | null): Promise<void> {
    const said = what === null ? null : this.#deps.redaction.of(session.session_id).text(what)
    if (await noteTrouble(this.#deps.db, session.session_id, session.generation, said))
      await this.#announce(session.session_id)
  }

  async #checkRunning(session: SessionWithSandbox): Promise<void> {
    const { sandbox } = session
    const kept = this.#kept.get(session.session_id)
    if (sandbox !== null && kept !== undefined) {
      if (await this.#deps.sandboxes?.find(sandbox.sandbox_id)) return
      // It ended just now, and why is on its way (`#onExit`): settled here it would end without its reason.
      kept.missedAt ??= Date.now()
      if (Date.now() - kept.missedAt < tellsWithinMs) return
    }
    const rows = await sandboxesOf(this.#deps.db, session.session_id)
    const current = rows.find((row) => row.generation === session.generation)
    const isOurs = current?.instance_id === this.#deps.instanceId
    // What was accepted is owed: the session starts again for it instead of resting, as long as starting helps.
    const owes = (await acceptedPrompts(this.#deps.db, session.session_id)).length > 0
    if (owes && this.#lostLately(rows) < lostMax) {
      await this.#release(session.session_id)
      await this.#beginAgain(session)
      this.kick(session.session_id)
      return
    }
    if (isOurs) return this.#fail(session, current?.error ?? 'The sandbox ended by itself.')
    return this.#stop(
      session,
      'The server that kept this sandbox stopped. What was pushed is on the branch; restart the session to go on.',
    )
  }

  /** How many sandboxes ended otherwise than by a stop, this one included. */
  #lostLately(rows: SandboxRow[]): number {
    const since = this.#deps.now().getTime() - lostWithinMs
    return rows.filter((row) => row.status !== 'stopped' && Date.parse(row.created_at) > since).length
  }

  /** The sandbox before the row: if we die here the sweep finds a row without a sandbox and finishes; the other order leaks a sandbox. */
  async #stop(session: SessionWithSandbox, reason: string | null): Promise<void> {
    await this.#end(session, { to: 'stopped', sandbox: reason === null ? 'stopped' : 'error', reason })
  }

  /** Its reason is not the sandbox's: that did nothing wrong. */
  async #stopAsMeant(session: SessionWithSandbox): Promise<void> {
    await this.#end(session, { to: 'stopped', sandbox: 'stopped', reason: session.stop_reason })
  }

  async #fail(session: SessionWithSandbox, reason: string): Promise<void> {
    await this.#end(session, { to: 'failed', sandbox: 'error', reason })
  }

  async #end(
    session: SessionWithSandbox,
    end: { to: 'stopped' | 'failed'; sandbox: 'stopped' | 'error'; reason: string | null },
  ): Promise<void> {
    const reason = end.reason === null ? null : this.#deps.redaction.of(session.session_id).text(end.reason)
    await this.#endSandboxes(session.session_id)
    await failpoint('session.settle.before_row')
    await this.#deps.db.transaction().execute(async (trx) => {
      const moved = await moveSession(trx, {
        sessionId: session.session_id,
        generation: session.generation,
        from: ['provisioning', 'running'],
        to: end.to,
        error: reason,
        desired: 'stopped',
      })
      // A later generation is another server's, and its credentials and sandbox are not ours to end.
      if (!moved) return
      await revokeCredentials(trx, session.session_id, this.#deps.now())
      await endSandboxes(trx, session.session_id, end.sandbox, reason)
    })
    await failpoint('session.settle.after_row')
    await this.#announce(session.session_id)
  }

  async #beginAgain(session: SessionWithSandbox, reason = 'The server that kept this sandbox stopped.'): Promise<void> {
    const said = this.#deps.redaction.of(session.session_id).text(reason)
    await this.#endSandboxes(session.session_id)
    await this.#deps.db.transaction().execute(async (trx) => {
      const now = await lockSession(trx, session.session_id, 'update')
      if (now?.generation !== session.generation) return
      await revokeCredentials(trx, session.session_id, this.#deps.now())
      await endSandboxes(trx, session.session_id, 'error', said)
      await beginGeneration(trx, session.session_id)
    })
  }

  async #endSandboxes(sessionId: string): Promise<void> {
    await this.#release(sessionId)
    for (const row of await sandboxesOf(this.#deps.db, sessionId)) await this.#deps.sandboxes?.stop(row.sandbox_id)
  }

  async #release(sessionId: string): Promise<void> {
    const kept = this.#kept.get(sessionId)
    this.#kept.delete(sessionId)
    // A refused agent ends its turn, so that what is saved next is whole.
    await kept?.follower.questions.reject(unansweredReason)
    // Whatever ends the sandbox, what is in it is saved before.
    await kept?.wip.end()
    await kept?.follower.stop()
  }

  async #announce(sessionId: string): Promise<void> {
    const session = await getSessionById(this.#deps.db, sessionId)
    if (session !== null)
      this.#deps.feed.publish(sessionId, { type: 'session', session: presentSession(this.#deps.config, session) })
  }

  /** Ends sandboxes of this server that no session means to have any more: the stop may have been another server's. */
  async endForsaken(): Promise<void> {
    // Those of sessions are named by an id alone; what has another name has another keeper.
    const living = ((await this.#deps.sandboxes?.list()) ?? []).filter(({ sandboxId }) => isUuid(sandboxId))
    const meant = new Set(
      await livingSandboxes(
        this.#deps.db,
        living.map(({ sandboxId }) => sandboxId),
      ),
    )
    for (const { sandboxId } of living) {
      if (meant.has(sandboxId)) continue
      for (const [sessionId, { daemon }] of this.#kept)
        if (daemon.sandboxKey === sandboxKey(this.#deps, sandboxId)) await this.#release(sessionId)
      await this.#deps.sandboxes?.stop(sandboxId)
    }
  }

  #onExit(sandboxId: string, reason: string): void {
    for (const starting of this.#provisioning.values())
      if (starting.sandboxId === sandboxId) starting.abort.abort(new SandboxError('boot-failed', reason))
    for (const [sessionId, { daemon, redactor, follower }] of this.#kept) {
      if (sandboxKey(this.#deps, sandboxId) !== daemon.sandboxKey) continue
      const said = redactor.text(reason)
      this.#deps.log.warn({ session_id: sessionId, sandbox_id: sandboxId, reason }, 'a sandbox ended by itself')
      // In the session's turn: who settles it finds the reason written, or the sandbox still kept.
      const write = async () => {
        if (this.#kept.get(sessionId)?.daemon !== daemon) return
        if (follower.turn === 'busy') follower.failTurn({ code: 'sandbox_ended', message: said })
        await this.#release(sessionId)
        await this.#deps.sandboxes?.stop(sandboxId)
        await updateSandbox(this.#deps.db, sandboxId, { error: said })
      }
      this.#record(sessionId, async () => {
        await this.#deps.localLocks.run(`session ${sessionId}`, write)
        this.kick(sessionId)
      })
    }
  }

  /** What happened to a sandbox, written by whoever heard of it first. */
  #record(sessionId: string, write: () => Promise<void>): void {
    write().catch((error: unknown) =>
      this.#deps.log.error({ err: error, session_id: sessionId }, 'what happened to a sandbox could not be recorded'),
    )
  }
}

/** The sentence a session shows for why it failed, with the line that mends it when there is one. */
function reasonOf(error: unknown): string {
  if (error instanceof SandboxError || error instanceof ServiceError)
    return error.hint === null ? error.message : `${error.message} ${error.hint}`
  if (error instanceof Error && (error as NodeJS.ErrnoException).code === 'ENOSPC')
    return 'The disk of the server is full.'
  return 'Something went wrong on our side while the session was starting; the log of the server says what.'
}
