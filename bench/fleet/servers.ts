/** Real servers on one real PostgreSQL that counts statements, each in a process of its own. */
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { makeToken } from '@svc/contract'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../packages/server/src/db/embedded/postgres.ts'
import { freePort } from '../../packages/git/src/testing.ts'
import { program, removeFolder, ServerProcess } from '../../test/e2e/harness.ts'
import { sharedSettings } from '../../test/e2e/one-of-several.ts'
import { processorMsOf } from '../report/processes.ts'
import { SandboxHost } from './sandbox-host.ts'

const log = { info: () => {}, debug: () => {}, error: (_: object, text: string) => process.stderr.write(`${text}\n`) }

/** The built program as operators run it, or the same server from source with sandboxes of a process beside it. */
export type Sandboxes = 'none' | 'hosted'

export class FleetServer extends ServerProcess {
  readonly name: string
  readonly #env: Record<string, string>
  readonly #command: string[]
  /** The process that has its sandboxes. */
  readonly host: SandboxHost | null

  constructor(dir: string, name: string, env: Record<string, string>, host: SandboxHost | null) {
    super(dir)
    this.name = name
    this.host = host
    this.#command =
      host === null
        ? [program, 'server']
        : [process.execPath, join(import.meta.dir, 'server-with-hosted-sandboxes.ts'), host.socket]
    this.#env = { ...env, SVC_SERVER_NAME: name, SVC_DATA_DIR: join(dir, name) }
  }

  get dataDir(): string {
    return this.#env.SVC_DATA_DIR!
  }

  async boot(): Promise<void> {
    this.#env.SVC_PORT ??= String(await freePort())
    this.url = `http://127.0.0.1:${this.#env.SVC_PORT}`
    if (!(await this.launch(this.#command, { ...this.#env, SVC_PEER_URL: this.url }))) throw new Error(this.output)
    // What it prints is the public address, which all servers share.
    this.url = `http://127.0.0.1:${this.#env.SVC_PORT}`
  }

  repository(projectId: string): string {
    return join(this.dataDir, 'repositories', `${projectId}.git`)
  }
}

export class Fleet {
  readonly dir: string
  readonly token: string
  readonly client: pg.Client
  readonly postgres: EmbeddedPostgres
  readonly servers: FleetServer[]

  private constructor(
    dir: string,
    token: string,
    client: pg.Client,
    postgres: EmbeddedPostgres,
    servers: FleetServer[],
  ) {
    this.dir = dir
    this.token = token
    this.client = client
    this.postgres = postgres
    this.servers = servers
  }

  /** None of its servers runs yet. */
  static async make(count: number, sandboxes: Sandboxes, settings: Record<string, string> = {}): Promise<Fleet> {
    const dir = await mkdtemp(join(tmpdir(), 'svc-bench-'))
    const postgres = await startEmbeddedPostgres({
      dataDir: join(dir, 'postgres'),
      log,
      settings: {
        shared_preload_libraries: 'pg_stat_statements',
        'pg_stat_statements.track_utility': 'on',
        max_connections: '200',
        shared_buffers: '256MB',
        max_wal_size: '2GB',
      },
    })
    const client = new pg.Client({ connectionString: postgres.connectionString })
    await client.connect()
    await client.query('create extension pg_stat_statements')
    const token = makeToken((bytes) => randomBytes(bytes))
    const env = {
      ...sharedSettings(dir, postgres.connectionString),
      SVC_PUBLIC_URL: 'http://127.0.0.1:8420',
      SVC_BOOTSTRAP_TOKEN: token,
      SVC_WARM_SANDBOXES: '0',
      SVC_SANDBOX_DRIVER: 'none',
      ...settings,
    }
    const servers = await Promise.all(
      ['ada', 'bob', 'cyd'].slice(0, count).map(async (name) => {
        const host = sandboxes === 'hosted' ? await SandboxHost.start(join(dir, `${name}.sock`)) : null
        await mkdir(join(dir, name), { mode: 0o700 })
        const server = new FleetServer(dir, name, env, host)
        server.token = token
        return server
      }),
    )
    return new Fleet(dir, token, client, postgres, servers)
  }

  async rows<Row>(text: string, values?: unknown[]): Promise<Row[]> {
    return (await this.client.query(text, values)).rows as Row[]
  }

  /** CPU time so far of all servers with the programs below them, and of the database. */
  processorMs(): { servers: number; postgres: number } {
    const running = this.servers.filter((server) => server.isRunning)
    return {
      servers: running.reduce((sum, { pid }) => sum + processorMsOf(pid), 0),
      postgres: processorMsOf(this.postgres.pid),
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.servers.map((server) => (server.isRunning ? server.kill('SIGTERM') : null)))
    await Promise.all(this.servers.map((server) => server.host?.end()))
    await this.client.end()
    await this.postgres.stop()
    await removeFolder(this.dir)
  }
}
