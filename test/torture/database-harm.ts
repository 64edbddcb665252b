/** What befalls a database under servers that live on: it dies, a part of it dies, it stands still, a connection is cut. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/**
 * `killed`: the first process; PostgreSQL has to be started again. `crashed`: one that serves a connection, after which
 * PostgreSQL ends all the others and replays its log. `frozen`: everything stands still for a while, and goes on.
 * `cut`: only the connections that hold the lock of something under way.
 */
export const harms = ['killed', 'crashed', 'frozen', 'cut'] as const
export type Harm = (typeof harms)[number]

const frozenMs = 3_000

/** False when there was nothing to harm: no connection held a lock. */
export async function doHarm(harm: Harm, database: { dataDir: string; url: string }): Promise<boolean> {
  if (harm === 'cut') return cutLocks(database.url)
  const first = Number((await readFile(join(database.dataDir, 'postmaster.pid'), 'utf8')).split('\n')[0])
  if (harm === 'killed') return signal(first, 'SIGKILL')
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

/** Not those by which a server tells that it lives: they are locks of a name of their own, held all the time. */
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
    // Away at this moment, by what was done to it before.
    return false
  } finally {
    await client.end().catch(() => {})
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
