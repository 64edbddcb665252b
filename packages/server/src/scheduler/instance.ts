import pg from 'pg'
import type { Deps } from '../deps.ts'
import { handledElsewhere, withDeadline } from '../deadline.ts'
import { liveAgain } from '../fleet/store.ts'
import { pause } from '../pause.ts'
import { deleteEarlierInstances, deleteInstance, type Instance, recordHeartbeat, recordLock } from './instance-store.ts'
import { watchInstances } from './watch-instances.ts'

const heartbeatMs = 5_000
/** Between two attempts to replace a lost connection. */
const retryMs = 250
/** A connection that does not answer within this time counts as lost, and a heartbeat as not recorded. */
const answerMsMax = 5_000

type InstanceDeps = Pick<Deps, 'config' | 'db' | 'disk' | 'instanceId' | 'locks' | 'heartbeat' | 'now' | 'serverName'>

export interface InstanceOptions {
  /** The id of the data folder, whose lock this server holds. */
  folderId: string
  /** Called when another server has died. */
  onDeath: () => Promise<unknown>
}

export interface RunningHeartbeat {
  end(): Promise<void>
}

/**
 * Shows the other servers on this database that this one is alive, until `end`: by a row with a heartbeat, and by a lock
 * that PostgreSQL releases the moment this process dies. Then they take over what it claimed.
 */
export async function startHeartbeat(
  deps: InstanceDeps & Pick<Deps, 'log'>,
  { folderId, onDeath }: InstanceOptions,
): Promise<RunningHeartbeat> {
  const over = new AbortController()
  const { instanceId, serverName, config } = deps
  // A server without jobs moves nothing forward, so no project has its home there.
  const peerUrl = config.roles.worker ? config.peerUrl : null
  const instance = { instanceId, folderId, serverName, peerUrl }
  let connection = await holdLock(deps, instance)
  const earlier = await deleteEarlierInstances(deps.db, instance)
  if (earlier.length > 0) deps.log.info({ instances: earlier }, 'earlier servers of this data folder have ended')
  let isSilent = false
  const beat = async () => {
    await recordHeartbeat(deps.db, instance, deps)
    if (peerUrl !== null && (await liveAgain(deps.db, serverName, config.replica !== 'none')))
      deps.log.warn('the projects of this server were taken over while it was paused; it goes on without them')
  }
  const beating = (async () => {
    while (!over.signal.aborted) {
      await Promise.race([connection.lost, pause(heartbeatMs, over.signal)])
      try {
        if (over.signal.aborted) return
        if (connection.isLost()) connection = await holdLock(deps, instance)
        await connection.prove()
        // Not as long as the pool waits for an answer: for that time, the others would take this server for dead.
        await withDeadline(beat(), answerMsMax, noAnswer)
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
  const watching = watchInstances(deps, over.signal, onDeath)
  return {
    async end() {
      over.abort()
      await Promise.all([beating, watching])
      connection.release()
      // While the database is away, the rest has to end all the same.
      await deleteInstance(deps.db, deps.instanceId).catch((error: unknown) =>
        deps.log.warn(
          { err: error },
          'failed to remove the entry of this server from the database; other servers see by its lock that it has ended',
        ),
      )
    },
  }
}

function noAnswer(): never {
  throw new Error(`The database did not answer within ${answerMsMax} ms.`)
}

interface LockedConnection {
  /** Resolves when the connection is lost, and the lock with it. */
  lost: Promise<void>
  isLost(): boolean
  /** Throws when the connection does not reach the database any more. */
  prove(): Promise<void>
  release(): void
}

const lockKey = `hashtextextended('svc instance ' || $1::uuid::text, 0)`
const takeLock = `select pg_advisory_lock(${lockKey})`
/** Ends the backend that has the lock of this process, other than the one that asks. */
const endHolder = `select pg_terminate_backend(pid) from pg_locks
  where locktype = 'advisory' and mode = 'ExclusiveLock' and granted and pid <> pg_backend_pid()
    and database = (select oid from pg_database where datname = current_database()) and objsubid = 1
    and (classid::bigint << 32 | objid::bigint) = ${lockKey}`

/**
 * On a connection of its own: one of the pool would have to wait while others use all of them. PostgreSQL keeps the one
 * before it, and its lock, until TCP gets through a network that was cut: that takes up to a minute.
 */
async function holdLock(deps: InstanceDeps, instance: Instance): Promise<LockedConnection> {
  const { db, locks, heartbeat } = deps
  const client = new pg.Client(locks.options)
  let isLost = false
  const lost = Promise.withResolvers<void>()
  const lose = () => {
    if (isLost) return
    isLost = true
    client.end().catch(handledElsewhere)
    lost.resolve()
  }
  client.on('error', lose)
  client.on('end', lose)
  void lost.promise.then(() => heartbeat.lockLost())
  const orLose = async (work: Promise<unknown>) => {
    await work.catch((error: Error) => {
      lose()
      throw error
    })
  }
  const query = (text: string, values: string[]) => {
    const config: pg.QueryConfig & { query_timeout: number } = { text, values, query_timeout: answerMsMax }
    return orLose(client.query(config))
  }
  await orLose(client.connect())
  await query(endHolder, [instance.instanceId])
  // Another server holds it only for the moment in which it checks whether it is free.
  await query(takeLock, [instance.instanceId])
  await orLose(recordLock(db, instance, deps))
  heartbeat.lockTaken()
  return { lost: lost.promise, isLost: () => isLost, prove: () => query('select 1', []), release: () => lose() }
}
