import pg from 'pg'
import { handledElsewhere } from '../deadline.ts'

/** Another process held the lock for longer than the caller would wait; the work did not run. */
export class LockBusyError extends Error {
  constructor(key: string) {
    super(`The lock ${JSON.stringify(key)} is busy.`)
    this.name = 'LockBusyError'
  }
}

/**
 * Runs `work` while no other caller, in this process or another server on the same database, holds `key`. A session
 * lock on its own connection: it ends with the process that holds it, and no transaction stays open meanwhile. Throws
 * LockBusyError when waiting, not the work, takes longer than `waitMs`.
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
  // A caller that gave up keeps its place in the queue and does nothing when its turn comes.
  const begin = async () => {
    clearTimeout(patience)
    if (hasLeft) return
    const working = work()
    working.then(done.resolve, done.reject)
    await working
  }
  // The next caller waits for the release; this caller's answer does not.
  const released = deps.localLocks.run(key, async () => {
    if (!hasLeft) await hold(deps.locks, key, begin)
  })
  // Errors of `work` were reported above; this one means that the database gave no lock.
  released.catch((error: unknown) => {
    clearTimeout(patience)
    done.reject(error)
  })
  return done.promise
}

async function hold(locks: pg.Pool, key: string, work: () => Promise<unknown>): Promise<void> {
  const client = await locks.connect()
  let broken: Error | undefined
  // The pool listens to idle connections only: without this, a connection that dies holding a lock (a restarted
  // database) would end the process.
  const lose = (error: Error) => void (broken ??= error)
  client.on('error', lose)
  try {
    while (!(await takes(client, key))) {
      // The wait goes on with another statement: only a database that answers now and then is known to be there.
    }
    await work()
  } finally {
    try {
      // All, since a lock that is granted at the moment of the timeout is reported as not granted, and taken twice.
      await client.query('select pg_advisory_unlock_all()')
    } catch (error) {
      // A lock that could not be unlocked is released by ending its connection.
      broken ??= error instanceof Error ? error : new Error(String(error))
    }
    client.off('error', lose)
    client.release(broken)
  }
}

const lockNotAvailable = '55P03'

/** False after the lock timeout of the connection. */
async function takes(client: pg.PoolClient, key: string): Promise<boolean> {
  try {
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [key])
    return true
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === lockNotAvailable) return false
    throw error
  }
}

/** Queues by key inside this process, so that a hundred waiters cost one database connection. */
export class LocalLocks {
  readonly #tails = new Map<string, Promise<unknown>>()

  isHeld(key: string): boolean {
    return this.#tails.has(key)
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve()
    const mine = before.then(work, work)
    const tail = mine.catch(handledElsewhere)
    this.#tails.set(key, tail)
    try {
      return await mine
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key)
    }
  }
}
