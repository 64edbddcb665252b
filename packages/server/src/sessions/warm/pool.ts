/**
 * Keeps warm sandboxes for the projects of this server, so that a session can start at once. Sessions have priority: no
 * warm sandbox is made during a start, and low memory ends warm sandboxes.
 */
import { readFile } from 'node:fs/promises'
import type { SandboxDriver } from '@svc/sandbox'
import { readTips } from '@svc/git'
import { isUuid } from '../../auth/allow.ts'
import type { Deps, WarmSandboxes } from '../../deps.ts'
import { openRepository } from '../../projects/repository.ts'
import { getProject } from '../../projects/store.ts'
import { reopenSandbox } from '../../sandboxes/adopt.ts'
import { redactorOfSession } from '../../secrets/redactor-for.ts'
import { fillWarm, followWarm } from './fill.ts'
import { planWarm, type WarmPlan } from './plan.ts'
import { deleteOrphanedWarm, deleteWarm, leftWarm, projectsInUse, takeOverWarm, warmOf, type WarmRow } from './store.ts'

/** A project without activity for this long gets no warm sandbox. */
const inUseMinutes = 60
const quietMs = 1_000
/** After waiting this long, fills even on a busy server. */
const patienceMs = 15_000
/** The polling interval of a git host. Managed repositories are local and need none. */
const askHostEveryMs = 15_000
const backoffMs = [5_000, 30_000, 120_000, 600_000]
/** The memory of a warm sandbox, mostly of its runtime. */
const sandboxBytes = 320 * 1024 ** 2

type PoolDeps = Omit<Deps, 'sessions' | 'warm'>

interface Known {
  plan: WarmPlan
  model: string | null
  readAt: number
}

export class WarmPool implements WarmSandboxes {
  readonly #deps: PoolDeps
  readonly #perProject: number
  readonly #inAll: number
  readonly #plans = new Map<string, Known>()
  readonly #failures = new Map<string, { count: number; at: number }>()
  #filling: AbortController | null = null
  #busyAt = 0
  #wantedSince: number | null = null
  #starts = 0
  #closed = false

  constructor(deps: PoolDeps) {
    this.#deps = deps
    this.#perProject = deps.config.warmSandboxes.perProject
    this.#inAll = deps.config.warmSandboxes.inAll
    deps.sandboxes?.onExit(({ sandboxId, reason }) => this.#onExit(sandboxId, reason))
  }

  get isOn(): boolean {
    return this.#perProject > 0 && this.#deps.sandboxes !== null
  }

  /** A session boots a sandbox: a running fill is aborted and begins again later. */
  startBegins(): void {
    this.#starts++
    this.#busyAt = Date.now()
    this.#filling?.abort(new Error('A session needs the machine.'))
  }

  isNeeded(): void {
    this.#busyAt = Date.now()
  }

  startEnds(): void {
    this.#starts--
    this.#busyAt = Date.now()
  }

  /** One pass: ends outdated sandboxes, updates those whose branch moved, and fills at most one. */
  async tend(signal: AbortSignal): Promise<number | 'again' | null> {
    const driver = this.#deps.sandboxes
    if (driver === null || this.#closed) return null
    await this.#adopt(driver)
    await deleteOrphanedWarm(this.#deps.db, { staleSeconds: staleMinutes * 60, home: this.#deps.home })
    const rows = await warmOf(this.#deps.db, this.#deps.instanceId)
    if (!this.isOn && rows.length === 0) return null
    const wanted = await projectsInUse(this.#deps.db, {
      instanceId: this.#deps.instanceId,
      home: this.#deps.home,
      minutes: inUseMinutes,
      limit: this.#inAll,
    })
    const left = new Map<string, number>()
    const isShort = !driver.isElsewhere && (await isMemoryShort())
    for (const row of rows) {
      const use = wanted.find(({ project_id }) => project_id === row.project_id)
      const has = left.get(row.project_id) ?? 0
      const isUsable =
        use !== undefined &&
        !isShort &&
        has < this.#perProject &&
        (await this.#keepUp(driver, row, use.model, signal).catch((error: unknown) => this.#failed(row, error)))
      if (isUsable) left.set(row.project_id, has + 1)
      else await this.#drop(row.sandbox_id)
    }
    const missing = wanted.filter(
      ({ project_id }) => (left.get(project_id) ?? 0) < this.#perProject && this.#mayTry(project_id),
    )
    const all = [...left.values()].reduce((sum, count) => sum + count, 0)
    if (missing.length === 0 || all >= this.#inAll || isShort) {
      this.#wantedSince = null
      return wanted.length === 0 ? null : watchMs
    }
    // The project with the fewest sandboxes; among those, the most recently used.
    const next = missing.toSorted((one, other) => (left.get(one.project_id) ?? 0) - (left.get(other.project_id) ?? 0))
    if (this.#mayFill()) await this.#fill(driver, next[0]!, signal)
    return 'again'
  }

  /** Goes on with the sandboxes that an earlier server left. The pass ends those that no longer fit, as it does with its own. */
  async #adopt(driver: SandboxDriver): Promise<void> {
    if (!driver.outlives || !this.isOn) return
    const { db, instanceId, log } = this.#deps
    const live = (await driver.list()).map(({ sandboxId }) => sandboxId).filter(isUuid)
    for (const row of await leftWarm(db, live, staleMinutes * 60)) {
      const { sandbox_id: sandboxId, session_id: sessionId, project_id: projectId } = row
      const project = await getProject(db, projectId)
      if (project === null || row.in_force === null) continue
      await redactorOfSession(this.#deps, project, sessionId)
      await reopenSandbox(this.#deps, { sandboxId, sessionId, projectId, egress: row.in_force.egress })
      // Last, because a session may claim it from here on.
      if (await takeOverWarm(db, row, instanceId))
        log.info({ project_id: projectId, sandbox_id: sandboxId }, 'a warm sandbox of an earlier server is kept')
    }
  }

  /** Ends the warm sandboxes of a project before it is deleted. */
  async dropProject(projectId: string): Promise<void> {
    for (const row of await warmOf(this.#deps.db, this.#deps.instanceId))
      if (row.project_id === projectId) await this.#drop(row.sandbox_id)
  }

  /** Leaves the ready sandboxes to the next server if they outlive this one; otherwise ends them. */
  async close({ endsSandboxes }: { endsSandboxes: boolean }): Promise<void> {
    this.#closed = true
    this.#filling?.abort(new Error('The server is stopping.'))
    if (!endsSandboxes && this.#deps.sandboxes?.outlives) return
    for (const row of await warmOf(this.#deps.db, this.#deps.instanceId)) await this.#drop(row.sandbox_id)
  }

  #mayFill(): boolean {
    const now = Date.now()
    this.#wantedSince ??= now
    if (this.#starts > 0) return false
    return now - this.#busyAt >= quietMs || now - this.#wantedSince >= patienceMs
  }

  #mayTry(projectId: string): boolean {
    const failure = this.#failures.get(projectId)
    if (failure === undefined) return true
    return Date.now() - failure.at >= backoffMs[Math.min(failure.count, backoffMs.length) - 1]!
  }

  async #fill(driver: SandboxDriver, use: { project_id: string; model: string | null }, signal: AbortSignal) {
    const filling = new AbortController()
    this.#filling = filling
    try {
      const project = await getProject(this.#deps.db, use.project_id)
      const plan = await this.#planOf(use.project_id, use.model)
      if (project === null || plan === null) return
      const began = performance.now()
      await fillWarm(this.#deps, driver, { project, plan }, AbortSignal.any([signal, filling.signal]))
      this.#failures.delete(use.project_id)
      this.#wantedSince = null
      this.#deps.log.info(
        { project_id: use.project_id, ms: Math.round(performance.now() - began) },
        'a warm sandbox is ready',
      )
    } catch (error) {
      if (!filling.signal.aborted && !signal.aborted) await this.#failed(use, error)
    } finally {
      this.#filling = null
    }
  }

  async #failed(of: { project_id: string }, error: unknown): Promise<false> {
    // It was deleted meanwhile, and the credentials of its sandbox with it.
    if ((await getProject(this.#deps.db, of.project_id)) === null) return false
    const count = (this.#failures.get(of.project_id)?.count ?? 0) + 1
    this.#failures.set(of.project_id, { count, at: Date.now() })
    this.#deps.log.warn({ err: error, project_id: of.project_id }, 'keeping a sandbox warm failed')
    return false
  }

  async #keepUp(driver: SandboxDriver, row: WarmRow, model: string | null, signal: AbortSignal): Promise<boolean> {
    if ((await driver.find(row.sandbox_id)) === null) return false
    const plan = await this.#planOf(row.project_id, model)
    if (plan === null || plan.fingerprint !== row.fingerprint) return false
    if (plan.commit !== row.commit_sha) await followWarm(this.#deps, driver, row, plan.commit, signal)
    return true
  }

  async #planOf(projectId: string, model: string | null): Promise<WarmPlan | null> {
    const project = await getProject(this.#deps.db, projectId)
    if (project === null) return null
    const key = `${projectId} ${project.updated_at} ${project.secrets_revision}`
    const known = this.#plans.get(key)
    if (known?.model === model && !project.managed && Date.now() - known.readAt < askHostEveryMs) return known.plan
    const repository = await openRepository(this.#deps, project)
    const tips = await readTips(repository, [project.default_branch], {})
    if (tips.kind === 'unreachable') return known?.model === model ? known.plan : null
    const commit = tips.tips.get(project.default_branch)
    if (commit === undefined) return null
    const plan = await planWarm(this.#deps, repository, { project, commit, model })
    if (this.#plans.size > plansMax) this.#plans.clear()
    this.#plans.set(key, { plan, model, readAt: Date.now() })
    return plan
  }

  /** Deletes the row before the sandbox, so that it cannot be claimed. A sandbox without a row is ended as an orphan. */
  async #drop(sandboxId: string): Promise<void> {
    if (await deleteWarm(this.#deps.db, sandboxId)) await this.#deps.sandboxes?.stop(sandboxId)
  }

  #onExit(sandboxId: string, reason: string): void {
    deleteWarm(this.#deps.db, sandboxId)
      .then((was) => {
        if (was) this.#deps.log.warn({ sandbox_id: sandboxId, reason }, 'a warm sandbox ended by itself')
      })
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'recording the end of a warm sandbox failed'))
  }
}

const plansMax = 500
/** While sandboxes are warm: for memory that became low, and branches and configuration that changed unnoticed. */
const watchMs = 5_000
/** Longer than a live server is without a heartbeat. Its rows are useless to others, so this may be long. */
const staleMinutes = 2

/** Reserves memory for sessions: the size of two sandboxes, or a tenth of a large machine. */
async function isMemoryShort(): Promise<boolean> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(withoutProc)
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? Number.NaN)
  const available = kilobytes('MemAvailable') * 1024
  const total = kilobytes('MemTotal') * 1024
  return available < Math.max(2 * sandboxBytes, total / 10)
}

/** Systems other than Linux have no /proc; their memory counts as sufficient. */
function withoutProc(): string {
  return ''
}
