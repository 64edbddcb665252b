/**
 * Runs checks, each in its own sandbox. All of its state is in the database, so the next server goes on with the sandboxes
 * that outlived this one, and another server repeats what a dead one began.
 */
import type { CheckLogLine } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import { isDatabaseUnavailable } from '../db/unavailable.ts'
import type { CheckRunner, Deps } from '../deps.ts'
import '../failpoint.ts'
import { quotasOf } from '../projects/quotas.ts'
import { getProject } from '../projects/store.ts'
import type { LogPosition } from '../redaction/lines.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { adoptWorkload } from '../sandboxes/adopt.ts'
import { failureReason, PermanentFailure } from '../sandboxes/failure-reason.ts'
import { followWorkload, readEveryMs, timeOf } from '../sandboxes/follow-workload.ts'
import type { WatchReply, WorkloadDaemon } from '../sandboxes/workload-daemon.ts'
import { Workloads } from '../sandboxes/workloads.ts'
import { appendLog, trimLog } from './log-store.ts'
import { CheckCancelled, makeCheckSandbox } from './make.ts'
import {
  adoptableSandboxes,
  appendOutput,
  type Claim,
  type ClaimInput,
  claimRuns,
  finishRun,
  type Held,
  leaveRun,
  moveRun,
  ownedIds,
  releaseRun,
  releaseRunsOf,
  startsMax,
} from './store.ts'

type ReconcilerDeps = Omit<Deps, 'apps' | 'checks' | 'sessions' | 'warm'>

interface RunningCheck {
  run: Claim
  held: Held
  sandboxId: string
  abort: AbortController
  isAdoptable: boolean
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

  async moveAway(projectId: string): Promise<void> {
    await releaseRunsOf(this.#deps.db, { projectId, instanceId: this.#deps.instanceId })
    await this.reconcile()
  }

  close(how: { endsSandboxes: boolean }): Promise<number> {
    return this.#checks.close(how)
  }

  async #reconcile(): Promise<void> {
    if (this.#checks.isClosed) return
    const { db, config, instanceId, sandboxes } = this.#deps
    const { atOnce, perAccount } = config.checks
    const owned = await ownedIds(db, instanceId, [...this.#checks.byId.keys()])
    for (const { run, abort } of this.#checks.byId.values())
      if (!owned.has(run.run_id)) abort.abort(new CheckCancelled('It was ended.'))
    const left = await this.#checks.stopOrphans(async (sandboxIds) =>
      atOnce === 0 ? new Set() : adoptableSandboxes(db, sandboxIds),
    )
    // With a shared database another server may run them. Without one, none will.
    if (config.databaseUrl === null && (sandboxes === null || atOnce === 0)) return this.#refuseAll()
    const limit = atOnce - this.#checks.byId.size
    if (this.#checks.isClosed || sandboxes === null || limit <= 0) return
    for (const run of await claimRuns(this.#deps, this.#claimInput(limit, perAccount, left)))
      this.#checks.track(this.#run(sandboxes, run))
  }

  #claimInput(limit: number, perAccount: number, left: string[] = []): ClaimInput {
    const { instanceId, home, heartbeat } = this.#deps
    const inHand = [...this.#checks.byId.keys()]
    return { instanceId, home, inHand, left, staleSeconds: heartbeat.deadAfterSeconds(), limit, perAccount }
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

  async #run(driver: SandboxDriver, run: Claim): Promise<void> {
    const sandboxId = run.sandbox_id ?? this.#checks.newSandboxId()
    const check: RunningCheck = {
      run,
      held: { runId: run.run_id, instanceId: this.#deps.instanceId, starts: run.starts },
      sandboxId,
      abort: new AbortController(),
      isAdoptable: run.sandbox_id !== null,
      redactor: this.#deps.redaction.of(sandboxId),
    }
    const { held } = check
    this.#checks.byId.set(run.run_id, check)
    try {
      const end = await this.#resultOf(driver, check)
      if (end !== null) {
        await failpoint('check.before_end')
        const reason = end.reason === null ? null : check.redactor.text(end.reason)
        // Before its sandbox ends, which keeps the result for the next server.
        await finishRun(this.#deps, held, { ...end, reason })
        check.isAdoptable = false
        await failpoint('check.after_end')
      } else if (this.#checks.isLeft(check)) await leaveRun(this.#deps, held)
      else {
        await driver.stop(check.sandboxId)
        await releaseRun(this.#deps, held)
      }
    } finally {
      // Before the map forgets it: the next pass would stop it as an orphan.
      await this.#checks.end(check)
      this.#checks.byId.delete(run.run_id)
    }
  }

  /** Null when the server stops, or loses the database: the check runs again, here or at another server. */
  async #resultOf(driver: SandboxDriver, check: RunningCheck): Promise<End | null> {
    const { config, log } = this.#deps
    const { run } = check
    const lateMs = config.checks.minutesMax * 60_000 + graceMs
    const late = AbortSignal.timeout(lateMs)
    const signal = AbortSignal.any([check.abort.signal, late])
    try {
      const adopted = run.sandbox_id === null ? null : await this.#adopt(driver, check, signal)
      const daemon = adopted ?? (await this.#make(driver, check, signal))
      const end = await this.#follow(check, daemon, { from: adopted === null ? null : run.log_read, signal })
      const memory = end.status === 'passed' ? null : await driver.memoryTrouble(check.sandboxId)
      return memory === null ? end : { ...end, reason: `${end.reason} The sandbox ran ${memory}.` }
    } catch (error) {
      const cause = signal.aborted ? (signal.reason as unknown) : error
      if (this.#checks.isClosed || isDatabaseUnavailable(cause)) return null
      if (cause === late.reason)
        return ended('failed', `It was ended: it reported no result within ${lateMs / 60_000} minutes.`)
      if (cause instanceof CheckCancelled) return ended('cancelled', cause.message)
      if (!(cause instanceof PermanentFailure))
        log.warn(
          { err: cause, project_id: run.project_id, check: run.name, sandbox_id: check.sandboxId },
          'running a check failed',
        )
      const reason = failureReason(cause, 'the check was run', await driver.memoryTrouble(check.sandboxId))
      await this.#writeLine(check, reason)
      return ended('error', reason)
    }
  }

  /** Goes on with the sandbox that an earlier server left. Null when it does not answer; then the check runs again. */
  async #adopt(driver: SandboxDriver, check: RunningCheck, signal: AbortSignal): Promise<WorkloadDaemon | null> {
    const { log, redaction } = this.#deps
    const { run, sandboxId } = check
    const left = { sandboxId, projectId: run.project_id }
    const daemon =
      run.in_force === null ? null : await adoptWorkload(this.#deps, driver, { ...left, inForce: run.in_force }, signal)
    if (daemon !== null) {
      log.info({ check: run.name, sandbox_id: sandboxId }, 'a check continues in its sandbox')
      return daemon
    }
    check.isAdoptable = false
    await driver.stop(sandboxId)
    check.sandboxId = this.#checks.newSandboxId()
    check.redactor = redaction.of(check.sandboxId)
    return null
  }

  async #make(driver: SandboxDriver, check: RunningCheck, signal: AbortSignal): Promise<WorkloadDaemon> {
    const { db } = this.#deps
    const { run, held, sandboxId } = check
    await failpoint('check.after_claim')
    if (run.starts > startsMax)
      throw new PermanentFailure(`It was interrupted ${startsMax} times: the server that ran it stopped each time.`)
    const suffix = run.was === 'running' ? ', restarted because the server that ran it stopped' : ''
    await this.#writeLine(check, `attempt ${run.attempt} on the files ${run.tree_sha.slice(0, 12)}${suffix}`)
    if ((await moveRun(db, held, { sandbox_id: sandboxId, in_force: null, log_read: null })) === null)
      throw new CheckCancelled('It was ended.')
    const { daemon, inForce } = await this.#checks.boots.run(signal, () =>
      makeCheckSandbox(this.#deps, driver, { run, sandboxId }, signal),
    )
    check.isAdoptable = (await moveRun(db, held, { in_force: JSON.stringify(inForce) })) !== null
    return daemon
  }

  async #follow(
    check: RunningCheck,
    daemon: WorkloadDaemon,
    { from, signal }: { from: LogPosition | null; signal: AbortSignal },
  ): Promise<End> {
    const { run, held, redactor } = check
    const { db, config, log } = this.#deps
    const project = await getProject(db, run.project_id)
    const { checkLogBytes } = project === null ? config.quotas : quotasOf(config, project)
    const trim = () => trimLog(db, run.run_id, checkLogBytes)
    return followWorkload<CheckLogLine, End>(
      { log, redactor },
      daemon,
      {
        from,
        linesOf,
        append: async (lines, position) => {
          if (!(await appendOutput(this.#deps, held, lines, position)))
            check.abort.abort(new CheckCancelled('It was ended.'))
        },
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

/** The daemon keeps the newest lines only. A line states how many it dropped. */
function linesOf({ lines }: WatchReply, after: number): (CheckLogLine & { seq: number })[] {
  const [first] = lines
  const dropped = first === undefined ? 0 : first.seq - after - 1
  const read = lines.map(({ seq, at, stream, text }) => ({
    ...{ seq, at: timeOf(at), text },
    stream: stream === 'svc' ? ('svc' as const) : ('output' as const),
  }))
  if (first === undefined || dropped <= 0) return read
  const text = `… ${dropped === 1 ? '1 line is' : `${dropped} lines are`} missing: more than its sandbox keeps until a server has read them`
  return [{ seq: after + 1, at: timeOf(first.at), stream: 'svc', text }, ...read]
}
