import { LiveFlights } from '@svc/git'
import type { Db } from './schema.ts'

type Read = () => Promise<unknown>

const flightsOf = new WeakMap<Db, LiveFlights<Read, unknown>>()

/**
 * Reads that are the same and come at the same time share one: many readers of one thing cost the database what one
 * does. An asker joins only a read that begins after it came, so nobody is told what was true before they asked. What
 * it answers belongs to all of them: nobody may change it.
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
