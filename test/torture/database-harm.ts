/** Harms a database under running servers: kills it, crashes a part of it, freezes it, or cuts a connection. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { ignoreClosed } from '../ignored.ts'

/**
 * `killed`: the first process, so PostgreSQL has to be restarted. `crashed`: a backend, after which PostgreSQL ends all others
 * and replays its log. `restarted`: it ends its connections and stops. `frozen`: everything pauses for a while. `cut`: only the
 * connections that hold a lock of some operation.
 */
export const harms = ['killed', 'crashed', 'restarted', 'frozen', 'cut'] as const
export type Harm = (typeof harms)[number]

/** False when there was nothing to harm because no connection held a lock. */
export async function doHarm(
  harm: Harm,
  database: { dataDir: string; url: string },
  frozenMs = 3_000,
): Promise<boolean> {
  if (harm === 'cut') return cutLocks(database.url)
  const first = Number((await readFile(join(database.dataDir, 'postmaster.pid'), 'utf8')).split('\n')[0])
  if (harm === 'killed') return signal(first, 'SIGKILL')
  if (harm === 'restarted') return signal(first, 'SIGINT')
  const others = await childrenOf(first)
  if (harm === 'frozen') {
    for (const pid of [first, ...others]) signal(pid, 'SIGSTOP')
    await delay(frozenMs)
    for (const pid of [first, ...others]) signal(pid, 'SIGCONT')
    return true
  }
  const serving = await Promise.all(
    others.map(async (pid) => ((await titleOf(pid)).includes('svc postgres') ? pid : 0)),
  )
  const pid = serving.find((one) => one > 0)
  return pid === undefined ? false : signal(pid, 'SIGKILL')
}

/** Leaves out the locks by which servers show that they are alive: they have a name of their own and are always held. */
async function cutLocks(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rowCount } = await client.query(`
      select pg_terminate_backend(l.pid) from pg_locks l
      where l.locktype = 'advisory' and l.granted and l.pid <> pg_backend_pid() and not exists (
        select 1 from server_instances i
        where hashtextextended('svc instance ' || i.instance_id::text, 0) = (l.classid::bigint << 32) | l.objid::bigint)`)
    return (rowCount ?? 0) > 0
  } catch {
    // The database still recovers from the previous harm.
    return false
  } finally {
    await client.end().catch(ignoreClosed)
  }
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text.split(' ').filter(Boolean).map(Number)
}

const titleOf = (pid: number) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name)
    return true
  } catch {
    // It ended meanwhile.
    return false
  }
}
