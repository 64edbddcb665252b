import { LiveFlights } from '@svc/git'
import type { Db } from './schema.ts'

type Read = () => Promise<unknown>

const flightsOf = new WeakMap<Db, LiveFlights<Read, unknown>>()

/**
 * Concurrent identical reads share one query. A caller joins only a read that starts after it called, so its result
 * is never stale. The result is shared: do not modify it.
 */
export function readTogether<T>(db: Db, key: string, read: () => Promise<T>): Promise<T> {
  let flights = flightsOf.get(db)
  if (!flights) {
    flights = new LiveFlights<Read, unknown>(
      (ask) => ask(),
      (_one, other) => other,
    )
    flightsOf.set(db, flights)
  }
  return flights.ask(key, read) as Promise<T>
}
