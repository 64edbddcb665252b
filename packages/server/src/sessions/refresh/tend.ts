/** A job: applies waiting refreshes, and starts those of sessions whose default branch moved. */
import { ServiceError } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { openRepository } from '../../projects/repository.ts'
import { getProject } from '../../projects/store.ts'
import type { Changed } from '../../scheduler/inbox.ts'
import { manifestError } from './attempt.ts'
import { changesBetween } from './in-force.ts'
import { inForceAt } from './runtime-files.ts'
import { refreshWhenIdle } from './refresh.ts'
import { requestRefresh, pendingRefreshes } from './store.ts'
import { setInForce } from '../../sandboxes/store.ts'

type Pending = Awaited<ReturnType<typeof pendingRefreshes>>[number]
type TendDeps = Parameters<typeof refreshWhenIdle>[0] & Pick<Deps, 'instanceId'>

/** Each restarts an agent runtime, which takes about a second of CPU. */
const atOnce = 4
/** A refresh that takes longer waits for its sandbox and uses no CPU, so others may begin. */
const costlyMs = 10_000
const atOncePerProject = 2
const pausesSeconds = [5, 15, 30, 60]

export class RefreshTender {
  readonly #deps: TendDeps
  readonly #underWay = new Map<string, { projectId: string; since: number; work: Promise<void> }>()
  /** Sessions whose repository could not be read, or whose refresh failed with an internal error. */
  readonly #postponed = new Map<string, { tries: number; since: number; until: number }>()
  #pending: Pending[] = []

  constructor(deps: TendDeps) {
    this.#deps = deps
  }

  /** Starts pending refreshes without waiting for them. Returns their projects, which have to be looked at again. */
  async tend(signal: AbortSignal, changed: Changed = 'all'): Promise<ReadonlySet<string>> {
    const { db, instanceId, sessions } = this.#deps
    const isAttached = (sessionId: string) => sessions.daemonOf(sessionId) !== null
    for (const sessionId of this.#postponed.keys()) if (!isAttached(sessionId)) this.#postponed.delete(sessionId)
    const pending = await pendingRefreshes(db, { instanceId, changed })
    this.#pending = pending.filter((row) => isAttached(row.session_id))
    const projects = new Set(this.#pending.map((row) => row.project_id))
    this.#startPending(signal)
    return projects
  }

  async ended(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all([...this.#underWay.values()].map(({ work }) => work))
  }

  #startPending(signal: AbortSignal): void {
    if (signal.aborted) return
    this.#pending = this.#pending.filter((row) => {
      if (this.#hasToWait(row)) return true
      const work = this.#serve(row).finally(() => {
        this.#underWay.delete(row.session_id)
        this.#startPending(signal)
      })
      this.#underWay.set(row.session_id, { projectId: row.project_id, since: performance.now(), work })
      return false
    })
  }

  #hasToWait(row: Pending): boolean {
    const { sessions, localLocks, now } = this.#deps
    // A refresh or the delivery of a prompt is running.
    if (this.#underWay.has(row.session_id) || localLocks.isHeld(`prompts ${row.session_id}`)) return true
    const isCurrent = row.sha === null || row.sha === row.in_force?.commit
    if (row.refresh?.status === 'waiting' && isCurrent && sessions.turnOf(row.session_id) === 'busy') return true
    const postponed = this.#postponed.get(row.session_id)
    const isRequested = row.refresh?.status === 'waiting' && row.refresh.cause === 'request'
    const isNew = isRequested && Date.parse(row.refresh!.requested_at) > (postponed?.since ?? 0)
    if (!isNew && postponed !== undefined && now().getTime() < postponed.until) return true
    const others = [...this.#underWay.values()]
    if (others.filter(({ projectId }) => projectId === row.project_id).length >= atOncePerProject) return true
    return others.filter(({ since }) => performance.now() - since < costlyMs).length >= atOnce
  }

  async #serve(row: Pending): Promise<void> {
    const { log } = this.#deps
    const about = { session_id: row.session_id }
    try {
      const isWanted = row.refresh?.status === 'waiting' || (await requestIfChanged(this.#deps, row))
      const outcome = isWanted ? await refreshWhenIdle(this.#deps, row.session_id) : null
      if (outcome !== 'unavailable') return void this.#postponed.delete(row.session_id)
      log.info(about, 'postponing the refresh of a session: its repository cannot be read')
    } catch (error) {
      if (error instanceof ServiceError)
        log.info(
          { ...about, reason: error.message },
          'postponing the refresh of a session: its repository cannot be read',
        )
      else log.warn({ ...about, err: error }, 'refreshing a session failed; retrying')
    }
    const tries = this.#postponed.get(row.session_id)?.tries ?? 0
    const pause = pausesSeconds[Math.min(tries, pausesSeconds.length - 1)]!
    const since = this.#deps.now().getTime()
    this.#postponed.set(row.session_id, { tries: tries + 1, since, until: since + pause * 1000 })
  }
}

/** Only records the commit when the move changed nothing for this session. */
async function requestIfChanged(deps: Pick<Deps, 'config' | 'db' | 'keyring' | 'log' | 'now'>, row: Pending) {
  const { in_force: before, sha, manifest, refresh } = row
  const project = await getProject(deps.db, row.project_id)
  if (project === null || before === null || sha === null || manifest === null) return false
  if (await isNews()) {
    const request = { cause: 'default_branch', at: deps.now() } as const
    return (await deps.db.transaction().execute((trx) => requestRefresh(trx, row, request))) !== null
  }
  await setInForce(deps.db, row, { ...before, commit: sha })
  return false

  async function isNews(): Promise<boolean> {
    const broken = manifestError(row.issues ?? [])
    if (broken !== null) return refresh?.error !== broken
    // This commit may fix the reason of the failure.
    if (refresh?.status === 'failed' && refresh.cause === 'default_branch') return true
    const changes = changesBetween(before!, await inForceAt(await openRepository(deps, project!), sha!, manifest!))
    const wasTold = JSON.stringify(changes.needsRestart) === JSON.stringify(refresh?.needs_restart ?? [])
    return changes.forRuntime.length > 0 || changes.inPlace.length > 0 || !wasTold
  }
}
