/** The data folder of the embedded PostgreSQL: made once, checked at every start. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, readlink, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { EmbeddedPostgresError, explainFileError, explainOutput, inUse } from './error.ts'
import { runPrefixed, type PostgresPrograms } from './programs.ts'

const run = promisify(execFile)

interface DataLog {
  info(fields: object, message: string): void
}

/** A stopping PostgreSQL may still write for a while; waiting for one that merely runs is useless. */
const stoppingMsMax = 30_000
const runningMsMax = 1_000

/** The major version that made the folder, or null when there is none yet. */
export async function dataMajor(dir: string): Promise<number | null> {
  const version = await readIfThere(join(dir, 'PG_VERSION'), dir)
  if (version !== null) return Number(version.trim())
  const entries = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw explainFileError(error, dir)
  })
  if (entries.length > 0) {
    throw new EmbeddedPostgresError('foreign-data', `${dir} has files that are not PostgreSQL's: nothing was changed.`)
  }
  return null
}

export async function prepareData(
  dir: string,
  programs: PostgresPrograms,
  options: { sync: boolean; log: DataLog; signal?: AbortSignal | undefined },
): Promise<void> {
  const major = await dataMajor(dir)
  if (major === null) return await makeData(dir, programs, options)
  requireMajor(dir, major, programs)
  await own(dir, programs)
  await removeStalePid(dir, options)
}

export function requireMajor(dir: string, major: number, programs: PostgresPrograms): void {
  if (major === programs.major) return
  const kind = major > programs.major ? 'newer-data' : 'older-data'
  throw new EmbeddedPostgresError(
    kind,
    `The data folder ${dir} was made by PostgreSQL ${major}, and this program ${whatItHas(programs)}: ${cureOf(kind, major, programs)}. Nothing was changed.`,
  )
}

function whatItHas({ major, binDir, ownProblem }: PostgresPrograms): string {
  if (ownProblem === null) return `includes ${major}`
  return `found only the ${major} of this machine, in ${binDir} (${ownProblem})`
}

function cureOf(kind: 'newer-data' | 'older-data', major: number, { ownProblem }: PostgresPrograms): string {
  if (ownProblem !== null) return 'start the program where it was built or unpacked, with its packages'
  if (kind === 'newer-data') return 'start the newer version of this program'
  return `install PostgreSQL ${major} (/usr/lib/postgresql/${major}), which it then uses, or dump the data with that version first`
}

/** Made under another name and renamed, so a folder with the real name is complete even after a power failure. */
async function makeData(
  dir: string,
  programs: PostgresPrograms,
  options: { sync: boolean; log: DataLog; signal?: AbortSignal | undefined },
): Promise<void> {
  const { major, binDir, ownProblem } = programs
  const ofMachine = ownProblem === null ? '' : ` of this machine, in ${binDir}, since ${ownProblem}`
  options.log.info({ dataDir: dir }, `Preparing the database for its first start (PostgreSQL ${major}${ofMachine})`)
  const half = `${dir}.new-${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    await mkdir(dirname(dir), { recursive: true, mode: 0o700 })
    await sweepHalves(dir)
    await mkdir(half, { mode: 0o700 })
    await own(half, programs)
  } catch (error) {
    await rm(half, { recursive: true, force: true })
    throw explainFileError(error, dir)
  }
  // From 17 on PostgreSQL has a collation of its own: the same order on every machine, whatever its C library.
  const locale = programs.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []
  const sync = options.sync ? [] : ['--no-sync']
  const args = [
    `--pgdata=${half}`,
    '--username=svc',
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
    ...locale,
    ...sync,
  ]
  try {
    await runPrefixed(programs.prefix, join(programs.binDir, 'initdb'), args, options.signal)
  } catch (error) {
    await rm(half, { recursive: true, force: true })
    options.signal?.throwIfAborted()
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string }
    throw explainOutput(`${stdout}\n${stderr}`.trim() === '' ? message : `${stdout}\n${stderr}`, dir)
  }
  try {
    await rmdir(dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    await rename(half, dir)
    if (options.sync) await syncFolder(dirname(dir))
  } catch (error) {
    await rm(half, { recursive: true, force: true })
    const code = (error as NodeJS.ErrnoException).code
    // Two first starts at once: the other one won, and its folder is in use.
    if (code === 'ENOTEMPTY' || code === 'EEXIST') throw inUse(dir, null)
    throw explainFileError(error, dir)
  }
}

/** Removes what an interrupted first start left. */
async function sweepHalves(dir: string): Promise<void> {
  const start = `${basename(dir)}.new-`
  for (const name of await readdir(dirname(dir))) {
    if (name.startsWith(start) && !isAlive(Number(name.slice(start.length).split('-')[0]))) {
      await rm(join(dirname(dir), name), { recursive: true, force: true })
    }
  }
}

/** The folder changes owner when the server runs as another user, or drops root in another way. */
async function own(dir: string, programs: PostgresPrograms): Promise<void> {
  if (process.getuid?.() !== 0) return
  await runPrefixed(programs.prefix, 'test', ['-x', dirname(dir)], undefined).catch((error: unknown) => {
    const message = `As root, PostgreSQL runs as another user (${programs.owner.uid}), who cannot enter ${dirname(dir)}: set SVC_DATA_DIR to a folder whose parents every user can enter, or set DATABASE_URL.`
    throw new EmbeddedPostgresError('not-writable', message, error)
  })
  if ((await stat(dir)).uid === programs.owner.uid) return
  await run('chown', ['-R', `${programs.owner.uid}:${programs.owner.gid}`, dir])
}

/**
 * PostgreSQL refuses to start beside a `postmaster.pid` whose process exists, but after a crash that number may
 * belong to a zombie or an unrelated process. Every process of PostgreSQL has the data folder as its working
 * directory, so the file is removed when none has.
 */
async function removeStalePid(dir: string, options: { log: DataLog; signal?: AbortSignal | undefined }): Promise<void> {
  const path = join(dir, 'postmaster.pid')
  const began = Date.now()
  let isReported = false
  for (;;) {
    const text = await readIfThere(path, dir)
    if (text === null) return
    const pid = Number(text.split('\n')[0])
    const user = await processIn(dir, pid)
    if (user === null) break
    const stopping = text.includes('stopping')
    if (Date.now() - began > (stopping ? stoppingMsMax : runningMsMax)) throw inUse(dir, user)
    if (!isReported) options.log.info({ dataDir: dir }, 'Waiting for the earlier PostgreSQL of this data folder to end')
    isReported = true
    await delay(25, undefined, { signal: options.signal })
  }
  await rm(path, { force: true }).catch((error: unknown) => {
    throw explainFileError(error, dir)
  })
}

/** A process that uses the folder, or null. */
async function processIn(dir: string, pid: number): Promise<number | null> {
  if (process.platform !== 'linux') return isAlive(pid) ? pid : null
  const real = await realpath(dir)
  // The recorded one first: its children use the folder, too, and have smaller numbers once the kernel begins again at 1.
  for (const name of [String(pid), ...(await readdir('/proc'))]) {
    if (!/^\d+$/.test(name)) continue
    const at = await readlink(`/proc/${name}/cwd`).catch((error: NodeJS.ErrnoException) => {
      // Another user's process: count it as the owner only if it has the recorded id and is PostgreSQL. Zombies and
      // processes that have just ended have no working directory.
      return error.code === 'EACCES' && Number(name) === pid ? hiddenPostgres(pid, real) : null
    })
    if (at === real) return Number(name)
  }
  return null
}

async function hiddenPostgres(pid: number, dir: string): Promise<string | null> {
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')
  return name.trim() === 'postgres' ? dir : null
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function readIfThere(path: string, dir: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw explainFileError(error, dir)
  })
}

async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
