/** Three servers with sandboxes on one PostgreSQL, behind a balancer that sends each request to a random one that is ready. */
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Project } from '@svc/contract'
import {
  type SupervisedPostgres,
  superviseEmbeddedPostgres,
} from '../../../packages/server/src/db/embedded/supervise.ts'
import { withClient } from '../../../packages/server/src/db/testing-cluster.ts'
import { type Balancer, startBalancer } from '../../e2e/balancer.ts'
import { gatewayOf, git, until } from '../../e2e/harness.ts'
import { buildTortureProgram } from '../program.ts'
import { TortureServer } from '../server.ts'
import { type TortureProject, World } from '../world.ts'
import { clusterSandboxes } from './cluster-sandboxes.ts'
import type { Host, Network } from './network.ts'
import { localSandboxes, type SandboxKind, type Sandboxes } from './sandboxes.ts'

/** Longer than any harm, so that a server finds its sandboxes again. */
const leaseSeconds = 300
/** A client that gets no answer repeats its request, and may come to another server. */
const requestMs = 30_000
const lookEveryMs = 500
const answerMsMax = 2_000

export interface FleetServer {
  name: string
  /** Its number in the network. */
  n: number
  server: TortureServer
}

export interface FleetProject extends TortureProject {
  /** Since the last harm that changed it. */
  home: FleetServer
  gateway: string
  /** Where its clients make their commits. */
  clone: string
  /** The first commit of main, at which most branches start. */
  root: string
}

export interface Fleet {
  network: Network
  servers: FleetServer[]
  projects: FleetProject[]
  world: World
  balancer: Balancer
  sandboxes: Sandboxes
  database: { dataDir: string; url: string }
  start(server: FleetServer): Promise<void>
  close(options: { keep: boolean }): Promise<void>
}

export const serverNames = ['ada', 'bob', 'cyd'] as const

export async function makeFleet(network: Network, kind: SandboxKind): Promise<Fleet> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-tf-'))
  const dataDir = join(dir, 'postgres')
  const program = await buildTortureProgram(dir)
  const postgres = await startPostgres(dataDir, network)
  network.reach(postgres.connectionString)
  const sandboxes = kind === 'local' ? localSandboxes : await clusterSandboxes({ dir, program, network })
  const balancer = await startBalancer()
  const servers = await makeServers(network, { program, balancer, sandboxes })
  const world = await World.make(servers[0]!.server)
  world.servers.push(...servers.slice(1).map(({ server }) => server))
  world.front = balancer.url
  world.requestMs = requestMs
  const fleet: Fleet = {
    ...{ network, servers, projects: [], world, balancer, sandboxes },
    database: { dataDir, url: postgres.connectionString },
    start: async ({ server }) => void (await server.start({ sandboxes: true, leaseSeconds })),
    async close({ keep }) {
      looking.abort()
      await world.close({ keep })
      await balancer.close()
      await postgres.stop()
      await sandboxes.close()
      await network.close()
      if (!keep) await rm(dir, { recursive: true, force: true })
    },
  }
  process.once('exit', () =>
    servers.filter(({ server }) => server.isRunning).forEach(({ server }) => process.kill(server.pid, 'SIGKILL')),
  )
  const looking = new AbortController()
  for (const each of servers) await fleet.start(each)
  balancer.servers = servers.map(({ server }) => server.url)
  void keepLooking(fleet, looking.signal)
  for (const n of servers.keys()) fleet.projects.push(await makeProject(fleet, n, dir))
  world.projects = fleet.projects
  return fleet
}

/** Listens for the servers, which come over the network, and takes as many connections as three of them open. */
async function startPostgres(dataDir: string, network: Network): Promise<SupervisedPostgres> {
  const quiet = { info() {}, debug() {}, error() {} }
  const postgres = await superviseEmbeddedPostgres({
    dataDir,
    log: quiet,
    settings: { ...network.postgres, max_connections: '200' },
  })
  await appendFile(join(dataDir, 'pg_hba.conf'), 'host all svc all trust\n')
  await withClient(postgres.connectionString, (client) => client.query('select pg_reload_conf()'))
  return postgres
}

async function makeServers(
  network: Network,
  { program, balancer, sandboxes }: { program: string; balancer: Balancer; sandboxes: Sandboxes },
): Promise<FleetServer[]> {
  const servers: FleetServer[] = []
  for (const [n, name] of serverNames.entries()) {
    const host = network.hosts[n]!
    const beside = servers[0]?.server
    const settings = { ...settingsOf(name, host, balancer), ...sandboxes.settingsOf(n) }
    const server = await TortureServer.make({
      program,
      databaseUrl: host.databaseUrl,
      ...(beside === undefined ? {} : { beside }),
      fleet: { name, url: host.frontUrl, around: host.around, settings },
    })
    servers.push({ name, n, server })
  }
  return servers
}

function settingsOf(name: string, host: Host, balancer: Balancer): Record<string, string> {
  return {
    SVC_SERVER_NAME: name,
    SVC_HOST: host.listens,
    SVC_PORT: new URL(host.frontUrl).port,
    SVC_PEER_URL: host.peerUrl,
    SVC_PUBLIC_URL: balancer.url,
    SVC_TRUSTED_PROXIES: 'loopback',
  }
}

/** As a balancer does: a server that is not ready, or does not answer, gets no requests until it is. */
async function keepLooking({ servers, balancer }: Fleet, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const ready = await Promise.all(servers.map(({ server }) => isReady(server)))
    const urls = servers.filter((_, n) => ready[n]).map(({ server }) => server.url)
    // With none it tries all of them.
    balancer.servers = urls.length > 0 ? urls : servers.map(({ server }) => server.url)
    await delay(lookEveryMs)
  }
}

export async function isReady(server: TortureServer): Promise<boolean> {
  try {
    return (await server.askReady(answerMsMax)).ok
  } catch {
    // It does not run, or cannot be reached.
    return false
  }
}

const manifest = `svc_version = 1

[[triggers]]
slug = "hook"
type = "webhook"
secret_env = "HOOK_SECRET"
prompt = "Begin by hand."
`

async function makeProject({ world, servers, database }: Fleet, n: number, dir: string): Promise<FleetProject> {
  const made = await world.insist<Project>('POST', '/v1/projects', { name: `project ${n}` }, `project-${n}`)
  if (made.status !== 201) throw new Error(`The project was not made: ${JSON.stringify(made)}`)
  const id = made.body.project_id
  const { rows } = await withClient(database.url, (client) =>
    client.query<{ home: string }>('select home from projects where project_id = $1', [id]),
  )
  const home = servers.find(({ name }) => name === rows[0]!.home)!
  const clone = join(dir, `clone-${n}`)
  await git(dir, 'init', '--quiet', '--initial-branch=main', clone)
  await Bun.write(join(clone, 'svc.toml'), manifest)
  await git(clone, 'add', '.')
  await git(clone, 'commit', '--quiet', '-m', 'First')
  const gateway = gatewayOf({ url: world.front!, token: home.server.token }, { project_id: id })
  await git(clone, 'push', '--quiet', gateway, 'main')
  await until('the trigger', async () => {
    const { body } = await world.ask<{ triggers: object[] }>('GET', `/v1/projects/${id}/triggers`)
    return body.triggers.length === 1
  })
  const root = await git(clone, 'rev-parse', 'HEAD')
  const project: FleetProject = {
    ...{ kind: 'managed', id, home, gateway, clone: join(clone, '.git'), root },
    get dir() {
      return this.storeDir
    },
    get storeDir() {
      return join(this.home.server.dataDir, 'repositories', `${id}.git`)
    },
  }
  return project
}
