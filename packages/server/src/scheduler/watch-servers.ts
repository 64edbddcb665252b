/** A job: wakes the jobs that take over the work of a dead server. */
import type { Deps } from '../deps.ts'
import { livenessOfServers } from './instance-store.ts'
import type { JobWaker } from './job-waker.ts'

export class ServerWatch {
  readonly #deps: Pick<Deps, 'db' | 'heartbeat'>
  #last: string | null = null

  constructor(deps: Pick<Deps, 'db' | 'heartbeat'>) {
    this.#deps = deps
  }

  /** A server that dies silently changes no row, so no trigger notifies. */
  async look(waker: Pick<JobWaker, 'wake'>): Promise<void> {
    const liveness = await livenessOfServers(this.#deps.db, this.#deps.heartbeat.deadAfterSeconds())
    if (this.#last !== null && this.#last !== liveness) waker.wake('server_instances')
    this.#last = liveness
  }
}
