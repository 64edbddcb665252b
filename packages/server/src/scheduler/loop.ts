import type { Deps } from '../deps.ts'
import { pause } from '../pause.ts'
import { JobTrouble } from './trouble.ts'

export interface Job {
  name: string
  everyMs: number
  run(signal: AbortSignal): Promise<void>
  /** Resolves when nothing that a run started is still going on. */
  ended?(): Promise<void>
}

type LoopDeps = Pick<Deps, 'log' | 'metrics' | 'heartbeat'>

/**
 * Runs each job for ever, one run at a time. A failed run is logged and the next one comes as usual. No run begins while
 * other servers take this one for dead. Returns when all have ended.
 */
export async function runJobs(jobs: Job[], signal: AbortSignal, deps: LoopDeps): Promise<void> {
  const trouble = new JobTrouble(deps.log)
  await Promise.all(jobs.map((job) => runForEver(job, signal, { ...deps, trouble })))
}

async function runForEver(job: Job, signal: AbortSignal, deps: LoopDeps & { trouble: JobTrouble }) {
  const { metrics, trouble, heartbeat } = deps
  while (!signal.aborted) {
    if (!heartbeat.mayClaim()) {
      await pause(job.everyMs, signal)
      continue
    }
    const started = performance.now()
    const seconds = () => (performance.now() - started) / 1000
    try {
      await job.run(signal)
      metrics.jobRun(job.name, 'success', seconds())
      trouble.worked(job.name)
    } catch (error) {
      if (signal.aborted) break
      metrics.jobRun(job.name, 'failure', seconds())
      trouble.failed(job.name, error)
    }
    await pause(job.everyMs, signal)
  }
  await job.ended?.()
}
