/** The embedded PostgreSQL, for a server without DATABASE_URL: its own programs under a small supervisor. */
import { chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { handledElsewhere, withDeadline } from '../../deadline.ts'
import { launchPostgres, type PostgresChild } from './child.ts'
import { dataMajor, prepareData } from './data.ts'
import { diskFull, EmbeddedPostgresError, explainFileError, explainOutput, isDatabaseFull } from './error.ts'
import { findPostgresPrograms, type RootWay } from './programs.ts'

export { EmbeddedPostgresError } from './error.ts'

/** After a crash PostgreSQL replays its log before it answers; `max_wal_size` keeps that well below this. */
const readyMsMax = 120_000
/** The server has ten seconds to drain. A slower shutdown is killed, and the next start repairs the data. */
const stopMsMax = 6_000
/** The kernel's limit on a socket's path, which includes the name PostgreSQL gives it. */
const socketPathBytesMax = 107
export const socketName = '.s.PGSQL.5432'

/** Small memory, full durability: fsync, full pages and synchronous commits keep their defaults. */
const settings = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '60',
  shared_buffers: '32MB',
  work_mem: '4MB',
  maintenance_work_mem: '32MB',
  max_wal_size: '256MB',
  min_wal_size: '48MB',
  // No replica reads this log, so it holds only what a restart needs.
  wal_level: 'minimal',
  max_wal_senders: '0',
  // A commit writes the log itself, so this process only helps with large transactions. Five times a second it finds
  // nothing to do.
  wal_writer_delay: '10s',
  // Containers have 64 MB of /dev/shm: parallel queries would fail there, and small tables gain nothing from them.
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  huge_pages: 'off',
  TimeZone: 'UTC',
  log_timezone: 'UTC',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_line_prefix: '',
  // The caller of a refused query reports it; this log covers what concerns the whole database.
  log_min_messages: 'log',
  log_checkpoints: 'off',
}

export interface EmbeddedLog {
  info(fields: object, message: string): void
  debug(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface EmbeddedOptions {
  dataDir: string
  /** Default: the bundled ones, else Debian's. */
  programs?: { binDir: string } | undefined
  log: EmbeddedLog
  /** Aborts the start, not the running database. */
  signal?: AbortSignal | undefined
  /** Overrides of PostgreSQL's settings, for tests. */
  settings?: Record<string, string> | undefined
  /** Tests share one PostgreSQL between processes: it ends with this process and removes its folder. */
  sharedUntilEndOf?: { pid: number; remove: string } | undefined
  rootWays?: RootWay[] | undefined
  /** The socket folder of an earlier start, reused so that clients keep their address. */
  socketDir?: string | undefined
}

export interface EmbeddedPostgres {
  connectionString: string
  pid: number
  socketDir: string
  /** Resolves when PostgreSQL has ended, whether or not it was stopped. */
  exited: Promise<void>
  stop(): Promise<void>
}

export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log, signal } = options
  const dataDir = resolve(options.dataDir)
  signal?.throwIfAborted()
  const wantMajor = await dataMajor(dataDir)
  const programs = await findPostgresPrograms({
    binDir: options.programs?.binDir,
    copyTo: `${dataDir}-programs`,
    wantMajor,
    rootWays: options.rootWays,
    signal,
  })
  await prepareData(dataDir, programs, {
    sync: options.settings?.fsync !== 'off',
    log,
    signal,
  })
  const shared = options.sharedUntilEndOf
  const socketDir = await makeSocketDir(programs.owner, options.socketDir).catch((error: unknown) => {
    throw explainFileError(error, tmpdir())
  })
  const child = launchPostgres({
    dataDir,
    socketDir,
    programs,
    settings: { ...settings, ...options.settings },
    livesWith: shared?.pid ?? null,
    removeAfter: shared?.remove ?? null,
    // The process that starts it may end, or load another test file, long before it.
    logFile: shared === undefined ? null : join(shared.remove, 'postgres.log'),
    onLine: (line) => logLine(log, line),
  })
  const connectionString = `postgresql://svc@localhost/postgres?host=${encodeURIComponent(socketDir)}`
  try {
    await waitUntilReady(child, { connectionString, dataDir, signal })
  } catch (error) {
    await stopChild(child)
    await rm(socketDir, { recursive: true, force: true })
    throw error
  }
  let stopping: Promise<void> | null = null
  return {
    connectionString,
    socketDir,
    pid: Number((await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n')[0]),
    exited: child.exited,
    stop: () => (stopping ??= stopChild(child)),
  }
}

/** A private folder per start: PostgreSQL asks for no other credential than the ability to open it. */
async function makeSocketDir(owner: { uid: number; gid: number }, again: string | undefined): Promise<string> {
  const name = 'svc-pg-XXXXXX'
  const fits = Buffer.byteLength(join(tmpdir(), name, socketName)) <= socketPathBytesMax
  const dir = again ?? (await mkdtemp(join(fits ? tmpdir() : '/tmp', name.slice(0, -6))))
  if (again !== undefined) {
    // Always made by us: a folder that another user put there could hold a database of theirs.
    await rm(again, { recursive: true, force: true })
    await mkdir(again, { mode: 0o700 })
  }
  if (process.getuid?.() === 0) await chown(dir, owner.uid, owner.gid)
  return dir
}

async function waitUntilReady(
  child: PostgresChild,
  options: { connectionString: string; dataDir: string; signal?: AbortSignal | undefined },
): Promise<void> {
  const deadline = Date.now() + readyMsMax
  while (Date.now() < deadline) {
    options.signal?.throwIfAborted()
    if (child.hasExited()) throw explainOutput(child.output(), options.dataDir)
    if (await answers(options)) return
    await withDeadline(child.exited, 5, () => null)
  }
  throw new EmbeddedPostgresError('failed', `PostgreSQL in ${options.dataDir} did not answer within two minutes.`)
}

/** Not there yet, not listening yet, or still repairing after a crash. */
const notYet = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P03'])

async function answers({ connectionString, dataDir }: { connectionString: string; dataDir: string }): Promise<boolean> {
  const client = new pg.Client({ connectionString })
  // pg reports a broken connection a second time, as an event.
  client.on('error', handledElsewhere)
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (notYet.has(code ?? '') || message === 'Connection terminated unexpectedly') return false
    // For a new connection it writes a file of caches when it lacks one.
    if (isDatabaseFull(error)) throw diskFull(dataDir, error)
    throw new EmbeddedPostgresError('failed', `PostgreSQL refused the first connection: ${message}`, error)
  } finally {
    await client.end().catch(handledElsewhere)
  }
}

async function stopChild(child: PostgresChild): Promise<void> {
  child.end()
  await withDeadline(child.exited, stopMsMax, () => null)
  if (!child.hasExited()) child.kill()
  await child.exited
}

function logLine(log: EmbeddedLog, line: string): void {
  // FATAL ends one connection, which every client that connects during the start sees; PANIC ends the database.
  if (line.startsWith('PANIC:')) log.error({ from: 'postgres' }, line)
  else log.debug({ from: 'postgres' }, line)
}
