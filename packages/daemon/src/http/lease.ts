/**
 * Ends a sandbox that no server needs any more. A sandbox outlives its server so that the next one can go on with it;
 * without a next one it would run forever. Only requests on the server's own socket count: the agent can reach the
 * other one.
 */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export interface Lease {
  seconds: number
  ended(): void
}

/** Counted in ticks and not by the clock, so that a machine that slept does not end its sandboxes when it wakes. */
const ticks = 10

export function watchLease(lease: Lease, log: (message: string) => void) {
  let open = 0
  let quiet = 0
  const timer = setInterval(
    () => {
      quiet = open > 0 ? 0 : quiet + 1
      if (quiet < ticks) return
      clearInterval(timer)
      log(`no server contacted this sandbox for ${lease.seconds} s; ending`)
      lease.ended()
    },
    (lease.seconds * 1000) / ticks,
  )
  return {
    /** Counts a request or an upgraded connection until it closes. */
    used(by: ServerResponse | Duplex): void {
      open += 1
      quiet = 0
      by.once('close', () => (open -= 1))
    },
    stop: () => clearInterval(timer),
  }
}
