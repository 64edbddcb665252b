/**
 * How many children may run at once. Throughput on two cores is full at four, and at fifty at once everyone waits
 * sixty times longer, so the rest queue. Lanes are apart because their children wait for different things: a silent
 * host or a slow client must not hold up a preview. Those that stand by for a next question take a place among the
 * local ones while they work on one.
 */
const widths = { local: 6, network: 8, serve: 24, standing: 16 } as const
const waitingMax = 4096

export type Lane = keyof typeof widths

interface Waiting {
  start: () => void
}

class Queue {
  readonly width: number
  running = 0
  waiting: Waiting[] = []
  constructor(width: number) {
    this.width = width
  }
}

const queues: Record<Lane, Queue> = {
  local: new Queue(widths.local),
  network: new Queue(widths.network),
  serve: new Queue(widths.serve),
  standing: new Queue(widths.standing),
}

/** Resolves when a child may start. The returned function must be called once, when that child is gone. */
export async function enterLane(lane: Lane, signal?: AbortSignal): Promise<() => void> {
  signal?.throwIfAborted()
  const queue = queues[lane]
  if (queue.running < queue.width) queue.running++
  else await waitForTurn(queue, signal)
  let left = false
  return () => {
    if (left) return
    left = true
    // The place is handed over rather than freed, so nobody can slip in between and starve the queue's head.
    const next = queue.waiting.shift()
    if (next) next.start()
    else queue.running--
  }
}

function waitForTurn(queue: Queue, signal?: AbortSignal): Promise<void> {
  if (queue.waiting.length >= waitingMax) {
    return Promise.reject(new Error(`More than ${waitingMax} git commands are waiting; try again in a moment.`))
  }
  return new Promise((resolve, reject) => {
    const abort = () => {
      queue.waiting = queue.waiting.filter((other) => other !== entry)
      reject(signal?.reason as Error)
    }
    const entry: Waiting = {
      start: () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      },
    }
    signal?.addEventListener('abort', abort, { once: true })
    queue.waiting.push(entry)
  })
}
