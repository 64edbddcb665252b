/** The real server from source in its own process, which can be killed and restarted on the same data. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makeToken } from '@svc/contract'
import { layDatabase, removeFolder } from '../e2e/harness.ts'

const program = join(import.meta.dir, '../../packages/svc/src/main.ts')
const startMsMax = 60_000

export interface TortureServerOptions {
  /** A PostgreSQL other than the embedded one. */
  databaseUrl?: string
  /** Data folder, keys and token of another server, for a second server beside it. */
  beside?: TortureServer
  /** Where it searches for programs. */
  path?: string
  /** A built program instead of the sources: sandboxes need one. */
  program?: string
  /** Shifts the server's clock by the milliseconds in this file (moved-clock.ts). Works from source only. */
  clockFile?: string
}

export class TortureServer {
  readonly dir: string
  readonly token: string
  readonly #databaseUrl: string | null
  readonly #path: string
  readonly #command: string[]
  readonly #clockFile: string | null
  url = ''
  output = ''
  /** From the start of the process to the first response of GET /v1/ready, for every start. */
  readonly readyMs: number[] = []
  exited: Promise<void> = Promise.resolve()
  #child: ChildProcess | null = null
  #port = '0'

  private constructor(dir: string, token: string, options: TortureServerOptions) {
    this.dir = dir
    this.token = token
    this.#databaseUrl = options.databaseUrl ?? null
    this.#path = options.path ?? process.env.PATH ?? ''
    this.#clockFile = options.clockFile ?? null
    const loaded = options.clockFile === undefined ? [] : ['--preload', join(import.meta.dir, 'moved-clock.ts')]
    this.#command = options.program === undefined ? [process.execPath, ...loaded, program] : [options.program]
  }

  static async make(options: TortureServerOptions = {}): Promise<TortureServer> {
    const { beside } = options
    const dir = beside?.dir ?? (await mkdtemp(join(tmpdir(), 'svc-torture-')))
    const token = beside?.token ?? makeToken((count) => randomBytes(count))
    const server = new TortureServer(dir, token, options)
    if (beside === undefined && options.databaseUrl === undefined) await layDatabase(server.dataDir)
    return server
  }

  get dataDir(): string {
    return join(this.dir, 'data')
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error('The server does not run.')
    return this.#child.pid
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Resolves when it answers requests, or with false when a failpoint ended it before that. */
  async start(options: { failpoints?: string; sandboxes?: boolean; warm?: boolean } = {}): Promise<boolean> {
    const began = performance.now()
    this.output = ''
    const [command = '', ...first] = this.#command
    const child = spawn(command, [...first, 'server'], {
      cwd: this.dir,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: this.#path,
        HOME: this.dir,
        TMPDIR: tmpdir(),
        SVC_PORT: this.#port,
        SVC_DATA_DIR: this.dataDir,
        // Prompts need a model. The runtime is a stand-in, so it never calls this one.
        SVC_LLM_UPSTREAM_URL: 'http://127.0.0.1:9/v1',
        SVC_LLM_MODEL: 'none',
        SVC_MASTER_KEY_FILE: join(this.dir, 'master.key'),
        SVC_CONFIG_FILE: join(this.dir, 'config.json'),
        SVC_BOOTSTRAP_TOKEN: this.token,
        SVC_SANDBOX_DRIVER: options.sandboxes === true ? 'auto' : 'none',
        SVC_ALLOW_PRIVATE_GIT_HOSTS: '1',
        SVC_WARM_SANDBOXES: options.warm === true ? '1' : '0',
        SVC_LOG: 'json',
        ...(this.#databaseUrl === null ? {} : { DATABASE_URL: this.#databaseUrl, SVC_FILE_REPOSITORY_ROOTS: tmpdir() }),
        ...(this.#clockFile === null ? {} : { TORTURE_CLOCK_FILE: this.#clockFile }),
        ...(options.failpoints === undefined ? {} : { SVC_FAILPOINTS: options.failpoints }),
      },
    })
    this.#child = child
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()))
    const said = new Promise<string>((resolve) => {
      const hear = (chunk: Buffer) => {
        this.output = (this.output + chunk.toString()).slice(-200_000)
        const url = /Dashboard +(http:\S+)/.exec(this.output)?.[1]
        if (url !== undefined) resolve(url)
      }
      child.stdout.on('data', hear)
      child.stderr.on('data', hear)
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), startMsMax)
    const url = await Promise.race([said, this.exited])
    clearTimeout(timer)
    if (url === undefined) {
      if (options.failpoints !== undefined && child.signalCode === 'SIGKILL') return false
      throw new Error(`The server ended at its start:\n${this.output}`)
    }
    this.url = url
    this.#port = new URL(url).port
    try {
      await this.#untilReady()
    } catch (error) {
      // The broken connection arrives before the exit of the process.
      await Promise.race([this.exited, delay(5_000)])
      if (this.isRunning) throw error
      return false
    }
    this.readyMs.push(performance.now() - began)
    return true
  }

  /** On a busy machine the database may take a moment to respond. */
  async #untilReady(): Promise<void> {
    const deadline = performance.now() + startMsMax
    for (;;) {
      const ready = await fetch(`${this.url}/v1/ready`)
      const said = await ready.text()
      if (ready.ok) return
      if (performance.now() > deadline) throw new Error(`Not ready: ${ready.status} ${said}`)
      await delay(100)
    }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal)
    await this.exited
  }

  /** Where the database listens: the given one, or the embedded one. */
  async databaseUrl(): Promise<string> {
    if (this.#databaseUrl !== null) return this.#databaseUrl
    const lines = (await readFile(join(this.dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')
    return `postgresql://svc@localhost/postgres?host=${encodeURIComponent(lines[4] ?? '')}`
  }

  async remove(): Promise<void> {
    if (this.isRunning) await this.kill('SIGTERM')
    await removeFolder(this.dir)
  }
}
