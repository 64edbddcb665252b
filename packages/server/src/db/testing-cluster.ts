/** One PostgreSQL for a whole test run, with a database per test file. It ends with the test runner. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { appendFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { handledElsewhere } from '../deadline.ts'
import { isAlive } from './embedded/data.ts'
import { startEmbeddedPostgres } from './embedded/postgres.ts'

const startMsMax = 120_000
const log = {
  info: () => {},
  debug: () => {},
  error: (_: object, message: string) => process.stderr.write(`${message}\n`),
}

export interface TestDatabase {
  url: string
  drop(): Promise<void>
}

/**
 * Clones a new database from a template that `prepare` fills once per test run. `SVC_TEST_DATABASE_URL` names a
 * server to use instead of the embedded one; its template is made per run.
 */
export async function createTestDatabase(template: {
  name: string
  prepare: (url: string) => Promise<void>
}): Promise<TestDatabase> {
  if (!/^[a-z][a-z0-9_]{0,40}$/.test(template.name)) throw new Error(`${template.name} cannot name a template`)
  const clusterUrl = process.env.SVC_TEST_DATABASE_URL ?? (await sharedCluster())
  const source = `${template.name}_${runner()}`
  const name = `${template.name}_${randomBytes(6).toString('hex')}`
  await withClient(clusterUrl, async (client) => {
    await ensureTemplate(client, { clusterUrl, source, prepare: template.prepare })
    // file_copy requests a checkpoint each time; logging a small template is cheaper.
    await client.query(`create database ${name} template ${source} strategy wal_log`)
  })
  const drop = async () => {
    await withClient(clusterUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
  }
  return { url: databaseUrl(clusterUrl, name), drop }
}

/**
 * A folder or file that `make` writes at the given path once per test run, removed with the run. Null, and nothing
 * made, without a run to share it: in a single test file, or on an external database server.
 */
export async function madeOncePerRun(name: string, make: (path: string) => Promise<void>): Promise<string | null> {
  if (!isWorker() || process.env.SVC_TEST_DATABASE_URL !== undefined) return null
  const path = join(clusterDir(), name)
  await withClient(await sharedCluster(), async (client) => {
    await client.query('select pg_advisory_lock(hashtext($1))', [path])
    if (existsSync(path)) return
    await rm(`${path}.new`, { recursive: true, force: true })
    await make(`${path}.new`)
    await rename(`${path}.new`, path)
  })
  return path
}

/** The data folder of an embedded PostgreSQL, filled by `prepare`. */
export async function makeDataFolder(dataDir: string, prepare: (url: string) => Promise<void>): Promise<void> {
  const cluster = await startEmbeddedPostgres({ dataDir, log, settings: { fsync: 'off' } })
  try {
    await prepare(cluster.connectionString)
  } finally {
    await cluster.stop()
  }
  // The kernel has what a killed server wrote; only a power failure, which no test causes, would lose it.
  await appendFile(join(dataDir, 'postgresql.auto.conf'), 'fsync = off\n')
}

async function ensureTemplate(
  client: pg.Client,
  options: { clusterUrl: string; source: string; prepare: (url: string) => Promise<void> },
): Promise<void> {
  const { source } = options
  if (await isTemplate(client, source)) return
  // Held until the connection ends, so that one process prepares and the others find it done.
  await client.query('select pg_advisory_lock(hashtext($1))', [source])
  if (!(await isTemplate(client, source))) {
    await dropTemplatesOfEarlierRuns(client, source.slice(0, source.lastIndexOf('_')))
    await client.query(`drop database if exists ${source} with (force)`)
    await client.query(`create database ${source} template template0`)
    await options.prepare(databaseUrl(options.clusterUrl, source))
    await client.query(`alter database ${source} with is_template true allow_connections false`)
    // A pool that prepare has just ended may still be closing, and a template in use cannot be cloned.
    await client.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [source])
  }
  await client.query('select pg_advisory_unlock(hashtext($1))', [source])
}

/** On an external server, templates stay until a later run finds that their run is over. */
async function dropTemplatesOfEarlierRuns(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{ datname: string }>('select datname from pg_database where datistemplate')
  for (const { datname } of rows) {
    const pid = new RegExp(`^${name}_(\\d+)$`).exec(datname)?.[1]
    if (pid === undefined || isAlive(Number(pid))) continue
    await client.query(`alter database ${datname} is_template false`)
    await client.query(`drop database ${datname} with (force)`)
  }
}

async function isTemplate(client: pg.Client, name: string): Promise<boolean> {
  const found = await client.query('select 1 from pg_database where datname = $1 and datistemplate', [name])
  return found.rowCount === 1
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  // Its queries fail with the same error. A torture ends connections also between two of them.
  client.on('error', handledElsewhere)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function databaseUrl(clusterUrl: string, name: string): string {
  const url = new URL(clusterUrl)
  url.pathname = `/${name}`
  return url.href
}

/** The process that ends with the test run: the parent of a worker, else this process. */
function runner(): number {
  return isWorker() ? process.ppid : process.pid
}

/** Bun sets BUN_TEST_WORKER_ID for a single file too, which it runs without workers; the arguments tell the difference. */
function isWorker(): boolean {
  if (process.env.BUN_TEST_WORKER_ID === undefined) return false
  const ownArguments = existsSync('/proc/self/cmdline')
    ? readFileSync('/proc/self/cmdline', 'utf8')
    : execFileSync('ps', ['-o', 'args=', '-p', String(process.pid)], { encoding: 'utf8' })
  return ownArguments.includes('--test-worker')
}

let started: Promise<string> | null = null

function sharedCluster(): Promise<string> {
  started ??= findOrStart()
  return started
}

function clusterDir(): string {
  return join(tmpdir(), `svc-test-pg-${process.getuid?.() ?? 0}-${runner()}`)
}

/** The folder is the lock: its creator starts the cluster, the others wait for the address written there. */
async function findOrStart(): Promise<string> {
  const dir = clusterDir()
  const address = join(dir, 'address')
  try {
    await mkdir(dir, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return await waitForAddress(dir, address)
  }
  await writeFile(join(dir, 'starter'), String(process.pid))
  const cluster = await startEmbeddedPostgres({
    dataDir: join(dir, 'postgres'),
    log,
    // A test cluster is discarded, so nothing has to survive a power failure.
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
    sharedUntilEndOf: { pid: runner(), remove: dir },
  })
  await writeFile(`${address}.new`, cluster.connectionString)
  await rename(`${address}.new`, address)
  return cluster.connectionString
}

async function waitForAddress(dir: string, address: string): Promise<string> {
  if ((await stat(dir)).uid !== process.getuid?.()) throw new Error(`${dir} belongs to another user`)
  const deadline = Date.now() + startMsMax
  while (!existsSync(address)) {
    if (Date.now() > deadline) throw new Error(`The test cluster in ${dir} did not start within two minutes`)
    await delay(10)
  }
  return await readFile(address, 'utf8')
}
