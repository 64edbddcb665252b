/** Brings deploys to where they are meant to be, and keeps the sandboxes that serve. What it needs to know is in the database, so another server, or a later run, can go on where this one died. */
import { availableParallelism } from 'node:os'
import type { AppLogLine } from '@svc/contract'
import type { SandboxDriver } from '@svc/sandbox'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { RedactedLines } from '../redaction/lines.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { type AppDaemon, AppDaemonError, isAway, watchApp, type WatchReply } from '../sessions/app-daemon.ts'
import { BootQueue } from '../sessions/boot-queue.ts'
import { pause } from '../pause.ts'
import { appendLog, trimLog } from './log-store.ts'
import { CannotDeploy, makeApp, reasonOf } from './make.ts'
import { claim as claimFor, endWhatIsUnwanted, fail, goLive } from './settle.ts'
import { type Claim, living, moveDeploy, stillOurs } from './store.ts'

type KeeperDeps = Omit<Deps, 'apps' | 'checks' | 'keeper' | 'warm'>

export interface Serving {
  deployId: string
  sandboxId: string
  daemon: AppDaemon
  port: number
  /** Requests under way, so that who is replaced may end them. */
  open: number
}

interface Kept extends Omit<Serving, 'daemon'> {
  key: string
  claim: Claim
  daemon: AppDaemon | null
  abort: AbortController
  redactor: Redactor
  /** When it began to answer; null before. */
  readyAt: number | null
  /** Whoever ended it has written so. */
  isLetGo: boolean
}

const pausesMs = [1000, 2000, 4000, 8000, 15_000]
/** A deploy that lost its server this often never gets anywhere. */
const attemptsMax = 3
/** It ran that long: what happens now is news and no series. */
const settledMs = 60_000
const drainMs = 10_000
const watchMs = 10_000
/** With lines that wait for what may follow. */
const holdMs = 1_000
/** Between two looks at an app that talks without end. */
const talkMs = 300
const silentMax = 20
const claimsAtOnce = 10
const trimEvery = 20

export class AppKeeper {
  readonly #deps: KeeperDeps
  readonly #kept = new Map<string, Kept>()
  readonly #serving = new Map<string, Kept & Serving>()
  readonly #boots = new BootQueue(availableParallelism())
  readonly #running = new Set<Promise<void>>()
  #closed = false

  constructor(deps: KeeperDeps) {
    this.#deps = deps
    deps.metrics.boots.set('apps', this.#boots)
    deps.sandboxes?.onExit(({ sandboxId, reason }) => {
      for (const kept of this.#kept.values())
        if (kept.sandboxId === sandboxId) kept.abort.abort(new CannotDeploy(reason))
    })
  }

  /** What serves this app here, now. */
  serving(projectId: string, slug: string): Serving | null {
    return this.#serving.get(`${projectId}/${slug}`) ?? null
  }

  /** Somebody asked for something: no need to wait for the job. */
  kick(): void {
    if (!this.#deps.config.roles.worker) return
    this.#track(
      this.settle().catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'the apps could not be settled; it is tried again'),
      ),
    )
  }

  settle(): Promise<void> {
    return this.#deps.localLocks.run('apps', () => this.#settle())
  }

  /** Ends every sandbox of this server. Their rows stay as they are: the next server brings back what served. */
  async close(): Promise<void> {
    this.#closed = true
    for (const kept of this.#kept.values()) kept.abort.abort(new CannotDeploy('The server is stopping.'))
    await Promise.all(this.#running)
  }

  async #settle(): Promise<void> {
    if (this.#closed) return
    const { db, config, instanceId, sandboxes } = this.#deps
    await db.transaction().execute((trx) => endWhatIsUnwanted(this.#deps, trx))
    await this.#letGoOfOthers()
    if (config.appProvider === 'none' || this.#closed) return
    const inHand = [...this.#kept.keys()]
    const staleSeconds = this.#deps.pulse.deadAfterSeconds()
    for (const claim of await claimFor(this.#deps, { instanceId, inHand, staleSeconds, limit: claimsAtOnce })) {
      if (sandboxes === null)
        await fail(
          this.#deps,
          { deployId: claim.deploy_id, instanceId },
          'This server was started without a sandbox driver (SVC_SANDBOX_DRIVER=none).',
        )
      else this.#track(this.#run(sandboxes, claim))
    }
  }

  /** What was stopped, replaced or deleted meanwhile, here or by another server, and sandboxes of which nobody knows. */
  async #letGoOfOthers(): Promise<void> {
    const { db, instanceId, sandboxes } = this.#deps
    const ours = await stillOurs(db, instanceId, [...this.#kept.keys()])
    for (const kept of this.#kept.values()) if (!ours.has(kept.deployId)) this.#letGo(kept)
    const known = new Set([...this.#kept.values()].map(({ sandboxId }) => sandboxId))
    for (const { sandboxId } of (await sandboxes?.list()) ?? [])
      if (sandboxId.startsWith('app-') && !known.has(sandboxId)) await sandboxes?.stop(sandboxId)
  }

  /** Requests it is answering may end; new ones do not come to it. */
  #letGo(kept: Kept): void {
    if (kept.isLetGo) return
    kept.isLetGo = true
    if (this.#serving.get(kept.key)?.deployId === kept.deployId) this.#serving.delete(kept.key)
    const end = () => kept.abort.abort(new CannotDeploy('It was ended.'))
    if (kept.open === 0 || kept.readyAt === null) return end()
    const until = Date.now() + drainMs
    const timer = setInterval(() => {
      if (kept.open > 0 && Date.now() < until && !this.#closed) return
      clearInterval(timer)
      end()
    }, 50)
  }

  async #run(driver: SandboxDriver, claim: Claim): Promise<void> {
    const { db, instanceId, log, newId } = this.#deps
    const sandboxId = `app-${newId().replaceAll('-', '')}`
    const kept: Kept = {
      ...{ claim, deployId: claim.deploy_id, key: `${claim.project_id}/${claim.slug}`, daemon: null, open: 0 },
      ...{ sandboxId, redactor: this.#deps.redaction.of(sandboxId) },
      ...{ port: claim.definition.port ?? 3000, abort: new AbortController(), readyAt: null, isLetGo: false },
    }
    const { signal } = kept.abort
    this.#kept.set(kept.deployId, kept)
    const about = { project_id: claim.project_id, app: claim.slug, deploy: claim.number, sandbox_id: kept.sandboxId }
    try {
      await failpoint('app.deploy.after_claim')
      if (!living.includes(claim.was) && claim.attempts > attemptsMax)
        throw new CannotDeploy(`It was interrupted ${attemptsMax} times: the server that made it stopped each time.`)
      await this.#say(kept, `deploy #${claim.number} of ${claim.commit_sha.slice(0, 12)}${whyOf(claim)}`)
      if (!(await moveDeploy(db, { deployId: kept.deployId, instanceId }, { sandbox_id: kept.sandboxId }))) return
      kept.daemon = await this.#boots.run(signal, () =>
        makeApp(this.#deps, driver, { deploy: claim, sandboxId: kept.sandboxId }, signal),
      )
      await this.#follow(kept)
    } catch (error) {
      const cause = signal.aborted ? signal.reason : error
      const trouble = await driver.memoryTrouble(kept.sandboxId)
      // Before anyone is told that it ended: nobody is sent to a sandbox that is gone.
      this.#servesNoMore(kept)
      await driver.stop(kept.sandboxId)
      if (!this.#closed && !kept.isLetGo) {
        if (!(cause instanceof CannotDeploy)) log.warn({ ...about, err: cause }, 'an app could not be run')
        const reason = trouble === null ? reasonOf(cause) : `${reasonOf(cause)} The sandbox ran ${trouble}.`
        await this.#ended(kept, reason, cause instanceof GivenUp)
      }
    } finally {
      // Before it is out of our hands, or the next look takes it for one that nobody has.
      await driver.stop(kept.sandboxId)
      this.#servesNoMore(kept)
      this.#kept.delete(kept.deployId)
    }
  }

  /** Another deploy may serve in its place already. */
  #servesNoMore(kept: Kept): void {
    if (this.#serving.get(kept.key)?.deployId === kept.deployId) this.#serving.delete(kept.key)
  }

  /** A deploy that never served has failed. What served comes back after a pause, until that has not helped often enough. */
  async #ended(kept: Kept, why: string, isGivenUp: boolean): Promise<void> {
    const { db, instanceId, log, now } = this.#deps
    const reason = kept.redactor.text(why)
    const deploy = { deployId: kept.deployId, instanceId }
    const served = kept.readyAt !== null || living.includes(kept.claim.was)
    const ranLong = kept.readyAt !== null && Date.now() - kept.readyAt > settledMs
    const attempts = ranLong ? 0 : kept.claim.attempts
    const pause = isGivenUp ? undefined : pausesMs[attempts]
    log.info({ app: kept.claim.slug, deploy: kept.claim.number, reason }, 'a deploy of an app ended')
    await this.#say(kept, reason)
    if (!served || pause === undefined) {
      await fail(
        this.#deps,
        deploy,
        served && !isGivenUp ? `${reason} It was brought back ${attempts} times in vain.` : reason,
      )
      return
    }
    const next = new Date(now().getTime() + pause)
    await moveDeploy(db, deploy, { status: 'restarting', error: reason, attempts, next_attempt_at: next })
  }

  /** Until it ends. Whatever cannot be written now is read again. */
  async #follow(kept: Kept): Promise<void> {
    const { log } = this.#deps
    const { signal } = kept.abort
    let after = 0
    let state: WatchReply['state'] | null = null
    let silent = 0
    let chunks = 0
    let lines = new RedactedLines<AppLogLine>(kept.redactor)
    for (;;) {
      signal.throwIfAborted()
      try {
        const waitMs = lines.isHolding ? holdMs : watchMs
        const reply = await watchApp(kept.daemon!, { after, state, wait_ms: waitMs }, signal)
        silent = 0
        const said = lines.take(reply.lines.map(({ at, stream, text }) => ({ at: timeOf(at), stream, text })))
        // Silence: what the last words could have begun does not come.
        if (reply.lines.length === 0) said.push(...lines.rest())
        await this.#keepLines(kept, said, ++chunks)
        after = reply.lines.at(-1)?.seq ?? after
        // What it said comes before what became of it.
        if (reply.state !== state && (reply.state !== 'failed' || reply.lines.length === 0)) {
          await this.#moved(kept, reply)
          state = reply.state
        }
        if (reply.lines.length > 0 && reply.state !== 'failed') await pause(talkMs, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof CannotDeploy) throw error
        lines = new RedactedLines(kept.redactor)
        if (error instanceof AppDaemonError || isAway(error)) {
          if (++silent > silentMax) throw new CannotDeploy('The daemon in its sandbox does not answer any more.')
        } else log.warn({ err: error, deploy_id: kept.deployId }, 'what an app said was not kept; it is read again')
        await pause(500, signal)
      }
    }
  }

  async #moved(kept: Kept, reply: WatchReply): Promise<void> {
    const { db, instanceId } = this.#deps
    const { state } = reply
    const error = reply.error === null ? null : kept.redactor.text(reply.error)
    const deploy = { deployId: kept.deployId, instanceId }
    const serves = kept.readyAt !== null || living.includes(kept.claim.was)
    switch (state) {
      case 'waiting':
      case 'unpacking':
      case 'building':
        return
      case 'starting':
        if (!serves) await moveDeploy(db, deploy, { status: 'starting' })
        return
      case 'ready':
        return this.#ready(kept)
      case 'restarting':
        await moveDeploy(db, deploy, { status: 'restarting', error })
        return
      case 'failed':
        if (kept.readyAt === null) throw new CannotDeploy(error ?? 'It failed and does not say why.')
        throw new GivenUp(error ?? 'It failed and does not say why.')
      case 'done':
        throw new CannotDeploy('Its daemon says that it is done, which no app is.')
      default:
        return state satisfies never
    }
  }

  /** It answers: from here on it serves, and what served before does not. */
  async #ready(kept: Kept): Promise<void> {
    const { db, instanceId, log } = this.#deps
    const deploy = { deployId: kept.deployId, instanceId }
    const serves = kept.readyAt !== null || living.includes(kept.claim.was)
    await failpoint('app.deploy.before_switch')
    const switched = serves
      ? (await moveDeploy(db, deploy, { status: 'running', error: null })) && { replaced: null }
      : await goLive(this.#deps, deploy)
    // Stopped, or taken out of svc.toml, in the very last moment: the next look ends it.
    if (!switched) return this.#letGo(kept)
    kept.readyAt ??= Date.now()
    this.#serving.set(kept.key, kept as Kept & Serving)
    await failpoint('app.deploy.after_switch')
    if (!serves) log.info({ app: kept.claim.slug, deploy: kept.claim.number }, 'an app is deployed')
    const before = switched.replaced === null ? undefined : this.#kept.get(switched.replaced)
    if (before !== undefined) this.#letGo(before)
  }

  async #keepLines(kept: Kept, lines: AppLogLine[], chunk: number): Promise<void> {
    const { db } = this.#deps
    await appendLog(db, kept.deployId, lines)
    if (chunk % trimEvery === 0) await trimLog(db, kept.deployId)
  }

  async #say(kept: Kept, text: string): Promise<void> {
    const line: AppLogLine = { at: this.#deps.now().toISOString(), stream: 'svc', text }
    await appendLog(this.#deps.db, kept.deployId, [line]).catch((error: unknown) =>
      this.#deps.log.warn({ err: error, deploy_id: kept.deployId }, 'a line of the log of an app was not kept'),
    )
  }

  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .catch((error: unknown) => this.#deps.log.error({ err: error }, 'an app was not settled; it is tried again'))
      .then(() => void this.#running.delete(tracked))
    this.#running.add(tracked)
  }
}

/** Its daemon started it again and again, and that did not help. */
class GivenUp extends CannotDeploy {}

function whyOf(claim: Claim): string {
  if (claim.was === 'running' || claim.was === 'restarting') return ', again'
  if (claim.cause === 'rollback') return `, a rollback to #${claim.rollback_of}`
  return claim.attempts > 1 ? ', once more' : ''
}

const timeOf = (ms: number) => new Date(ms).toISOString()
