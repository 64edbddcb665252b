import { availableParallelism } from 'node:os'
import type { Deps } from '../deps.ts'
import { atMost, BootQueue } from './boot-queue.ts'
import { PermanentFailure } from './failure-reason.ts'

interface Workload {
  sandboxId: string
  /** The next server can go on with the sandbox: it has its files, and the row says so. */
  isAdoptable: boolean
  abort: AbortController
}

/** Selects the rows of workloads that this server claims. */
export interface ClaimLimits {
  instanceId: string
  home: string | null
  /** Rows of this server, which are not claimed again. */
  inHand: string[]
  /** Sandboxes of an earlier server that live. Their rows go on; others begin again. */
  left: string[]
  staleSeconds: number
  limit: number
}

/** The workload sandboxes that this server runs for one kind of workload, by the id of their deploy or check run. */
export class Workloads<W extends Workload> {
  readonly byId = new Map<string, W>()
  readonly boots = new BootQueue(atMost(availableParallelism()))
  isClosed = false
  #handsOver = false
  #left = 0
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

  /**
   * Stops sandboxes of this kind that no deploy or run of this server uses and no adoptable row names. Returns the named
   * ones, which an earlier server left.
   */
  async stopOrphans(named: (sandboxIds: string[]) => Promise<Set<string>>): Promise<string[]> {
    const { sandboxes } = this.#deps
    const known = new Set([...this.byId.values()].map(({ sandboxId }) => sandboxId))
    const others = ((await sandboxes?.list()) ?? [])
      .map(({ sandboxId }) => sandboxId)
      .filter((sandboxId) => sandboxId.startsWith(`${this.#kind}-`) && !known.has(sandboxId))
    if (others.length === 0) return []
    const left = await named(others)
    for (const sandboxId of others) if (!left.has(sandboxId)) await sandboxes?.stop(sandboxId)
    return [...left]
  }

  /** Whether this server is closing and leaves the sandbox to the next one. */
  isLeft({ isAdoptable }: Workload): boolean {
    return this.#handsOver && isAdoptable
  }

  /** Stops the sandbox, unless it is left to the next server. */
  async end(workload: Workload): Promise<void> {
    if (this.isLeft(workload)) this.#left++
    else await this.#deps.sandboxes?.stop(workload.sandboxId)
  }

  /**
   * Leaves the sandboxes to the next server if they outlive this one; otherwise ends them. The rows stay as they are, so
   * that the next server continues. Resolves with how many go on.
   */
  async close({ endsSandboxes }: { endsSandboxes: boolean }): Promise<number> {
    this.isClosed = true
    this.#handsOver = !endsSandboxes && this.#deps.sandboxes?.outlives === true
    for (const { abort } of this.byId.values()) abort.abort(new PermanentFailure('The server is stopping.'))
    await Promise.all(this.#running)
    return this.#left
  }
}
