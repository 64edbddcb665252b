/**
 * How many children may run at once. Throughput on two cores is full at four, and at fifty at once everyone waits
 * sixty times longer, so the rest queue. Lanes are apart because their children wait for different things: a silent
 * host or a slow client must not hold up a preview, and a slow push must not hold up a fetch. A pooled git process
 * takes a local place while it works on a question.
 *
 * Within a lane one key (a repository, or the host of a remote) holds at most `share` places, and a free place goes to
 * the key that holds the fewest. This package does not know accounts: an account with many repositories or many host
 * names can still fill a lane.
 */
export interface LaneLimits {
  width: number
  share: number
  /** The most waiters of one key, and their longest wait. Past either limit `enter` rejects with `LaneBusy`. */
  waiting: number
  waitMs?: number
}

const limits = {
  local: { width: 6, share: 4, waiting: 1024 },
  network: { width: 8, share: 4, waiting: 1024 },
  serve: { width: 24, share: 8, waiting: 1024 },
  push: { width: 24, share: 4, waiting: 64, waitMs: 60_000 },
  standing: { width: 16, share: 8, waiting: 1024 },
} as const satisfies Record<string, LaneLimits>
/** The most waiters of a lane, all keys together. */
const waitingMax = 4096

export type Lane = keyof typeof limits

/** Too many children of this lane run and wait already. */
export class LaneBusy extends Error {}

interface Key {
  running: number
  waiting: (() => void)[]
}

export class LaneQueue {
  readonly #limits: LaneLimits
  /** In the order in which they last got a place. A key is here while it holds a place or waits for one. */
  readonly #keys = new Map<string, Key>()
  #running = 0
  #waiting = 0

  constructor(laneLimits: LaneLimits) {
    this.#limits = laneLimits
  }

  load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting }
  }

  /** Resolves when a child may start. The returned function must be called once, when that child is gone. */
  async enter(name: string, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    const key = this.#keys.get(name) ?? { running: 0, waiting: [] }
    this.#keys.set(name, key)
    if (this.#running < this.#limits.width && key.running < this.#limits.share) this.#take(name, key)
    else await this.#wait(name, key, signal)
    let left = false
    return () => {
      if (left) return
      left = true
      key.running--
      this.#running--
      this.#forget(name, key)
      this.#fill()
    }
  }

  #take(name: string, key: Key): void {
    key.running++
    this.#running++
    this.#keys.delete(name)
    this.#keys.set(name, key)
  }

  /** The waiter's place is taken here, before its promise resolves, so a newcomer cannot overtake it. */
  #fill(): void {
    while (this.#running < this.#limits.width) {
      let next: [string, Key] | null = null
      for (const [name, key] of this.#keys) {
        if (key.waiting.length === 0 || key.running >= this.#limits.share) continue
        if (next === null || key.running < next[1].running) next = [name, key]
      }
      if (next === null) return
      this.#take(...next)
      next[1].waiting.shift()?.()
    }
  }

  #forget(name: string, key: Key): void {
    if (key.running === 0 && key.waiting.length === 0) this.#keys.delete(name)
  }

  #wait(name: string, key: Key, signal?: AbortSignal): Promise<void> {
    const { waiting, waitMs } = this.#limits
    if (key.waiting.length >= waiting || this.#waiting >= waitingMax) {
      this.#forget(name, key)
      return Promise.reject(new LaneBusy('Too many git commands are waiting. Try again in a moment.'))
    }
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const leaveLine = () => {
        this.#waiting--
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      const giveUp = (reason: Error) => {
        key.waiting.splice(key.waiting.indexOf(start), 1)
        this.#forget(name, key)
        leaveLine()
        reject(reason)
      }
      const abort = () => giveUp(signal?.reason as Error)
      const start = () => {
        leaveLine()
        resolve()
      }
      const late = () => giveUp(new LaneBusy('Earlier git commands take too long. Try again in a moment.'))
      if (waitMs !== undefined) timer = setTimeout(late, waitMs)
      signal?.addEventListener('abort', abort, { once: true })
      key.waiting.push(start)
      this.#waiting++
    })
  }
}

const queues: Record<Lane, LaneQueue> = {
  local: new LaneQueue(limits.local),
  network: new LaneQueue(limits.network),
  serve: new LaneQueue(limits.serve),
  push: new LaneQueue(limits.push),
  standing: new LaneQueue(limits.standing),
}

export interface LaneLoad {
  lane: Lane
  running: number
  waiting: number
}

export function laneLoads(): LaneLoad[] {
  return (Object.keys(queues) as Lane[]).map((lane) => ({ lane, ...queues[lane].load() }))
}

export function enterLane(lane: Lane, key: string, signal?: AbortSignal): Promise<() => void> {
  return queues[lane].enter(key, signal)
}
