/** The real server from source in its own process, which can be killed and restarted on the same data. */
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makeToken } from '@svc/contract'
import { freePort } from '@svc/git/testing'
import { ownerSocketName, stopWithSessionsPath } from '@svc/contract/daemon/owner-socket'
import {
  embeddedDatabaseUrl,
  layDatabase,
  type Ran,
  removeFolder,
  run,
  ServerProcess,
  startMsMax,
} from '../e2e/harness.ts'

const program = join(import.meta.dir, '../../packages/svc/src/main.ts')

export interface TortureServerOptions {
  /** A PostgreSQL other than the embedded one. */
  databaseUrl?: string
  /** Keys, token, repositories and mirrors of another server, for a second server beside it. */
  beside?: TortureServer
  /** Where it searches for programs. */
  path?: string
  /** A built program instead of the sources: sandboxes need one. */
  program?: string
  /** Shifts the server's clock by the milliseconds in this file (moved-clock.ts). Works from source only. */
  clockFile?: string
  /** One of several servers with repositories of their own. */
  fleet?: FleetPlace
  /** More settings, which win over the usual ones. */
  settings?: Record<string, string>
  /** Called with everything the server prints, over all of its starts. */
  onOutput?: (text: string) => void
}

interface StartOptions {
  failpoints?: string
  sandboxes?: boolean
  warm?: boolean
  leaseSeconds?: number
}

export interface FleetPlace {
  name: string
  /** How this process reaches the server; it says the address of all of them. */
  url: string
  /** A command that runs it. */
  around: string[]
  settings: Record<string, string>
}

export class TortureServer extends ServerProcess {
  readonly #options: TortureServerOptions
  /** From the start of the process to the first response of GET /v1/ready, for every start. */
  readonly readyMs: number[] = []
  protected override readonly outputCharsMax = 200_000
  #port: string | null = null

  readonly dataDir: string

  private constructor(place: { dir: string; dataDir: string; token: string }, options: TortureServerOptions) {
    super(place.dir)
    this.dataDir = place.dataDir
    this.token = place.token
    this.#options = options
  }

  static async make(options: TortureServerOptions = {}): Promise<TortureServer> {
    const { beside } = options
    const dir = beside?.dir ?? (await mkdtemp(join(tmpdir(), 'svc-torture-')))
    const token = beside?.token ?? makeToken((count) => randomBytes(count))
    const dataDir = join(dir, beside === undefined ? 'data' : `data-${randomBytes(4).toString('hex')}`)
    const server = new TortureServer({ dir, dataDir, token }, options)
    if (beside !== undefined && options.fleet === undefined) await shareRepositories(beside.dataDir, dataDir)
    else if (options.databaseUrl === undefined) await layDatabase(dataDir)
    return server
  }

  /** Resolves when it answers requests, or with false when a failpoint ended it before that. */
  async start(options: StartOptions = {}): Promise<boolean> {
    const began = performance.now()
    const { fleet } = this.#options
    this.#port ??= String(await freePort())
    const isUp = await this.launch([...(fleet?.around ?? []), ...this.#program(), 'server'], this.environment(options))
    if (!isUp) {
      if (options.failpoints !== undefined && this.endedBy === 'SIGKILL') return false
      throw new Error(`The server ended at its start:\n${this.output}`)
    }
    this.url = fleet?.url ?? this.url
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

  /** A command that its operator runs beside it, with its settings and these. */
  svc(args: string[], settings: Record<string, string> = {}): Promise<Ran> {
    return run([...this.#program(), ...args], { cwd: this.dir, env: { ...this.environment(), ...settings } })
  }

  #program(): string[] {
    const { program: built, clockFile } = this.#options
    const loaded = clockFile === undefined ? [] : ['--preload', join(import.meta.dir, 'moved-clock.ts')]
    return built === undefined ? [process.execPath, ...loaded, program] : [built]
  }

  environment(options: StartOptions = {}): Record<string, string> {
    const { clockFile, databaseUrl, path, fleet, settings } = this.#options
    return {
      PATH: path ?? process.env.PATH ?? '',
      HOME: this.dir,
      TMPDIR: tmpdir(),
      SVC_PORT: this.#port ?? '0',
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
      SVC_SANDBOX_LEASE_SECONDS: String(options.leaseSeconds ?? 0),
      SVC_LOG: 'json',
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl, SVC_FILE_REPOSITORY_ROOTS: tmpdir() }),
      ...(clockFile === undefined ? {} : { TORTURE_CLOCK_FILE: clockFile }),
      ...(options.failpoints === undefined ? {} : { SVC_FAILPOINTS: options.failpoints }),
      ...settings,
      ...fleet?.settings,
    }
  }

  protected override heard(text: string): void {
    this.#options.onOutput?.(text)
  }

  /** On a busy machine the database may take a moment to respond. */
  async #untilReady(): Promise<void> {
    const deadline = performance.now() + startMsMax
    for (;;) {
      const ready = await this.askReady(startMsMax)
      const said = await ready.text()
      if (ready.ok) return
      if (performance.now() > deadline) throw new Error(`Not ready: ${ready.status} ${said}`)
      await delay(100)
    }
  }

  /** By the name that it serves, wherever it is reached. */
  askReady(timeoutMs: number): Promise<Response> {
    const host = new URL(this.#options.fleet?.settings.SVC_PUBLIC_URL ?? this.url).host
    return fetch(`${this.url}/v1/ready`, { headers: { host }, signal: AbortSignal.timeout(timeoutMs) })
  }

  override kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    return super.kill(signal)
  }

  /** Ends the server and every sandbox that it made or adopted. */
  async stopWithSessions(): Promise<void> {
    const socket = join(this.dataDir, ownerSocketName)
    await fetch(`http://server${stopWithSessionsPath}`, { unix: socket, method: 'POST' })
    await this.exited
  }

  /** Where the database listens: the given one, or the embedded one. */
  async databaseUrl(): Promise<string> {
    return this.#options.databaseUrl ?? embeddedDatabaseUrl(this.dataDir)
  }

  async remove(): Promise<void> {
    if (this.isRunning) await this.kill('SIGTERM')
    await removeFolder(this.dir)
  }
}

/** Each server has a data folder of its own, which it locks. As on a shared file system, the repositories are the same. */
async function shareRepositories(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const name of ['repositories', 'mirrors']) {
    await mkdir(join(from, name), { recursive: true, mode: 0o700 })
    await symlink(join(from, name), join(to, name))
  }
}
