/**
 * Limits how many git processes run at once. On two cores throughput peaks at four; at fifty, each takes sixty times
 * as long, so the rest queue. Lanes are separate because their processes wait for different things: a silent host or
 * a slow client must not delay a preview, and a slow push must not delay a fetch. A pooled git process takes a local
 * place while it answers. Within a lane one key (a repository, or the host of a remote) holds at most `share` places,
 * and the keys of one group at most `groupShare` together. A free place goes to the group that holds the fewest, and
 * there to the key that holds the fewest. This package does not know accounts: the caller names a group for the
 * repositories of one owner. A key without a group is its own group.
 */
export interface LaneLimits {
  width: number
  share: number
  /** Default: the width of the lane. */
  groupShare?: number
  /**
   * Limits for waiters of one key and one group, and for their wait. Beyond a limit `enter` rejects with `LaneBusy`.
   */
  waiting: number
  groupWaiting?: number
  waitMs?: number
}

const limits = {
  local: { width: 6, share: 4, waiting: 1024 },
  network: { width: 8, share: 4, waiting: 1024 },
  serve: { width: 24, share: 8, waiting: 1024 },
  push: { width: 24, share: 4, groupShare: 12, waiting: 64, groupWaiting: 256, waitMs: 60_000 },
  standing: { width: 16, share: 8, waiting: 1024 },
} as const satisfies Record<string, LaneLimits>
/** Limit for waiters of a lane, all keys together. */
const waitingMax = 4096

export type Lane = keyof typeof limits

/** Too many processes of this lane already run and wait. */
export class LaneBusy extends Error {}

interface Group {
  name: string
  running: number
  waiting: number
}

interface Key {
  group: Group
  running: number
  waiting: (() => void)[]
}

/** Identifies a process within its lane. */
interface LanePlace {
  key: string
  group?: string | undefined
}

export class LaneQueue {
  readonly #limits: LaneLimits
  /** In the order in which they last got a place. A key is listed while it holds a place or waits for one. */
  readonly #keys = new Map<string, Key>()
  readonly #groups = new Map<string, Group>()
  #running = 0
  #waiting = 0

  constructor(laneLimits: LaneLimits) {
    this.#limits = laneLimits
  }

  load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting }
  }

  /** Resolves when a process may start. Call the returned function once when that process has ended. */
  async enter(place: LanePlace, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    const name = place.key
    const key = this.#keys.get(name) ?? { group: this.#group(place), running: 0, waiting: [] }
    this.#keys.set(name, key)
    if (this.#running < this.#limits.width && this.#hasShare(key)) this.#take(name, key)
    else await this.#wait(name, key, signal)
    let left = false
    return () => {
      if (left) return
      left = true
      key.running--
      key.group.running--
      this.#running--
      this.#forget(name, key)
      this.#fill()
    }
  }

  #group({ key, group }: LanePlace): Group {
    const name = group === undefined ? `key ${key}` : `group ${group}`
    const known = this.#groups.get(name) ?? { name, running: 0, waiting: 0 }
    this.#groups.set(name, known)
    return known
  }

  #hasShare(key: Key): boolean {
    return key.running < this.#limits.share && key.group.running < (this.#limits.groupShare ?? this.#limits.width)
  }

  #take(name: string, key: Key): void {
    key.running++
    key.group.running++
    this.#running++
    this.#keys.delete(name)
    this.#keys.set(name, key)
  }

  /** Reserves the waiter's place before its promise resolves, so that a newcomer cannot overtake it. */
  #fill(): void {
    while (this.#running < this.#limits.width) {
      let next: [string, Key] | null = null
      for (const [name, key] of this.#keys) {
        if (key.waiting.length === 0 || !this.#hasShare(key)) continue
        if (next === null || holdsFewer(key, next[1])) next = [name, key]
      }
      if (next === null) return
      this.#take(...next)
      next[1].waiting.shift()?.()
    }
  }

  #forget(name: string, key: Key): void {
    if (key.running === 0 && key.waiting.length === 0) this.#keys.delete(name)
    // A group without running and waiting processes has only keys without them, which are removed too.
    if (key.group.running === 0 && key.group.waiting === 0) this.#groups.delete(key.group.name)
  }

  #wait(name: string, key: Key, signal?: AbortSignal): Promise<void> {
    const { waiting, groupWaiting = waitingMax, waitMs } = this.#limits
    if (key.waiting.length >= waiting || key.group.waiting >= groupWaiting || this.#waiting >= waitingMax) {
      this.#forget(name, key)
      return Promise.reject(new LaneBusy('Too many git commands are waiting. Try again in a moment.'))
    }
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const leaveLine = () => {
        this.#waiting--
        key.group.waiting--
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      const giveUp = (reason: Error) => {
        key.waiting.splice(key.waiting.indexOf(start), 1)
        leaveLine()
        this.#forget(name, key)
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
      key.group.waiting++
      this.#waiting++
    })
  }
}

function holdsFewer(one: Key, other: Key): boolean {
  if (one.group.running !== other.group.running) return one.group.running < other.group.running
  return one.running < other.running
}

const queues = Object.fromEntries(
  Object.entries(limits).map(([lane, ofLane]) => [lane, new LaneQueue(ofLane)]),
) as Record<Lane, LaneQueue>

export interface LaneLoad {
  lane: Lane
  running: number
  waiting: number
}

export function laneLoads(): LaneLoad[] {
  return (Object.keys(queues) as Lane[]).map((lane) => ({ lane, ...queues[lane].load() }))
}

export function enterLane(lane: Lane, place: LanePlace, signal?: AbortSignal): Promise<() => void> {
  return queues[lane].enter(place, signal)
}
