import type pg from 'pg'

/** Others held the lock for longer than one wanted to wait; nothing was done. */
export class LockBusyError extends Error {
  constructor(key: string) {
    super(`Others hold the lock ${JSON.stringify(key)}.`)
    this.name = 'LockBusyError'
  }
}

/**
 * Runs `work` while nobody else, in this process or in another server on the same database, holds `key`.
 * A session lock on a connection of its own: it ends with the process that held it, and no transaction stays open meanwhile.
 * Throws LockBusyError when the wait, not the work, takes longer than `waitMs`.
 */
export function withLock<T>(
  deps: { locks: pg.Pool; localLocks: LocalLocks },
  key: string,
  work: () => Promise<T>,
  { waitMs }: { waitMs?: number } = {},
): Promise<T> {
  const done = Promise.withResolvers<T>()
  let hasLeft = false
  const leave = () => {
    hasLeft = true
    done.reject(new LockBusyError(key))
  }
  const patience = waitMs === undefined ? undefined : setTimeout(leave, waitMs)
  // Whoever left keeps its place, and does nothing once it is there.
  const begin = async () => {
    clearTimeout(patience)
    if (hasLeft) return
    const working = work()
    working.then(done.resolve, done.reject)
    await working
  }
  // Whoever comes next waits for the release; the answer does not.
  const released = deps.localLocks.run(key, async () => {
    if (!hasLeft) await hold(deps.locks, key, begin)
  })
  // What `work` throws was told above; this is the database that gave no lock.
  released.catch((error: unknown) => {
    clearTimeout(patience)
    done.reject(error)
  })
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
