import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Project, Role, SignInWay } from '@svc/contract'
import { commit, type Files, type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import type { Repository } from '@svc/git'
import pino from 'pino'
import { ensureOwner } from './accounts/first-start.ts'
import { insertMember } from './accounts/store.ts'
import { buildApp } from './app.ts'
import { assembleDeps } from './build-deps.ts'
import { startDashboardSession } from './auth/dashboard-session.ts'
import { makeEgressGate } from './egress/gate.ts'
import { type Config, operatorSecrets, parseConfig } from './config.ts'
import { migrate } from './db/migrate.ts'
import { openDatabase } from './db/pool.ts'
import { createTestDatabase } from './db/testing-cluster.ts'
import type { Deps } from './deps.ts'
import { DiskWatch } from './storage/disk-watch.ts'
import { makeKeyring } from './keyring/keyring.ts'
import { Metrics } from './metrics/metrics.ts'
import { managedDir } from './projects/repository.ts'
import { withKeyCleanup } from './redaction/forgetting-driver.ts'
import { Redaction } from './redaction/redaction.ts'
import { watchedKeyring } from './redaction/watched-keyring.ts'
import { insertInstance } from './scheduler/instance-store.ts'
import { Heartbeat } from './scheduler/heartbeat.ts'
import { mintToken } from './tokens/mint.ts'
import { insertRow, updateRows } from './db/rows.ts'

export interface TestRequest {
  /** The owner's when left out; null sends none. */
  token?: string | null
  /** Sent as JSON; a string or bytes are sent unchanged. */
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

export interface TestReply<Body = Record<string, unknown>> {
  status: number
  headers: Headers
  text: string
  /** The parsed JSON; undefined when the reply is none. */
  body: Body
}

export interface TestApp {
  deps: Deps
  ownerToken: string
  owner: { user_id: string; account_id: string }
  request<Body = Record<string, unknown>>(method: string, path: string, options?: TestRequest): Promise<TestReply<Body>>
  /** A second server on the same database and data folder. */
  anotherServer(): Promise<Pick<TestApp, 'deps' | 'request' | 'close'>>
  /** A user in the owner's account, or in one of their own. */
  makeUser(role: Role, account?: 'same' | 'own'): Promise<{ user_id: string; token: string }>
  /** The headers of a browser in which that user has just signed in; the owner's when left out. */
  browser(userId?: string, began_by?: SignInWay): Promise<Record<string, string>>
  makeToken(grant: { user_id?: string; project_id?: string; session_id?: string | null }): Promise<string>
  /** A session row without a sandbox, and a token bound to it. */
  makeSession(project: Project): Promise<{ session_id: string; token: string }>
  managedProject(files?: Files): Promise<{ project: Project; repo: Repository }>
  /** A project whose repository is on a git host over HTTP; `repo` is that host's own folder. */
  externalProject(files?: Files): Promise<{ project: Project; repo: TestRepository; host: HttpBackend }>
  close(): Promise<void>
}

/** The whole server, without sandboxes, on a database and a data folder of its own. */
export async function makeTestApp(overrides: Partial<Deps> & { configure?: Partial<Config> } = {}): Promise<TestApp> {
  const database = await createTestDatabase({ name: 'server', prepare: migrate })
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-test-'))
  const keyring = makeKeyring(randomBytes(32))
  const { configure, ...replaced } = overrides
  const config: Config = {
    ...parseConfig({ DATABASE_URL: database.url, SVC_DATA_DIR: dataDir, SVC_ALLOW_PRIVATE_GIT_HOSTS: '1' }),
    fileRepositories: { roots: 'owned' },
    sandboxDriver: 'none',
    warmSandboxes: { perProject: 0, inAll: 0 },
    // Only a test makes a host slow, not a machine that is busy with other tests.
    hostPatience: { ms: 60_000, msMin: 60_000, aheadMs: 60_000 },
    mergeWaitMs: 600_000,
    // No agent gets work without a model. Nothing answers at this address.
    model: { url: 'http://127.0.0.1:9/v1', key: null, name: 'test-model' },
    // Nothing answers there: no test contacts the real one.
    slackApiUrl: 'http://127.0.0.1:9/api/',
    ...configure,
  }
  const first = await startServer(config, { keyring, ...replaced })
  const { deps, request } = first
  await insertRow(deps.db, 'installation', { installation_id: randomUUID(), master_key_id: keyring.rootKeyId })
  const owner = await ensureOwner(deps)
  const closers: (() => Promise<void>)[] = []

  const makeToken: TestApp['makeToken'] = async (grant) => {
    const { secret_key } = await mintToken(deps, deps.db, {
      name: 'test',
      user_id: grant.user_id ?? owner.user_id,
      project_id: grant.project_id ?? null,
      session_id: grant.session_id ?? null,
      generation: grant.session_id ? 1 : null,
    })
    return secret_key
  }
  const ownerToken = await makeToken({})
  const send: TestApp['request'] = (method, path, options) => request(method, path, { token: ownerToken, ...options })

  const createProject = async (body: object): Promise<Project> => {
    const made = await send<Project>('POST', '/v1/projects', { body })
    if (made.status !== 201) throw new Error(`The project was not made: ${made.status} ${made.text}`)
    return made.body
  }

  return {
    deps,
    owner,
    ownerToken,
    request: send,
    makeToken,
    async browser(userId = owner.user_id, began_by = 'password') {
      const browser = { began_by, address: null, user_agent: null }
      const cookie = (await startDashboardSession(deps, userId, browser)).split(';')[0]!
      return { cookie, origin: config.publicUrl }
    },
    async anotherServer() {
      const other = await startServer(config, { keyring, ...replaced })
      closers.push(other.close)
      const { deps, close } = other
      return {
        deps,
        close,
        request: (method, path, options) => other.request(method, path, { token: ownerToken, ...options }),
      }
    },
    async makeUser(role, account = 'same') {
      const user_id = randomUUID()
      await insertRow(deps.db, 'users', { user_id, name: `A ${role}`, email: null })
      const account_id = account === 'same' ? owner.account_id : randomUUID()
      if (account === 'own') await insertRow(deps.db, 'accounts', { account_id, name: 'Another', plan: 'selfhost' })
      await insertMember(deps.db, { account_id, user_id, role })
      return { user_id, token: await makeToken({ user_id }) }
    },
    async makeSession(project) {
      const session_id = randomUUID()
      await insertRow(deps.db, 'project_sessions', {
        session_id,
        account_id: project.account_id,
        project_id: project.project_id,
        name: 'test',
        branch_name: session_id,
        base_ref: project.default_branch,
        agent_name: 'build',
        status: 'stopped',
        desired: 'stopped',
        created_by: owner.user_id,
      })
      return { session_id, token: await makeToken({ project_id: project.project_id, session_id }) }
    },
    async managedProject(files = { 'README.md': 'hello\n' }) {
      const project = await createProject({ name: 'managed' })
      const repo: Repository = { dir: managedDir(deps, project.project_id), remote: null }
      await commit(repo, project.default_branch, files)
      return { project, repo }
    },
    async externalProject(files = { 'README.md': 'hello\n' }) {
      const repo = await makeRepo({ main: files })
      const host = await serveHttpBackend(repo.dir)
      closers.push(async () => {
        await host.close()
        await repo.remove()
      })
      return { project: await createProject({ name: 'external', repo_url: host.url }), repo, host }
    },
    async close() {
      for (const close of closers.reverse()) await close()
      await first.close()
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** The path of a resource of a project, of one entry, or of an action on one. */
export function projectPath(project: { project_id: string }, resource: string, id?: string, verb?: string): string {
  return ['', 'v1', 'projects', project.project_id, resource, id, verb].filter((part) => part !== undefined).join('/')
}

/** No job runs here to write heartbeats, so this one stays fresh until the slowest test is over. */
export async function letLive(deps: Pick<Deps, 'db' | 'instanceId'>): Promise<void> {
  await updateRows(
    deps.db,
    'server_instances',
    { instance_id: deps.instanceId },
    { heartbeat_at: new Date(Date.now() + 3_600_000) },
  )
}

async function startServer(config: Config, replaced: Partial<Deps> & Pick<Deps, 'keyring'>) {
  const log = replaced.log ?? pino({ level: 'silent' })
  // A machine that is busy with other tests is not an unavailable database.
  const database = openDatabase(config.databaseUrl ?? '', log, { connectMsMax: 60_000 })
  const redaction = replaced.redaction ?? new Redaction(operatorSecrets(config))
  const deps = assembleDeps(database, {
    config,
    serverName: 'test',
    home: null,
    peerTls: null,
    // Only a test makes the disk full, not the machine.
    disk: new DiskWatch({ config, log }),
    redaction,
    egress: makeEgressGate({ folder: join(config.dataDir, 'egress'), operator: config.egress, log }),
    metrics: new Metrics(),
    relaySocket: join(config.dataDir, 'relay', 'relay.sock'),
    // No heartbeat runs here, so its clock stands still.
    heartbeat: new Heartbeat(() => 0),
    // Other tests load the machine.
    pressure: () => ({ cpu: 0, memory: 0, io: 0, freeBytes: null, totalBytes: null }),
    log,
    undeclaredError(route, code) {
      throw new Error(`${route} answered with ${code}: add it to the errors of its route.`)
    },
    ...replaced,
    keyring: watchedKeyring(replaced.keyring, redaction),
    sandboxes: replaced.sandboxes ? withKeyCleanup(replaced.sandboxes, redaction) : null,
  })
  const server = await serve(deps)
  return {
    ...server,
    async close() {
      await server.close()
      await database.close()
    },
  }
}

/** A server of these parts, alive without a heartbeat. */
export async function serve(deps: Deps) {
  await insertInstance(deps.db, deps.instanceId)
  await letLive(deps)
  const app = buildApp(deps)
  const host = new URL(deps.config.publicUrl).host

  async function request<Body>(method: string, path: string, options: TestRequest = {}): Promise<TestReply<Body>> {
    const { token, body, signal } = options
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const response = await app.request(deps.config.publicUrl + path, {
      method,
      headers: {
        host,
        accept: 'application/json',
        ...(token == null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined || isRaw ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: isRaw ? (body as BodyInit) : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: (isJson && text !== '' ? JSON.parse(text) : undefined) as Body,
    }
  }

  return {
    deps,
    request,
    async close() {
      await deps.apps.close({ endsSandboxes: true })
      await deps.checks.close({ endsSandboxes: true })
      await deps.sessions.close({ endsSandboxes: true })
      await deps.events.close()
    },
  }
}
