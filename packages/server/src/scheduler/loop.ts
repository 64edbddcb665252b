import type { Deps } from '../deps.ts'
import { pause } from '../pause.ts'
import { type Changed, Inbox } from './inbox.ts'
import type { JobWaker, Topic } from './job-waker.ts'
import { JobTrouble } from './trouble.ts'

/**
 * When a job has to run next: for everything in so many milliseconds, or after the shortest interval, `again` for the
 * same work or for these projects. Null: when it is woken, or at the end of its longest interval.
 */
export type Next = number | 'again' | ReadonlySet<string> | null

/**
 * What a job works on where several servers share the database: the projects whose home this server is; its own
 * sandboxes or its own disk; or rows that any server may take, each by a claim or to the same effect.
 */
export type Scope = 'home' | 'own sandboxes' | 'own disk' | 'any server'

export interface Job {
  name: string
  scope: Scope
  /** The shortest pause between two runs, and the interval without notifications. */
  everyMs: number
  /** The tables whose changes wake the job. Without any it runs at its shortest interval. */
  wakeOn?: readonly Topic[]
  /** The longest pause between two runs for everything while notifications arrive. */
  idleMs?: number
  /** `changed`: the projects whose rows changed, or `all` at the end of an interval. */
  run(signal: AbortSignal, changed: Changed): Promise<Next | void>
  /** Resolves when nothing that a run started is still going on. */
  ended?(): Promise<void>
}

type LoopDeps = Pick<Deps, 'log' | 'metrics' | 'tracing' | 'heartbeat'>

/**
 * Runs each job for ever, one run at a time. A failed run is logged and the next one comes as usual. No run begins while
 * other servers take this one for dead. Without a waker every job polls. Returns when all have ended.
 */
export async function runJobs(jobs: Job[], signal: AbortSignal, deps: LoopDeps, waker?: JobWaker): Promise<void> {
  const trouble = new JobTrouble(deps.log)
  const running = jobs.map((job) => runForEver(job, signal, { ...deps, trouble, waker }))
  await Promise.all([...running, waker?.listen(signal)])
}

async function runForEver(
  job: Job,
  signal: AbortSignal,
  { metrics, tracing, trouble, heartbeat, waker }: LoopDeps & { trouble: JobTrouble; waker: JobWaker | undefined },
) {
  const inbox = waker?.inboxOf(job.wakeOn ?? []) ?? new Inbox()
  let changed: Changed = 'all'
  let allDueAt = Infinity
  while (!signal.aborted) {
    if (!heartbeat.mayClaim()) {
      await pause(job.everyMs, signal)
      continue
    }
    metrics.jobBegins(job.name)
    const started = performance.now()
    const seconds = () => (performance.now() - started) / 1000
    let next: Next = 'again'
    try {
      const of = changed
      next = (await tracing.job(job.name, () => job.run(signal, of))) ?? null
      metrics.jobRun(job.name, 'success', seconds())
      trouble.worked(job.name)
    } catch (error) {
      if (signal.aborted) break
      metrics.jobRun(job.name, 'failure', seconds())
      trouble.failed(job.name, error)
    }
    if (next === 'again') inbox.put(changed)
    else if (next !== null && typeof next === 'object') inbox.put(next)
    const now = performance.now()
    if (changed === 'all') allDueAt = now + (job.idleMs ?? job.everyMs)
    if (typeof next === 'number') allDueAt = Math.min(allDueAt, now + next)
    await pause(job.everyMs, signal)
    const isWoken = waker?.isListening === true && job.wakeOn !== undefined
    if (isWoken) await inbox.wait(allDueAt - performance.now(), signal)
    changed = inbox.take()
    if (!isWoken || performance.now() >= allDueAt || isEmpty(changed)) changed = 'all'
  }
  await job.ended?.()
}

const isEmpty = (changed: Changed) => changed !== 'all' && changed.size === 0
