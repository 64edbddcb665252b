/** Shares the connections that PostgreSQL allows between the pools of a server, before its queries take all of them. */
import type pg from 'pg'
import type { Logger } from 'pino'
import { StartupError } from '../startup/startup-error.ts'
import { isAtConnectionLimit, type PoolSize } from './connection-limit.ts'
import { connectionLimits, connectionsMost, limitSetting } from './allowed-connections.ts'
import type { Db } from './schema.ts'

/** The connection of the heartbeat, and one for a command such as a backup. */
const besidePools = 2
/** With fewer, statements of one request would wait for each other. */
const queriesMin = 3

type Name = 'queries' | 'locks'

/** Throws a StartupError when the limits leave too little. The pools do not grow beyond their share of the smallest limit. */
export async function reserveConnections(
  { db, pools, log }: { db: Db; pools: Record<Name, pg.Pool>; log: Logger },
  sizes: Record<Name, PoolSize>,
): Promise<void> {
  const limits = await connectionLimits(db)
  const smallest = limits.reduce((left, right) => (right.most < left.most ? right : left))
  const connectionsMin = queriesMin + sizes.locks.min + besidePools
  if (smallest.most < connectionsMin)
    throw new StartupError(
      `The database allows ${smallest.most} ${smallest.most === 1 ? 'connection' : 'connections'}, and a server needs at least ${connectionsMin} to merge, and up to ${connectionsMost} under load. Raise ${limitSetting(smallest)}, then start again.`,
    )
  share(smallest.most - besidePools, sizes)
  for (const name of ['queries', 'locks'] as const) pools[name].options.max = sizes[name].max
  try {
    await fill(pools.locks, sizes.locks.min)
  } catch (error) {
    if (!isAtConnectionLimit(error)) throw error
    const [fullest] = limits
    log.warn(
      {
        granted: pools.locks.totalCount,
        needed: sizes.locks.min,
        setting: limitSetting(fullest!),
        limit: fullest!.most,
      },
      'the database refuses connections that merges need, since others use them; raise the setting or free some',
    )
  }
}

function share(most: number, { queries, locks }: Record<Name, PoolSize>): void {
  const all = queries.max + locks.max
  if (most >= all) return
  locks.max = Math.max(locks.min, Math.floor((most * locks.max) / all))
  queries.max = most - locks.max
}

async function fill(pool: pg.Pool, count: number): Promise<void> {
  const taken = await Promise.allSettled(Array.from({ length: count }, () => pool.connect()))
  for (const each of taken) if (each.status === 'fulfilled') each.value.release()
  for (const each of taken) if (each.status === 'rejected') throw each.reason
}
