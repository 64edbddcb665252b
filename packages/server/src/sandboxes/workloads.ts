import { availableParallelism } from 'node:os'
import type { Deps } from '../deps.ts'
import { atMost, BootQueue } from './boot-queue.ts'
import { PermanentFailure } from './failure-reason.ts'

interface Workload {
  sandboxId: string
  abort: AbortController
}

/** The workload sandboxes that this server runs for one kind of workload, by the id of their deploy or check run. */
export class Workloads<W extends Workload> {
  readonly byId = new Map<string, W>()
  readonly boots = new BootQueue(atMost(availableParallelism()))
  isClosed = false
  readonly #deps: Pick<Deps, 'log' | 'newId' | 'sandboxes'>
  readonly #kind: 'app' | 'check'
  readonly #running = new Set<Promise<void>>()

  constructor(deps: Pick<Deps, 'log' | 'metrics' | 'newId' | 'sandboxes'>, kind: 'app' | 'check') {
    this.#deps = deps
    this.#kind = kind
    deps.metrics.boots.set(`${kind}s`, this.boots)
    deps.sandboxes?.onExit(({ sandboxId, reason }) => {
      for (const workload of this.byId.values())
        if (workload.sandboxId === sandboxId) workload.abort.abort(new PermanentFailure(reason))
    })
  }

  newSandboxId(): string {
    return `${this.#kind}-${this.#deps.newId().replaceAll('-', '')}`
  }

  /** Runs in the background until it ends or `close` waits for it. */
  track(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .catch((error: unknown) => this.#deps.log.error({ err: error }, `reconciling ${this.#kind}s failed; retrying`))
      .then(() => void this.#running.delete(tracked))
    this.#running.add(tracked)
  }

  /** Stops sandboxes of this kind that no deploy or run of this server uses. */
  async stopOrphans(): Promise<void> {
    const { sandboxes } = this.#deps
    const known = new Set([...this.byId.values()].map(({ sandboxId }) => sandboxId))
    for (const { sandboxId } of (await sandboxes?.list()) ?? [])
      if (sandboxId.startsWith(`${this.#kind}-`) && !known.has(sandboxId)) await sandboxes?.stop(sandboxId)
  }

  /** Ends every sandbox of this server and leaves the rows as they are, so that the next server continues. */
  async close(): Promise<void> {
    this.isClosed = true
    for (const { abort } of this.byId.values()) abort.abort(new PermanentFailure('The server is stopping.'))
    await Promise.all(this.#running)
  }
}
