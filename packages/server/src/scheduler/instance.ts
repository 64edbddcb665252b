import { sql } from 'kysely'
import type pg from 'pg'
import { setTimeout as delay } from 'node:timers/promises'
import type { Deps } from '../deps.ts'

const heartbeatMs = 5_000
/** A lost connection is replaced after this long, again and again. */
const retryMs = 250
/** A connection that does not answer for this long leads nowhere. */
const answerMsMax = 5_000

type InstanceDeps = Pick<Deps, 'db' | 'instanceId'>

/** A row without a lock: others know it by its heartbeat. */
export async function registerInstance(deps: InstanceDeps): Promise<void> {
  await deps.db
    .insertInto('server_instances')
    .values({ instance_id: deps.instanceId, lock_taken_at: null, knows_root_key: true })
    .execute()
}

/** A row that was forgotten while its server could not be heard of comes back. */
export async function beat(deps: InstanceDeps): Promise<void> {
  await deps.db
    .insertInto('server_instances')
    .values({ instance_id: deps.instanceId, lock_taken_at: null, knows_root_key: true })
    .onConflict((conflict) => conflict.column('instance_id').doUpdateSet({ heartbeat_at: sql<string>`now()` }))
    .execute()
  await deps.db
    .deleteFrom('server_instances')
    .where('heartbeat_at', '<', sql<string>`now() - interval '1 day'`)
    .execute()
}

export interface Life {
  end(): Promise<void>
}

/**
 * Tells other servers on this database that this one lives, until `end`: by a row with a heartbeat, and by a lock
 * that is free the moment this process is gone. What it claimed is looked after by them then.
 */
export async function beginLife(deps: InstanceDeps & Pick<Deps, 'locks' | 'log' | 'pulse'>): Promise<Life> {
  const over = new AbortController()
  let connection = await holdLock(deps)
  let isSilent = false
  const beating = (async () => {
    while (!over.signal.aborted) {
      await Promise.race([connection.lost, delay(heartbeatMs, null, { signal: over.signal }).catch(() => null)])
      try {
        if (over.signal.aborted) return
        if (connection.isLost()) connection = await holdLock(deps)
        await connection.prove()
        await beat(deps)
        deps.pulse.beaten()
        if (isSilent) deps.log.info('other servers are told again that this one lives')
        isSilent = false
      } catch (error) {
        // Once: it is tried several times a second.
        if (!isSilent)
          deps.log.warn({ err: error }, 'other servers cannot be told that this one lives; it is tried again')
        isSilent = true
        await delay(retryMs, null, { signal: over.signal }).catch(() => null)
      }
    }
  })()
  return {
    async end() {
      over.abort()
      await beating
      connection.release()
      await deps.db.deleteFrom('server_instances').where('instance_id', '=', deps.instanceId).execute()
    },
  }
}

interface LockedConnection {
  /** Resolves when the connection is gone, and the lock with it. */
  lost: Promise<void>
  isLost(): boolean
  /** That it still leads to the database. */
  prove(): Promise<void>
  release(): void
}

async function holdLock(deps: InstanceDeps & Pick<Deps, 'locks'>): Promise<LockedConnection> {
  const client = await deps.locks.connect()
  let isLost = false
  let tellLost = () => {}
  const lost = new Promise<void>((resolve) => (tellLost = resolve))
  const lose = (error?: Error) => {
    if (isLost) return
    isLost = true
    client.release(error ?? true)
    tellLost()
  }
  client.on('error', lose)
  const ask = async (text: string, values: string[]) => {
    const query: pg.QueryConfig & { query_timeout: number } = { text, values, query_timeout: answerMsMax }
    await client.query(query).catch((error: Error) => {
      lose(error)
      throw error
    })
  }
  // Nobody but this server takes it for longer than a look at whether it is free.
  await ask(`select pg_advisory_lock(hashtextextended('svc instance ' || $1::uuid::text, 0))`, [deps.instanceId])
  // From here on others believe the lock more than the heartbeat, so it has to be held already.
  const times = { heartbeat_at: sql<string>`now()`, lock_taken_at: sql<string>`clock_timestamp()` }
  await deps.db
    .insertInto('server_instances')
    .values({ instance_id: deps.instanceId, knows_root_key: true, ...times })
    .onConflict((conflict) => conflict.column('instance_id').doUpdateSet(times))
    .execute()
    .catch((error: Error) => {
      lose(error)
      throw error
    })
  return { lost, isLost: () => isLost, prove: () => ask('select 1', []), release: () => lose() }
}

/** With the embedded database this server is alone on its data: whoever was registered before is dead, whatever their heartbeat says. */
export async function endOtherInstances(deps: InstanceDeps): Promise<void> {
  await deps.db.deleteFrom('server_instances').where('instance_id', '!=', deps.instanceId).execute()
}
