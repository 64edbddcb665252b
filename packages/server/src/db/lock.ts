import type pg from 'pg'

/**
 * Runs `work` while nobody else, in this process or in another server on the same database, holds `key`.
 * A session lock on a connection of its own: it ends with the process that held it, and no transaction stays open meanwhile.
 */
export function withLock<T>(
  deps: { locks: pg.Pool; localLocks: LocalLocks },
  key: string,
  work: () => Promise<T>,
): Promise<T> {
  const done = Promise.withResolvers<T>()
  // Whoever comes next waits for the release; the answer does not.
  const released = deps.localLocks.run(key, () =>
    hold(deps.locks, key, () => {
      const working = work()
      working.then(done.resolve, done.reject)
      return working
    }),
  )
  // What `work` throws was told above; this is the database that gave no lock.
  released.catch(done.reject)
  return done.promise
}

async function hold(locks: pg.Pool, key: string, work: () => Promise<unknown>): Promise<void> {
  const client = await locks.connect()
  let broken: Error | undefined
  // The pool listens to idle connections only: one that dies while it holds a lock (a restarted database) would end the process.
  const lose = (error: Error) => void (broken ??= error)
  client.on('error', lose)
  try {
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [key])
    await work()
  } finally {
    try {
      await client.query('select pg_advisory_unlock(hashtextextended($1, 0))', [key])
    } catch (error) {
      // Ending the connection is what releases a lock that could not be unlocked.
      broken ??= error instanceof Error ? error : new Error(String(error))
    }
    client.off('error', lose)
    client.release(broken)
  }
}

/** Queues by key inside this process, so that a hundred waiters cost one database connection and not a hundred. */
export class LocalLocks {
  readonly #tails = new Map<string, Promise<unknown>>()

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve()
    const mine = before.then(work, work)
    const tail = mine.catch(() => {})
    this.#tails.set(key, tail)
    try {
      return await mine
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key)
    }
  }
}
