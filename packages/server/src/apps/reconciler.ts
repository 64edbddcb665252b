/**
 * Moves deploys to their wanted state and runs the sandboxes that serve apps. All of its state is in the database, so
 * another server, or a later run of this one, continues where a run ended.
 */
import type { AppLogLine } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import type { Deployer, Deps } from '../deps.ts'
import '../failpoint.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { failureReason, PermanentFailure } from '../sandboxes/failure-reason.ts'
import { followWorkload, timeOf } from '../sandboxes/follow-workload.ts'
import type { WatchReply, WorkloadDaemon } from '../sandboxes/workload-daemon.ts'
import { Workloads } from '../sandboxes/workloads.ts'
import { appendLog, trimLog } from './log/store.ts'
import type { Serving } from './serving.ts'
import { makeAppSandbox } from './make.ts'
import {
  type Claim,
  claimDeploys,
  endUnwantedDeploys,
  failDeploy,
  goLive,
  liveStatuses,
  moveDeploy,
  ownedIds,
} from './store.ts'

type ReconcilerDeps = Omit<Deps, 'apps' | 'checks' | 'sessions' | 'warm'>

interface RunningApp extends Omit<Serving, 'daemon'> {
  /** `project id/slug`. */
  key: string
  claim: Claim
  daemon: WorkloadDaemon | null
  abort: AbortController
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

  close(): Promise<void> {
    return this.#apps.close()
  }

  async #reconcile(): Promise<void> {
    if (this.#apps.isClosed) return
    const { db, config, instanceId, sandboxes } = this.#deps
    await db.transaction().execute((trx) => endUnwantedDeploys(this.#deps, trx))
    // Another request or server stopped, replaced or deleted these.
    const owned = await ownedIds(db, instanceId, [...this.#apps.byId.keys()])
    for (const app of this.#apps.byId.values()) if (!owned.has(app.deployId)) this.#release(app)
    await this.#apps.stopOrphans()
    if (config.appProvider === 'none' || this.#apps.isClosed) return
    const inHand = [...this.#apps.byId.keys()]
    const staleSeconds = this.#deps.heartbeat.deadAfterSeconds()
    for (const claim of await claimDeploys(this.#deps, { instanceId, inHand, staleSeconds, limit: claimsAtOnce })) {
      const reason = 'This server was started without a sandbox driver (SVC_SANDBOX_DRIVER=none).'
      if (sandboxes === null) await failDeploy(this.#deps, { deployId: claim.deploy_id, instanceId }, reason)
      else this.#apps.track(this.#run(sandboxes, claim))
    }
  }

  /** New requests no longer reach it; open ones may end first. */
  #release(app: RunningApp): void {
    if (app.isReleased) return
    app.isReleased = true
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
    const sandboxId = this.#apps.newSandboxId()
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
      await driver.stop(sandboxId)
      this.#stopServing(app)
      this.#apps.byId.delete(app.deployId)
    }
  }

  async #start(driver: SandboxDriver, app: RunningApp): Promise<void> {
    const { db, instanceId, log } = this.#deps
    const { claim, deployId, sandboxId, redactor } = app
    const { signal } = app.abort
    await failpoint('app.deploy.after_claim')
    if (!liveStatuses.includes(claim.was) && claim.attempts > attemptsMax)
      throw new PermanentFailure(`It was interrupted ${attemptsMax} times: the server that made it stopped each time.`)
    await this.#writeLine(app, `deploy #${claim.number} of ${claim.commit_sha.slice(0, 12)}${suffixOf(claim)}`)
    if (!(await moveDeploy(db, { deployId, instanceId }, { sandbox_id: sandboxId }))) return
    app.daemon = await this.#apps.boots.run(signal, () =>
      makeAppSandbox(this.#deps, driver, { deploy: claim, sandboxId }, signal),
    )
    await followWorkload<AppLogLine, never>(
      { log, redactor },
      app.daemon,
      {
        linesOf: ({ lines }) => lines.map(({ at, stream, text }) => ({ at: timeOf(at), stream, text })),
        append: (lines) => appendLog(db, deployId, lines),
        trim: () => trimLog(db, deployId),
        onState: (reply) => this.#onState(app, reply),
      },
      signal,
    )
  }

  async #stopAfter(driver: SandboxDriver, app: RunningApp, cause: unknown): Promise<void> {
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

  async #onState(app: RunningApp, { state, error: given }: WatchReply): Promise<null> {
    const { db, instanceId } = this.#deps
    const error = given === null ? null : app.redactor.text(given)
    const deploy = { deployId: app.deployId, instanceId }
    switch (state) {
      case 'waiting':
      case 'unpacking':
      case 'building':
        return null
      case 'starting':
        if (!hasServed(app)) await moveDeploy(db, deploy, { status: 'starting' })
        return null
      case 'ready':
        await this.#onReady(app)
        return null
      case 'restarting':
        await moveDeploy(db, deploy, { status: 'restarting', error })
        return null
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
