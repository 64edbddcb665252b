/** Runs checks, each in its own sandbox. All of its state is in the database, so another server repeats what a dead one began. */
import type { CheckLogLine } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import type { CheckRunner, Deps } from '../deps.ts'
import '../failpoint.ts'
import { quotasOf } from '../projects/quotas.ts'
import { getProject } from '../projects/store.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { failureReason, PermanentFailure } from '../sandboxes/failure-reason.ts'
import { followWorkload, readEveryMs, timeOf } from '../sandboxes/follow-workload.ts'
import type { WatchReply, WorkloadDaemon } from '../sandboxes/workload-daemon.ts'
import { Workloads } from '../sandboxes/workloads.ts'
import { appendLog, trimLog } from './log-store.ts'
import { CheckCancelled, makeCheckSandbox } from './make.ts'
import {
  type ClaimInput,
  claimRuns,
  finishRun,
  moveRun,
  ownedIds,
  releaseRun,
  type RunRow,
  startsMax,
} from './store.ts'

type ReconcilerDeps = Omit<Deps, 'apps' | 'checks' | 'sessions' | 'warm'>

interface RunningCheck {
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

/** A check that wrote more than a person reads is read less often. */
const floodMs = 3_000
const floodChars = 2 * 1024 * 1024
/** For booting, sending the files and reading the result, beyond the time limit of the command. */
const graceMs = 10 * 60_000

export class CheckReconciler implements CheckRunner {
  readonly #deps: ReconcilerDeps
  readonly #checks: Workloads<RunningCheck>

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
    this.#checks = new Workloads(deps, 'check')
  }

  reconcile(): Promise<void> {
    return this.#deps.localLocks.run('checks', () => this.#reconcile())
  }

  close(): Promise<void> {
    return this.#checks.close()
  }

  async #reconcile(): Promise<void> {
    if (this.#checks.isClosed) return
    const { db, config, instanceId, sandboxes } = this.#deps
    const { atOnce, perAccount } = config.checks
    const owned = await ownedIds(db, instanceId, [...this.#checks.byId.keys()])
    for (const { run, abort } of this.#checks.byId.values())
      if (!owned.has(run.run_id)) abort.abort(new CheckCancelled('It was ended.'))
    await this.#checks.stopOrphans()
    // With a shared database another server may run them. Without one, none will.
    if (config.databaseUrl === null && (sandboxes === null || atOnce === 0)) return this.#refuseAll()
    const limit = atOnce - this.#checks.byId.size
    if (this.#checks.isClosed || sandboxes === null || limit <= 0) return
    for (const run of await claimRuns(this.#deps, this.#claimInput(limit, perAccount)))
      this.#checks.track(this.#run(sandboxes, run))
  }

  #claimInput(limit: number, perAccount: number): ClaimInput {
    const { instanceId, heartbeat } = this.#deps
    const inHand = [...this.#checks.byId.keys()]
    return { instanceId, inHand, staleSeconds: heartbeat.deadAfterSeconds(), limit, perAccount }
  }

  async #refuseAll(): Promise<void> {
    const { instanceId, sandboxes } = this.#deps
    const reason =
      sandboxes === null
        ? 'This server was started without a sandbox driver (SVC_SANDBOX_DRIVER=none).'
        : 'Checks are off on this server (SVC_CHECKS_AT_ONCE=0).'
    for (const { run_id: runId, starts } of await claimRuns(this.#deps, this.#claimInput(100, 100)))
      await finishRun(this.#deps, { runId, instanceId, starts }, ended('error', reason))
  }

  async #run(driver: SandboxDriver, run: RunRow): Promise<void> {
    const sandboxId = this.#checks.newSandboxId()
    const redactor = this.#deps.redaction.of(sandboxId)
    const check: RunningCheck = { run, sandboxId, abort: new AbortController(), redactor }
    const held = { runId: run.run_id, instanceId: this.#deps.instanceId, starts: run.starts }
    this.#checks.byId.set(run.run_id, check)
    try {
      const end = await this.#resultOf(driver, check)
      await driver.stop(sandboxId)
      if (end === null) await releaseRun(this.#deps, held)
      else {
        await failpoint('check.before_end')
        const reason = end.reason === null ? null : redactor.text(end.reason)
        await finishRun(this.#deps, held, { ...end, reason })
        await failpoint('check.after_end')
      }
    } finally {
      // Before the map forgets it: the next pass would stop it as an orphan.
      await driver.stop(sandboxId)
      this.#checks.byId.delete(run.run_id)
    }
  }

  /** Null when the server stops: another server runs it then. */
  async #resultOf(driver: SandboxDriver, check: RunningCheck): Promise<End | null> {
    const { db, config, instanceId, log } = this.#deps
    const { run, sandboxId } = check
    const lateMs = config.checks.minutesMax * 60_000 + graceMs
    const late = AbortSignal.timeout(lateMs)
    const signal = AbortSignal.any([check.abort.signal, late])
    try {
      await failpoint('check.after_claim')
      if (run.starts > startsMax)
        throw new PermanentFailure(`It was interrupted ${startsMax} times: the server that ran it stopped each time.`)
      const suffix = run.starts > 1 ? ', restarted because the server that ran it stopped' : ''
      await this.#writeLine(check, `attempt ${run.attempt} on the files ${run.tree_sha.slice(0, 12)}${suffix}`)
      const held = { runId: run.run_id, instanceId, starts: run.starts }
      if ((await moveRun(db, held, { sandbox_id: sandboxId })) === null) throw new CheckCancelled('It was ended.')
      const daemon = await this.#checks.boots.run(signal, () =>
        makeCheckSandbox(this.#deps, driver, { run, sandboxId }, signal),
      )
      const end = await this.#follow(check, daemon, signal)
      const memory = end.status === 'passed' ? null : await driver.memoryTrouble(sandboxId)
      return memory === null ? end : { ...end, reason: `${end.reason} The sandbox ran ${memory}.` }
    } catch (error) {
      const cause = signal.aborted ? (signal.reason as unknown) : error
      if (this.#checks.isClosed) return null
      if (cause === late.reason)
        return ended('failed', `It was ended: it reported no result within ${lateMs / 60_000} minutes.`)
      if (cause instanceof CheckCancelled) return ended('cancelled', cause.message)
      if (!(cause instanceof PermanentFailure))
        log.warn(
          { err: cause, project_id: run.project_id, check: run.name, sandbox_id: sandboxId },
          'running a check failed',
        )
      const reason = failureReason(cause, 'the check was run', await driver.memoryTrouble(sandboxId))
      await this.#writeLine(check, reason)
      return ended('error', reason)
    }
  }

  async #follow({ run, redactor }: RunningCheck, daemon: WorkloadDaemon, signal: AbortSignal): Promise<End> {
    const { db, config, log } = this.#deps
    const project = await getProject(db, run.project_id)
    const { checkLogBytes } = project === null ? config.quotas : quotasOf(config, project)
    const trim = () => trimLog(db, run.run_id, checkLogBytes)
    return followWorkload<CheckLogLine, End>(
      { log, redactor },
      daemon,
      {
        linesOf,
        append: (lines) => appendLog(db, run.run_id, lines),
        trim,
        async onState({ state, error, exit_code }) {
          if (state !== 'done' && state !== 'failed') return null
          await trim()
          return state === 'done'
            ? { status: 'passed', reason: null, exit_code }
            : { status: 'failed', reason: error ?? 'It failed without a reason.', exit_code }
        },
        pauseMs: (chars) => (chars > floodChars ? floodMs : readEveryMs),
      },
      signal,
    )
  }

  async #writeLine({ run, redactor }: RunningCheck, text: string): Promise<void> {
    const line: CheckLogLine = { at: this.#deps.now().toISOString(), stream: 'svc', text: redactor.text(text) }
    await appendLog(this.#deps.db, run.run_id, [line]).catch((error: unknown) =>
      this.#deps.log.warn({ err: error, run_id: run.run_id }, 'storing a line of the log of a check failed'),
    )
  }
}

const ended = (status: End['status'], reason: string): End => ({ status, reason, exit_code: null })

/** The daemon keeps the newest lines only. A line states how many of a fast writer it dropped. */
function linesOf({ lines }: WatchReply, after: number): CheckLogLine[] {
  const [first] = lines
  const dropped = first === undefined ? 0 : first.seq - after - 1
  const read = lines.map(({ at, stream, text }): CheckLogLine => ({
    at: timeOf(at),
    stream: stream === 'svc' ? 'svc' : 'output',
    text,
  }))
  if (first === undefined || dropped <= 0) return read
  const text = `… ${dropped} lines came too fast to be stored`
  return [{ at: timeOf(first.at), stream: 'svc', text }, ...read]
}
