/** Runs checks, each in a sandbox of its own. What it needs to know is in the database, so another server can run what a dead one began. */
import { availableParallelism } from 'node:os'
import type { CheckLogLine } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { pause } from '../pause.ts'
import { RedactedLines } from '../redaction/lines.ts'
import { quotasOf } from '../projects/quotas.ts'
import { getProject } from '../projects/store.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { type AppDaemon, AppDaemonError, isAway, watchApp, type WatchReply } from '../sessions/app-daemon.ts'
import { BootQueue } from '../sessions/boot-queue.ts'
import { appendLog, trimLog } from './log-store.ts'
import { CannotRun, makeCheck, NotWanted, reasonOf } from './make.ts'
import { claim, finish, release } from './settle.ts'
import { moveRun, type RunRow, startsMax, stillOurs } from './store.ts'

type KeeperDeps = Omit<Deps, 'apps' | 'checks' | 'keeper' | 'warm'>

interface Kept {
  run: RunRow
  sandboxId: string
  abort: AbortController
  redactor: Redactor
}

interface End {
  status: 'passed' | 'failed' | 'error' | 'cancelled'
  reason: string | null
  exit_code: number | null
}

const watchMs = 10_000
/** With lines that wait for what may follow. */
const holdMs = 1_000
/** Between two looks at a check that talks; one that has said more than a person reads is listened to less often. */
const talkMs = 300
const floodMs = 3_000
const floodChars = 2 * 1024 * 1024
const silentMax = 20
const trimEvery = 20
/** For booting, sending the files and hearing how it ended, beyond what the command may take. */
const graceMs = 10 * 60_000

export class CheckKeeper {
  readonly #deps: KeeperDeps
  readonly #kept = new Map<string, Kept>()
  readonly #boots = new BootQueue(availableParallelism())
  readonly #running = new Set<Promise<void>>()
  #closed = false

  constructor(deps: KeeperDeps) {
    this.#deps = deps
    deps.metrics.boots.set('checks', this.#boots)
    deps.sandboxes?.onExit(({ sandboxId, reason }) => {
      for (const kept of this.#kept.values()) if (kept.sandboxId === sandboxId) kept.abort.abort(new CannotRun(reason))
    })
  }

  settle(): Promise<void> {
    return this.#deps.localLocks.run('checks', () => this.#settle())
  }

  /** Ends every sandbox of this server; what ran in them waits for another. */
  async close(): Promise<void> {
    this.#closed = true
    for (const kept of this.#kept.values()) kept.abort.abort(new CannotRun('The server is stopping.'))
    await Promise.all(this.#running)
  }

  async #settle(): Promise<void> {
    if (this.#closed) return
    const { config, instanceId, sandboxes } = this.#deps
    await this.#letGoOfOthers()
    if (config.databaseUrl === null && (sandboxes === null || config.checks.atOnce === 0)) return this.#refuseAll()
    const limit = config.checks.atOnce - this.#kept.size
    if (this.#closed || sandboxes === null || limit <= 0) return
    const inHand = [...this.#kept.keys()]
    const { perAccount } = config.checks
    for (const run of await claim(this.#deps, {
      instanceId,
      inHand,
      staleSeconds: this.#deps.pulse.deadAfterSeconds(),
      limit,
      perAccount,
    }))
      this.#track(this.#run(sandboxes, run))
  }

  /** Another server may run them where there can be another; where there is none, nobody waits for it. */
  async #refuseAll(): Promise<void> {
    const { instanceId, sandboxes } = this.#deps
    const reason =
      sandboxes === null
        ? 'This server was started without a sandbox driver (SVC_SANDBOX_DRIVER=none).'
        : 'Checks are off on this server (SVC_CHECKS_AT_ONCE=0).'
    const staleSeconds = this.#deps.pulse.deadAfterSeconds()
    const all = { instanceId, inHand: [...this.#kept.keys()], staleSeconds, limit: 100, perAccount: 100 }
    for (const { run_id: runId, starts } of await claim(this.#deps, all))
      await finish(this.#deps, { runId, instanceId, starts }, ended('error', reason))
  }

  /** What was cancelled or taken over meanwhile, and sandboxes of which nobody knows. */
  async #letGoOfOthers(): Promise<void> {
    const { db, instanceId, sandboxes } = this.#deps
    const ours = await stillOurs(db, instanceId, [...this.#kept.keys()])
    for (const kept of this.#kept.values())
      if (!ours.has(kept.run.run_id)) kept.abort.abort(new NotWanted('It was ended.'))
    const known = new Set([...this.#kept.values()].map(({ sandboxId }) => sandboxId))
    for (const { sandboxId } of (await sandboxes?.list()) ?? [])
      if (sandboxId.startsWith('check-') && !known.has(sandboxId)) await sandboxes?.stop(sandboxId)
  }

  async #run(driver: SandboxDriver, run: RunRow): Promise<void> {
    const { newId, instanceId, redaction } = this.#deps
    const sandboxId = `check-${newId().replaceAll('-', '')}`
    const redactor = redaction.of(sandboxId)
    const kept: Kept = { run, sandboxId, abort: new AbortController(), redactor }
    const held = { runId: run.run_id, instanceId, starts: run.starts }
    this.#kept.set(run.run_id, kept)
    try {
      const end = await this.#toItsEnd(driver, kept)
      await driver.stop(sandboxId)
      if (end === null) await release(this.#deps, held)
      else {
        await failpoint('check.before_end')
        const reason = end.reason === null ? null : redactor.text(end.reason)
        await finish(this.#deps, held, { ...end, reason })
        await failpoint('check.after_end')
      }
    } finally {
      // Before it is out of our hands, or the next look takes it for one that nobody has.
      await driver.stop(sandboxId)
      this.#kept.delete(run.run_id)
    }
  }

  /** Null when the server stops: it is somebody else's then. */
  async #toItsEnd(driver: SandboxDriver, kept: Kept): Promise<End | null> {
    const { db, config, instanceId, log } = this.#deps
    const { run, sandboxId } = kept
    const lateMs = config.checks.minutesMax * 60_000 + graceMs
    const late = AbortSignal.timeout(lateMs)
    const signal = AbortSignal.any([kept.abort.signal, late])
    try {
      await failpoint('check.after_claim')
      if (run.starts > startsMax)
        throw new CannotRun(`It was interrupted ${startsMax} times: the server that ran it stopped each time.`)
      await this.#say(kept, `attempt ${run.attempt} on the files ${run.tree_sha.slice(0, 12)}${againOf(run)}`)
      const held = { runId: run.run_id, instanceId, starts: run.starts }
      if ((await moveRun(db, held, { sandbox_id: sandboxId })) === null) throw new NotWanted('It was ended.')
      const daemon = await this.#boots.run(signal, () => makeCheck(this.#deps, driver, { run, sandboxId }, signal))
      const end = await this.#follow(kept, daemon, signal)
      const trouble = end.status === 'passed' ? null : await driver.memoryTrouble(sandboxId)
      return trouble === null ? end : { ...end, reason: `${end.reason} The sandbox ran ${trouble}.` }
    } catch (error) {
      const cause = signal.aborted ? (signal.reason as unknown) : error
      if (this.#closed) return null
      if (cause === late.reason)
        return ended('failed', `It was ended: nothing was heard of it within ${lateMs / 60_000} minutes.`)
      if (cause instanceof NotWanted) return ended('cancelled', cause.message)
      if (!(cause instanceof CannotRun))
        log.warn(
          { err: cause, project_id: run.project_id, check: run.name, sandbox_id: sandboxId },
          'a check could not be run',
        )
      const trouble = await driver.memoryTrouble(sandboxId)
      const reason = trouble === null ? reasonOf(cause) : `${reasonOf(cause)} The sandbox ran ${trouble}.`
      await this.#say(kept, reason)
      return ended('error', reason)
    }
  }

  /** Until its command ends. Whatever cannot be written now is read again. */
  async #follow(kept: Kept, daemon: AppDaemon, signal: AbortSignal): Promise<End> {
    const { log } = this.#deps
    const runId = kept.run.run_id
    const project = await getProject(this.#deps.db, kept.run.project_id)
    const { checkLogBytes: logBytesMax } =
      project === null ? this.#deps.config.quotas : quotasOf(this.#deps.config, project)
    let after = 0
    let state: WatchReply['state'] | null = null
    let silent = 0
    let chunks = 0
    let chars = 0
    let lines = new RedactedLines<CheckLogLine>(kept.redactor)
    for (;;) {
      signal.throwIfAborted()
      try {
        const reply = await watchApp(daemon, { after, state, wait_ms: lines.isHolding ? holdMs : watchMs }, signal)
        silent = 0
        const said = lines.take(linesOf(reply, after))
        // Silence: what the last words could have begun does not come.
        if (reply.lines.length === 0) said.push(...lines.rest())
        await appendLog(this.#deps.db, runId, said)
        if (++chunks % trimEvery === 0) await trimLog(this.#deps.db, runId, logBytesMax)
        after = reply.lines.at(-1)?.seq ?? after
        chars += said.reduce((sum, { text }) => sum + text.length, 0)
        const isOver = reply.state === 'done' || reply.state === 'failed'
        // What it said comes before what became of it.
        if (isOver && reply.lines.length === 0) {
          await trimLog(this.#deps.db, runId, logBytesMax)
          return reply.state === 'done'
            ? { status: 'passed', reason: null, exit_code: reply.exit_code }
            : { status: 'failed', reason: reply.error ?? 'It failed and does not say why.', exit_code: reply.exit_code }
        }
        if (!isOver) state = reply.state
        if (reply.lines.length > 0 && !isOver) await pause(chars > floodChars ? floodMs : talkMs, signal)
      } catch (error) {
        signal.throwIfAborted()
        lines = new RedactedLines<CheckLogLine>(kept.redactor)
        if (error instanceof AppDaemonError || isAway(error)) {
          if (++silent > silentMax) throw new CannotRun('The daemon in its sandbox does not answer any more.')
        } else log.warn({ err: error, run_id: runId }, 'what a check wrote was not kept; it is read again')
        await pause(500, signal)
      }
    }
  }

  async #say(kept: Kept, text: string): Promise<void> {
    const line: CheckLogLine = { at: this.#deps.now().toISOString(), stream: 'svc', text: kept.redactor.text(text) }
    await appendLog(this.#deps.db, kept.run.run_id, [line]).catch((error: unknown) =>
      this.#deps.log.warn({ err: error, run_id: kept.run.run_id }, 'a line of the log of a check was not kept'),
    )
  }

  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .catch((error: unknown) => this.#deps.log.error({ err: error }, 'a check was not settled; it is tried again'))
      .then(() => void this.#running.delete(tracked))
    this.#running.add(tracked)
  }
}

const ended = (status: End['status'], reason: string): End => ({ status, reason, exit_code: null })

const againOf = (run: RunRow) => (run.starts > 1 ? ', once more: the server that ran it stopped' : '')

/** Its daemon keeps the newest: what came faster than it was asked for is gone, and that is said. */
function linesOf(reply: WatchReply, after: number): CheckLogLine[] {
  const [first] = reply.lines
  const lost = first === undefined ? 0 : first.seq - after - 1
  const timeOf = (ms: number) => new Date(ms).toISOString()
  const gap: CheckLogLine[] =
    first === undefined || lost <= 0
      ? []
      : [{ at: timeOf(first.at), stream: 'svc', text: `… ${lost} lines came too fast to be kept` }]
  return [
    ...gap,
    ...reply.lines.map(({ at, stream, text }) => ({
      at: timeOf(at),
      stream: stream === 'svc' ? ('svc' as const) : ('output' as const),
      text,
    })),
  ]
}
