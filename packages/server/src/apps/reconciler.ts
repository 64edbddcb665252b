/**
 * Moves deploys to their wanted state and runs the sandboxes that serve apps. All of its state is in the database, so
 * the next server goes on with the sandboxes that outlived this one, and another server makes them again.
 */
import type { AppLogLine } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import { withDeadline } from '../deadline.ts'
import type { Deployer, Deps } from '../deps.ts'
import '../failpoint.ts'
import { getProject } from '../projects/store.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { adoptWorkload } from '../sandboxes/adopt.ts'
import { failureReason, PermanentFailure } from '../sandboxes/failure-reason.ts'
import { followWorkload, timeOf } from '../sandboxes/follow-workload.ts'
import type { WatchReply, WorkloadDaemon } from '../sandboxes/workload-daemon.ts'
import { Workloads } from '../sandboxes/workloads.ts'
import { givenSecrets } from '../secrets/for-sandbox.ts'
import { appendLog, trimLog } from './log/store.ts'
import type { Serving } from './serving.ts'
import { makeAppSandbox } from './make.ts'
import {
  adoptableSandboxes,
  appendOutput,
  type Claim,
  claimDeploys,
  endUnwantedDeploys,
  failDeploy,
  goLive,
  liveStatuses,
  moveDeploy,
  ownedIds,
  releaseDeploys,
} from './store.ts'

type ReconcilerDeps = Omit<Deps, 'apps' | 'checks' | 'sessions' | 'warm'>

interface RunningApp extends Omit<Serving, 'daemon'> {
  /** `project id/slug`. */
  key: string
  claim: Claim
  daemon: WorkloadDaemon | null
  abort: AbortController
  isAdoptable: boolean
  /** Resolves when its first state is recorded, it begins again, or it has ended. */
  settled: PromiseWithResolvers<void>
  redactor: Redactor
  /** When it began to answer; null before. */
  readyAt: number | null
  /** Its row says that it ended, so its exit is not recorded again. */
  isReleased: boolean
}

const pausesMs = [1000, 2000, 4000, 8000, 15_000]
/** A deploy that loses its server this often never starts. */
const attemptsMax = 3
/** After running this long, an exit starts a new series of retries. */
const stableMs = 60_000
const drainMs = 10_000
const claimsAtOnce = 10
/** How long a pass waits until apps that it adopts serve. */
const adoptMsMax = 2_000

export class AppReconciler implements Deployer {
  readonly #deps: ReconcilerDeps
  readonly #apps: Workloads<RunningApp>
  readonly #serving = new Map<string, RunningApp & Serving>()

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
    this.#apps = new Workloads(deps, 'app')
  }

  serving(projectId: string, slug: string): Serving | null {
    return this.#serving.get(`${projectId}/${slug}`) ?? null
  }

  /** Reconciles in the background, so that a request need not wait for the job. */
  enqueue(): void {
    if (this.#deps.config.roles.worker) this.#apps.track(this.reconcile())
  }

  reconcile(): Promise<void> {
    return this.#deps.localLocks.run('apps', () => this.#reconcile())
  }

  async moveAway(projectId: string): Promise<void> {
    await releaseDeploys(this.#deps.db, { projectId, instanceId: this.#deps.instanceId })
    await this.reconcile()
  }

  close(how: { endsSandboxes: boolean }): Promise<number> {
    return this.#apps.close(how)
  }

  async #reconcile(): Promise<void> {
    if (this.#apps.isClosed) return
    const { db, config, instanceId, home, sandboxes } = this.#deps
    await db.transaction().execute((trx) => endUnwantedDeploys(this.#deps, trx))
    // Another request or server stopped, replaced or deleted these.
    const owned = await ownedIds(db, instanceId, [...this.#apps.byId.keys()])
    for (const app of this.#apps.byId.values()) if (!owned.has(app.deployId)) this.#release(app)
    const left = await this.#apps.stopOrphans((sandboxIds) => adoptableSandboxes(db, sandboxIds))
    if (config.appProvider === 'none' || this.#apps.isClosed) return
    const inHand = [...this.#apps.byId.keys()]
    const staleSeconds = this.#deps.heartbeat.deadAfterSeconds()
    const limit = claimsAtOnce + left.length
    for (const claim of await claimDeploys(this.#deps, { instanceId, home, inHand, left, staleSeconds, limit })) {
      const reason = 'This server was started without a sandbox driver (SVC_SANDBOX_DRIVER=none).'
      if (sandboxes === null) await failDeploy(this.#deps, { deployId: claim.deploy_id, instanceId }, reason)
      else this.#apps.track(this.#run(sandboxes, claim))
    }
    const adopting = [...this.#apps.byId.values()].filter(({ claim }) => claim.sandbox_id !== null)
    await withDeadline(Promise.all(adopting.map(({ settled }) => settled.promise)), adoptMsMax, () => null)
  }

  /** New requests no longer reach it; open ones may end first. */
  #release(app: RunningApp): void {
    if (app.isReleased) return
    app.isReleased = true
    app.isAdoptable = false
    this.#stopServing(app)
    const end = () => app.abort.abort(new PermanentFailure('It was ended.'))
    if (app.open === 0 || app.readyAt === null) return end()
    const until = Date.now() + drainMs
    const timer = setInterval(() => {
      if (app.open > 0 && Date.now() < until && !this.#apps.isClosed) return
      clearInterval(timer)
      end()
    }, 50)
  }

  async #run(driver: SandboxDriver, claim: Claim): Promise<void> {
    const sandboxId = claim.sandbox_id ?? this.#apps.newSandboxId()
    const app: RunningApp = {
      claim,
      deployId: claim.deploy_id,
      key: `${claim.project_id}/${claim.slug}`,
      sandboxId,
      daemon: null,
      port: claim.definition.port ?? 3000,
      open: 0,
      redactor: this.#deps.redaction.of(sandboxId),
      abort: new AbortController(),
      isAdoptable: claim.sandbox_id !== null,
      settled: Promise.withResolvers(),
      readyAt: null,
      isReleased: false,
    }
    this.#apps.byId.set(app.deployId, app)
    try {
      await this.#start(driver, app)
    } catch (error) {
      await this.#stopAfter(driver, app, app.abort.signal.aborted ? app.abort.signal.reason : error)
    } finally {
      // Before the map forgets it: the next pass would stop it as an orphan.
      await this.#apps.end(app)
      if (!this.#apps.isLeft(app)) this.#stopServing(app)
      this.#apps.byId.delete(app.deployId)
      app.settled.resolve()
    }
  }

  async #start(driver: SandboxDriver, app: RunningApp): Promise<void> {
    const { db, instanceId, log } = this.#deps
    const { claim, deployId } = app
    const { signal } = app.abort
    const isAdopted = claim.sandbox_id !== null && (await this.#adopt(driver, app, claim.sandbox_id))
    if (!isAdopted && !(await this.#make(driver, app))) return
    const { daemon, redactor, sandboxId } = app as RunningApp & Serving
    const held = { deployId, instanceId, sandboxId }
    await followWorkload<AppLogLine, never>(
      { log, redactor },
      daemon,
      {
        from: isAdopted ? claim.log_read : null,
        linesOf: ({ lines }) => lines.map(({ seq, at, stream, text }) => ({ seq, at: timeOf(at), stream, text })),
        append: async (lines, position) => {
          if (!(await appendOutput(db, held, lines, position))) this.#release(app)
        },
        trim: () => trimLog(db, deployId),
        onState: async (reply) => {
          await this.#onState(app, reply)
          app.settled.resolve()
          return null
        },
      },
      signal,
    )
  }

  /** Goes on with the sandbox that an earlier server left; false when it does not answer. */
  async #adopt(driver: SandboxDriver, app: RunningApp, sandboxId: string): Promise<boolean> {
    const { db, instanceId, log, redaction } = this.#deps
    const { claim, deployId } = app
    const { project_id: projectId, in_force: inForce, was } = claim
    const project = await getProject(db, projectId)
    if (project !== null) redaction.given(sandboxId, await givenSecrets(this.#deps, project, deployId))
    if (inForce !== null)
      app.daemon = await adoptWorkload(this.#deps, driver, { sandboxId, projectId, inForce }, app.abort.signal)
    if (app.daemon !== null) {
      if (liveStatuses.includes(was)) app.readyAt = Date.parse(claim.ready_at ?? claim.created_at)
      log.info({ app: claim.slug, deploy: claim.number, sandbox_id: sandboxId }, 'an app continues in its sandbox')
      return true
    }
    app.settled.resolve()
    app.isAdoptable = false
    await driver.stop(sandboxId)
    app.sandboxId = this.#apps.newSandboxId()
    app.redactor = redaction.of(app.sandboxId)
    const status = liveStatuses.includes(was) ? 'restarting' : 'building'
    const error = 'The server that ran it stopped, and its sandbox did not answer the next one.'
    await moveDeploy(db, { deployId, instanceId }, { status, error })
    return false
  }

  /** False when the deploy ended or another server has it. */
  async #make(driver: SandboxDriver, app: RunningApp): Promise<boolean> {
    const { db, instanceId } = this.#deps
    const { claim, deployId, sandboxId } = app
    const { signal } = app.abort
    const held = { deployId, instanceId }
    await failpoint('app.deploy.after_claim')
    if (!liveStatuses.includes(claim.was) && claim.attempts > attemptsMax)
      throw new PermanentFailure(`It was interrupted ${attemptsMax} times: the server that made it stopped each time.`)
    await this.#writeLine(app, `deploy #${claim.number} of ${claim.commit_sha.slice(0, 12)}${suffixOf(claim)}`)
    if (!(await moveDeploy(db, held, { sandbox_id: sandboxId, in_force: null, log_read: null }))) return false
    const { daemon, inForce } = await this.#apps.boots.run(signal, () =>
      makeAppSandbox(this.#deps, driver, { deploy: claim, sandboxId }, signal),
    )
    app.daemon = daemon
    app.isAdoptable = await moveDeploy(db, held, { in_force: JSON.stringify(inForce) })
    return true
  }

  async #stopAfter(driver: SandboxDriver, app: RunningApp, cause: unknown): Promise<void> {
    if (this.#apps.isLeft(app)) return
    const { claim, sandboxId } = app
    const memory = await driver.memoryTrouble(sandboxId)
    // Before the exit is recorded: no request may reach a sandbox that is gone.
    this.#stopServing(app)
    await driver.stop(sandboxId)
    if (this.#apps.isClosed || app.isReleased) return
    if (!(cause instanceof PermanentFailure))
      this.#deps.log.warn(
        { err: cause, project_id: claim.project_id, app: claim.slug, deploy: claim.number, sandbox_id: sandboxId },
        'running an app failed',
      )
    await this.#recordExit(app, failureReason(cause, 'the app was deployed', memory), cause instanceof GivenUp)
  }

  /** Another deploy may already serve in its place. */
  #stopServing({ key, deployId }: RunningApp): void {
    if (this.#serving.get(key)?.deployId === deployId) this.#serving.delete(key)
  }

  /** A deploy that never served has failed. One that served restarts after a pause, until the retries are used up. */
  async #recordExit(app: RunningApp, exit: string, isGivenUp: boolean): Promise<void> {
    const { db, instanceId, log, now } = this.#deps
    const { claim, deployId, readyAt } = app
    const reason = app.redactor.text(exit)
    const served = hasServed(app)
    const attempts = readyAt !== null && Date.now() - readyAt > stableMs ? 0 : claim.attempts
    const pause = isGivenUp ? undefined : pausesMs[attempts]
    log.info({ app: claim.slug, deploy: claim.number, reason }, 'a deploy of an app ended')
    await this.#writeLine(app, reason)
    if (!served || pause === undefined) {
      const retried = served && !isGivenUp ? ` It was restarted ${attempts} times without success.` : ''
      return failDeploy(this.#deps, { deployId, instanceId }, reason + retried)
    }
    const next = new Date(now().getTime() + pause)
    const set = { status: 'restarting', error: reason, attempts, next_attempt_at: next } as const
    await moveDeploy(db, { deployId, instanceId }, set)
  }

  async #onState(app: RunningApp, { state, error: given }: WatchReply): Promise<void> {
    const { db, instanceId } = this.#deps
    const error = given === null ? null : app.redactor.text(given)
    const deploy = { deployId: app.deployId, instanceId }
    switch (state) {
      case 'waiting':
      case 'unpacking':
      case 'building':
        return
      case 'starting':
        if (!hasServed(app)) await moveDeploy(db, deploy, { status: 'starting' })
        return
      case 'ready':
        return this.#onReady(app)
      case 'restarting':
        await moveDeploy(db, deploy, { status: 'restarting', error })
        return
      case 'failed':
        throw new (app.readyAt === null ? PermanentFailure : GivenUp)(error ?? 'It failed without a reason.')
      case 'done':
        throw new PermanentFailure('Its daemon reports that the app is done, but an app runs until it is stopped.')
      default:
        return state satisfies never
    }
  }

  /** It answers, so it serves from here on, and the deploy that served before is released. */
  async #onReady(app: RunningApp): Promise<void> {
    const { db, instanceId, log } = this.#deps
    const deploy = { deployId: app.deployId, instanceId }
    const served = hasServed(app)
    await failpoint('app.deploy.before_switch')
    const switched = served
      ? (await moveDeploy(db, deploy, { status: 'running', error: null })) && { replaced: null }
      : await goLive(this.#deps, deploy)
    // Stopped, or removed from svc.toml, at the last moment.
    if (!switched) return this.#release(app)
    app.readyAt ??= Date.now()
    this.#serving.set(app.key, app as RunningApp & Serving)
    await failpoint('app.deploy.after_switch')
    if (!served) log.info({ app: app.claim.slug, deploy: app.claim.number }, 'an app is deployed')
    const before = switched.replaced === null ? undefined : this.#apps.byId.get(switched.replaced)
    if (before !== undefined) this.#release(before)
  }

  async #writeLine({ deployId }: RunningApp, text: string): Promise<void> {
    const line: AppLogLine = { at: this.#deps.now().toISOString(), stream: 'svc', text }
    await appendLog(this.#deps.db, deployId, [line]).catch((error: unknown) =>
      this.#deps.log.warn({ err: error, deploy_id: deployId }, 'storing a line of the log of an app failed'),
    )
  }
}

/** Its daemon restarted the program repeatedly without success. */
class GivenUp extends PermanentFailure {}

const hasServed = ({ readyAt, claim }: RunningApp) => readyAt !== null || liveStatuses.includes(claim.was)

function suffixOf(claim: Claim): string {
  if (claim.was === 'running' || claim.was === 'restarting') return ', restarted'
  if (claim.cause === 'rollback') return `, a rollback to #${claim.rollback_of}`
  return claim.attempts > 1 ? ', another attempt' : ''
}
