import type { Logger } from 'pino'
import { pause } from '../pause.ts'
import { JobTrouble } from './trouble.ts'

export interface Job {
  name: string
  everyMs: number
  run(signal: AbortSignal): Promise<void>
  /** Resolves when nothing that a run began goes on any more. */
  ended?(): Promise<void>
}

/** Runs each job for ever, one run of it at a time. A failed run is logged and the next one comes as usual. Returns when all have ended. */
export async function runJobs(jobs: Job[], signal: AbortSignal, log: Logger): Promise<void> {
  const trouble = new JobTrouble(log)
  await Promise.all(jobs.map((job) => runForEver(job, signal, trouble)))
}

async function runForEver(job: Job, signal: AbortSignal, trouble: JobTrouble): Promise<void> {
  while (!signal.aborted) {
    try {
      await job.run(signal)
      trouble.worked(job.name)
    } catch (error) {
      if (!signal.aborted) trouble.failed(job.name, error)
    }
    await pause(job.everyMs, signal)
  }
  await job.ended?.()
}
