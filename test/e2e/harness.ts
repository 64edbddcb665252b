/** Starts the built program as a user would and speaks to it by its own client. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { strictEqual } from 'node:assert'
import { freePort } from '@svc/git/testing'
import { migrate } from '../../packages/server/src/db/migrate.ts'
import { madeOncePerRun, makeDataFolder } from '../../packages/server/src/db/testing-cluster.ts'

export const root = join(import.meta.dir, '../..')
export const program = join(root, 'dist/svc')

export interface Ran {
  code: number
  stdout: string
  stderr: string
}

/** Runs a program to its end; the output is read as it comes, so that a full pipe blocks no program. */
export async function run(
  command: string[],
  options: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Promise<Ran> {
  const child = Bun.spawn(command, {
    cwd: options.cwd ?? root,
    env: options.env ?? (process.env as Record<string, string>),
    stdin: options.input === undefined ? 'ignore' : new TextEncoder().encode(options.input),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

/** For a git that reads no configuration but the repository's own. */
export const gitEnvironment = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  LC_ALL: 'C',
}

/** git with only this configuration. */
export async function git(cwd: string, ...args: string[]): Promise<string> {
  const env = {
    ...gitEnvironment,
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.test',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.test',
  }
  const ran = await run(['git', ...args], { cwd, env })
  if (ran.code !== 0) throw new Error(`git ${args.join(' ')}: ${ran.stderr}`)
  return ran.stdout.trim()
}

export async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  ms = 120_000,
): Promise<T> {
  const deadline = Date.now() + ms
  for (;;) {
    const asked = performance.now()
    const answer = await ask()
    if (answer) return answer
    if (Date.now() > deadline) throw new Error(`Waited ${ms / 1000} s in vain for: ${what}`)
    // Where asking is a program of its own, it must not take the processor from what is waited for.
    await Bun.sleep(Math.max(50, 3 * (performance.now() - asked)))
  }
}

export const startMsMax = 60_000

/** The server as a process: its output, where it listens, and its end. */
export class ServerProcess {
  readonly dir: string
  token = ''
  url = ''
  output = ''
  exited: Promise<void> = Promise.resolve()
  protected readonly outputCharsMax: number = Number.POSITIVE_INFINITY
  #child: ChildProcess | null = null

  constructor(dir: string) {
    this.dir = dir
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error('The server does not run.')
    return this.#child.pid
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  get endedBy(): NodeJS.Signals | null {
    return this.#child?.signalCode ?? null
  }

  /** Resolves when it says where it listens, or with false when it ends before that. */
  protected async launch([command = '', ...args]: string[], env: Record<string, string>): Promise<boolean> {
    this.output = ''
    const child = spawn(command, args, { env, cwd: this.dir, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()))
    const listening = Promise.withResolvers<void>()
    let url: string | undefined
    const hear = (chunk: Buffer) => {
      const text = chunk.toString()
      this.heard(text)
      this.output = (this.output + text).slice(-this.outputCharsMax)
      url ??= /Dashboard\s+(http:\/\/\S+)/.exec(this.output)?.[1]
      if (url !== undefined) listening.resolve()
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    const timer = setTimeout(() => child.kill('SIGKILL'), startMsMax)
    await Promise.race([listening.promise, this.exited])
    clearTimeout(timer)
    this.url = url ?? this.url
    return url !== undefined
  }

  /** Called with each part of the output, which `output` may have cut. */
  protected heard(_text: string): void {}

  api(path: string, init: RequestInit & { token?: string | null } = {}): Promise<Response> {
    const { token = this.token, ...rest } = init
    const headers = new Headers(rest.headers)
    if (token !== null) headers.set('authorization', `Bearer ${token}`)
    return fetch(`${this.url}${path}`, { ...rest, headers })
  }

  /** Sends JSON and returns the JSON of the answer, which must have this status, or be any success. */
  async send<T>(method: string, path: string, body?: unknown, status?: number): Promise<T> {
    const response = await this.api(path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (status === undefined ? !response.ok : response.status !== status)
      throw new Error(`${method} ${path}: ${response.status} ${text}${this.#loggedOf(response)}`)
    return JSON.parse(text) as T
  }

  /** The lines of its log about an answer of 500, which only they explain. */
  #loggedOf({ status, headers }: Response): string {
    const id = headers.get('x-request-id')
    if (status !== 500 || id === null) return ''
    const lines = this.output.split('\n').filter((line) => line.includes(id))
    return `\n${lines.join('\n')}`
  }

  /** Resolves with its exit code once it has ended. */
  async kill(signal: NodeJS.Signals): Promise<number | null> {
    this.#child?.kill(signal)
    await this.exited
    return this.#child?.exitCode ?? null
  }
}

export class Server extends ServerProcess {
  readonly env: Record<string, string>
  readonly #around: string[]

  private constructor(dir: string, env: Record<string, string>, around: string[]) {
    super(dir)
    this.env = env
    this.#around = around
  }

  /**
   * A fresh server on a free port, with a data folder, a master key and a client configuration of its own. `around` is a command that runs it.
   * Its database is a copy of an empty one, which spares each its making; with `fromNothing` it makes its own, as a user's first start does.
   */
  static async start(
    env: Record<string, string> = {},
    around: string[] = [],
    { fromNothing = false } = {},
  ): Promise<Server> {
    if (!existsSync(program)) throw new Error('dist/svc is not built: npm run build')
    const dir = await mkdtemp(join(tmpdir(), 'svc-e2e-'))
    const server = new Server(
      dir,
      {
        PATH: process.env.PATH ?? '',
        HOME: dir,
        SVC_PORT: String(await freePort()),
        SVC_DATA_DIR: join(dir, 'data'),
        SVC_MASTER_KEY_FILE: join(dir, 'master.key'),
        SVC_CONFIG_FILE: join(dir, 'config.json'),
        SVC_LOG: 'json',
        // Their runtimes would take the machine from the tests; those of warm sandboxes ask for them.
        SVC_WARM_SANDBOXES: '0',
        // The server of a test is alone: what it leaves behind is ended with it.
        SVC_SANDBOX_LEASE_SECONDS: '0',
        ...env,
      },
      around,
    )
    if (!fromNothing && env.DATABASE_URL === undefined) await layDatabase(join(dir, 'data'))
    await server.boot()
    return server
  }

  /** Starts the program on the data that is there and waits until it is ready. */
  async boot(build = program): Promise<void> {
    if (!(await this.launch([...this.#around, build, 'server'], this.env)))
      throw new Error(`The server ended during its start:\n${this.output}`)
    // The port stays the same over a restart, as it does for a real operator.
    this.env.SVC_PORT = new URL(this.url).port
    const config = (await Bun.file(this.env.SVC_CONFIG_FILE!).json()) as { tokens: Record<string, { token: string }> }
    this.token = config.tokens[this.url]?.token ?? ''
  }

  svc(args: string[], options: { cwd?: string; input?: string; env?: Record<string, string> } = {}): Promise<Ran> {
    return run([program, ...args], {
      ...options,
      cwd: options.cwd ?? this.dir,
      env: { PATH: this.env.PATH!, HOME: this.dir, SVC_CONFIG_FILE: this.env.SVC_CONFIG_FILE!, ...options.env },
    })
  }

  /** The answer of a command that has to succeed, as data. */
  async json<T>(args: string[], options: { cwd?: string; input?: string } = {}): Promise<T> {
    const ran = await this.svc([...args, '--json'], options)
    strictEqual(ran.code, 0, `svc ${args.join(' ')} failed:\n${ran.stderr}\n${ran.stdout}`)
    return JSON.parse(ran.stdout) as T
  }

  async end(): Promise<void> {
    await this.kill('SIGTERM')
    await removeFolder(this.dir)
  }
}

/** The database of a server that was killed ends after it, and writes files until then. */
export async function removeFolder(dir: string): Promise<void> {
  for (const deadline = Date.now() + 30_000; ; await Bun.sleep(50))
    try {
      return await rm(dir, { recursive: true, force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || Date.now() > deadline) throw error
    }
}

/** Lays an empty database with our tables where a server looks for the one it brings along. A lone test file lets the server make it. */
export async function layDatabase(dataDir: string): Promise<void> {
  const prepared = await madeOncePerRun('database', (path) => makeDataFolder(path, migrate))
  if (prepared === null) return
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const copied = await run(['cp', '-a', prepared, join(dataDir, 'postgres')])
  if (copied.code !== 0) throw new Error(`The database was not copied: ${copied.stderr}`)
}

/** Where the embedded PostgreSQL of a running server listens. */
export async function embeddedDatabaseUrl(dataDir: string): Promise<string> {
  const lines = (await Bun.file(join(dataDir, 'postgres/postmaster.pid')).text()).split('\n')
  return `postgresql://svc@localhost/postgres?host=${encodeURIComponent(lines[4] ?? '')}`
}

/** The project's repository for a git of the owner's. */
export function gatewayOf(server: { url: string; token: string }, project: { project_id: string }): string {
  const url = new URL(`${server.url}/v1/projects/${project.project_id}/git`)
  url.username = 'x-access-token'
  url.password = server.token
  return url.href
}

/** Gives a managed project its first commit, over the gateway, as its owner. */
export async function makeFirstCommit(
  server: ServerProcess,
  projectId: string,
  files: Record<string, string> = {},
): Promise<void> {
  const seed = await mkdtemp(join(server.dir, 'seed-'))
  await git(seed, 'init', '--quiet', '--initial-branch=main')
  for (const [name, text] of Object.entries({ 'a.txt': 'a\n', ...files })) await Bun.write(join(seed, name), text)
  await git(seed, 'add', '.')
  await git(seed, 'commit', '--quiet', '-m', 'First')
  await git(seed, 'push', '--quiet', gatewayOf(server, { project_id: projectId }), 'main')
}
