import type pg from 'pg'
import type { Deps } from '../deps.ts'
import { pause } from '../pause.ts'
import { deleteInstance, recordHeartbeat, recordLock } from './instance-store.ts'

const heartbeatMs = 5_000
/** Between two attempts to replace a lost connection. */
const retryMs = 250
/** A connection that does not answer within this time counts as lost. */
const answerMsMax = 5_000

type InstanceDeps = Pick<Deps, 'db' | 'instanceId' | 'locks'>

export interface RunningHeartbeat {
  end(): Promise<void>
}

/**
 * Shows the other servers on this database that this one is alive, until `end`: by a row with a heartbeat, and by a lock
 * that PostgreSQL releases the moment this process dies. Then they take over what it claimed.
 */
export async function startHeartbeat(deps: InstanceDeps & Pick<Deps, 'log' | 'heartbeat'>): Promise<RunningHeartbeat> {
  const over = new AbortController()
  let connection = await holdLock(deps)
  let isSilent = false
  const beating = (async () => {
    while (!over.signal.aborted) {
      await Promise.race([connection.lost, pause(heartbeatMs, over.signal)])
      try {
        if (over.signal.aborted) return
        if (connection.isLost()) connection = await holdLock(deps)
        await connection.prove()
        await recordHeartbeat(deps.db, deps.instanceId)
        deps.heartbeat.recorded()
        if (isSilent) deps.log.info('heartbeat recorded again')
        isSilent = false
      } catch (error) {
        // Logged once, as retries come several times a second.
        if (!isSilent) deps.log.warn({ err: error }, 'failed to record the heartbeat of this server; retrying')
        isSilent = true
        await pause(retryMs, over.signal)
      }
    }
  })()
  return {
    async end() {
      over.abort()
      await beating
      connection.release()
      await deleteInstance(deps.db, deps.instanceId)
    },
  }
}

interface LockedConnection {
  /** Resolves when the connection is lost, and the lock with it. */
  lost: Promise<void>
  isLost(): boolean
  /** Throws when the connection does not reach the database any more. */
  prove(): Promise<void>
  release(): void
}

async function holdLock(deps: InstanceDeps): Promise<LockedConnection> {
  const client = await deps.locks.connect()
  let isLost = false
  const lost = Promise.withResolvers<void>()
  const lose = (error?: Error) => {
    if (isLost) return
    isLost = true
    client.release(error ?? true)
    lost.resolve()
  }
  client.on('error', lose)
  const orLose = async (work: Promise<unknown>) => {
    await work.catch((error: Error) => {
      lose(error)
      throw error
    })
  }
  const query = (text: string, values: string[]) => {
    const config: pg.QueryConfig & { query_timeout: number } = { text, values, query_timeout: answerMsMax }
    return orLose(client.query(config))
  }
  // Another server holds it only for the moment in which it checks whether it is free.
  await query(`select pg_advisory_lock(hashtextextended('svc instance ' || $1::uuid::text, 0))`, [deps.instanceId])
  await orLose(recordLock(deps.db, deps.instanceId))
  return { lost: lost.promise, isLost: () => isLost, prove: () => query('select 1', []), release: () => lose() }
}
