/** Three servers with many projects, change requests and live sessions, each as the product itself would leave it. */
import { cp, mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import pino from 'pino'
import { openDatabase } from '../../packages/server/src/db/pool.ts'
import { openKeyring } from '../../packages/server/src/keyring/open-keyring.ts'
import { sandboxKey } from '../../packages/server/src/sandboxes/key.ts'
import { gatewayOf, git, until } from '../../test/e2e/harness.ts'
import { fillStatements } from '../../test/e2e/many-rows.ts'
import { Fleet, type FleetServer } from '../fleet/servers.ts'

export interface Size {
  projects: number
  changeRequests: number
}

export interface LiveSession {
  session_id: string
  project_id: string
  sandbox_id: string
  home: string
}

interface Seed {
  project_id: string
  session_id: string
}

export class LoadWorld {
  readonly fleet: Fleet
  readonly #seed: Seed
  #live: LiveSession[] = []

  private constructor(fleet: Fleet, seed: Seed) {
    this.fleet = fleet
    this.#seed = seed
  }

  /** Its servers are stopped, so that rows can be added. */
  static async make(size: Size, settings: Record<string, string>): Promise<LoadWorld> {
    const fleet = await Fleet.make(3, 'hosted', settings)
    const world = new LoadWorld(fleet, await makeSeed(fleet))
    await world.#addProjects(size)
    return world
  }

  get sessions(): readonly LiveSession[] {
    return this.#live
  }

  serverOf({ home }: Pick<LiveSession, 'home'>): FleetServer {
    return this.fleet.servers.find(({ name }) => name === home)!
  }

  /** Adds sessions until so many live, each with a sandbox that outlived an earlier server, and starts the servers. */
  async begin(sessions: number): Promise<void> {
    const added = await this.fleet.rows<LiveSession>(copySessions, [
      this.#seed.session_id,
      sessions - this.#live.length,
    ])
    await this.fleet.client.query('analyze')
    await this.#leave(added)
    this.#live.push(...added)
    await Promise.all(this.fleet.servers.map((server) => server.boot()))
    await until('every session to be taken over', () => this.#areTakenOver(sessions), 300_000)
  }

  async #areTakenOver(sessions: number): Promise<boolean> {
    const lost = await this.fleet.rows<{ status: string; error: string | null }>(
      `select status, error from project_sessions where status <> 'running'`,
    )
    if (lost.length > 0) throw new Error(`${lost.length} sessions were lost: ${lost[0]!.status}, ${lost[0]!.error}`)
    const [row] = await this.fleet.rows<{ count: string }>(
      `select count(*) from session_sandboxes join server_instances using (instance_id) where status = 'active'`,
    )
    return Number(row!.count) >= sessions
  }

  async stop(): Promise<void> {
    await Promise.all(this.fleet.servers.map((server) => server.kill('SIGTERM')))
  }

  async #addProjects(rows: Size): Promise<void> {
    const { fleet } = this
    const { project_id } = this.#seed
    const names = fleet.servers.map(({ name }) => name)
    await fleet.client.query('begin')
    // No trigger runs: the rows are not news.
    await fleet.client.query('set local session_replication_role = replica')
    for (const statement of fillStatements)
      await fleet.client.query(statement({ ...rows, externalProjects: 0, endedSessions: 0 }, project_id))
    await fleet.client.query(
      `update projects set home = ($1::text[])[1 + number % 3] from
        (select project_id, row_number() over () as number from projects where slug like 'bulk-%') numbered
        where projects.project_id = numbered.project_id`,
      [names],
    )
    await fleet.client.query('commit')
    const source = this.#homeOfSeed().repository(project_id)
    const made = await fleet.rows<{ project_id: string; home: string }>(
      `select project_id, home from projects where slug like 'bulk-%'`,
    )
    for (const { home } of fleet.servers.map(({ name }) => ({ home: name })))
      await mkdir(join(this.serverOf({ home }).dataDir, 'repositories'), { recursive: true })
    for (let at = 0; at < made.length; at += 50)
      await Promise.all(
        made
          .slice(at, at + 50)
          .map((row) => cp(source, this.serverOf(row).repository(row.project_id), { recursive: true })),
      )
  }

  #homeOfSeed(): FleetServer {
    return this.fleet.servers[0]!
  }

  async #leave(sessions: LiveSession[]): Promise<void> {
    const { fleet } = this
    const opened = openDatabase(fleet.postgres.connectionString, pino({ level: 'silent' }))
    try {
      const databaseUrl = fleet.postgres.connectionString
      const config = { masterKeyFile: join(fleet.dir, 'master.key'), dataDir: fleet.dir, databaseUrl }
      const keyring = await openKeyring({ db: opened.db, config, log: pino({ level: 'silent' }) })
      for (const server of fleet.servers)
        await server.host!.leave(
          sessions
            .filter(({ home }) => home === server.name)
            .map(({ sandbox_id: sandboxId, session_id }) => ({
              sandboxId,
              env: {
                SVC_TOKEN: sandboxKey({ keyring }, sandboxId),
                SVC_SESSION_ID: session_id,
                SVC_SANDBOX_GENERATION: '1',
                SVC_BOOTSTRAP_RUNTIME_SESSION: '1',
              },
            })),
        )
    } finally {
      await opened.close()
    }
  }
}

/** A project with a commit and two branches, and a session in it, as a user makes them. */
async function makeSeed(fleet: Fleet): Promise<Seed> {
  const [first] = fleet.servers as [FleetServer]
  await first.boot()
  const { project_id } = await first.send<{ project_id: string }>('POST', '/v1/projects', { name: 'seed' })
  const work = await mkdtemp(join(fleet.dir, 'work-'))
  await git(work, 'init', '--quiet', '--initial-branch=main')
  await Bun.write(join(work, 'a.txt'), 'a\n')
  await git(work, 'add', '.')
  await git(work, 'commit', '--quiet', '-m', 'First')
  await git(work, 'branch', 'work')
  await git(work, 'push', '--quiet', gatewayOf(first, { project_id }), 'main', 'work')
  await until('the server read the branch', async () => {
    const rows = await fleet.rows(
      `select 1 from default_branches d join trigger_reconciliations t using (project_id, sha)
        join app_reconciliations a using (project_id, sha) join connector_reconciliations c using (project_id, sha)
        where d.project_id = $1`,
      [project_id],
    )
    return rows.length > 0
  })
  const path = `/v1/projects/${project_id}/sessions`
  const { session_id } = await first.send<{ session_id: string }>('POST', path, { name: 'Seed' })
  await until('the session to run', async () => {
    const { status } = await first.send<{ status: string }>('GET', `${path}/${session_id}`)
    if (status === 'failed') throw new Error('The first session failed.')
    return status === 'running'
  })
  await first.kill('SIGTERM')
  return { project_id, session_id }
}

/** Copies of the first session in the other projects, with sandboxes of a server that is gone. */
const copySessions = `
  with placed as (
    select p.project_id, p.account_id, p.home, n from generate_series(1, $2::integer) n
    join (select *, row_number() over (order by slug) - 1 as place, count(*) over () as all_of
      from projects where slug like 'bulk-%') p on p.place = n % p.all_of
  ), made as (
    insert into project_sessions select (jsonb_populate_record(seed, jsonb_build_object(
      'session_id', gen_random_uuid(), 'project_id', placed.project_id, 'next_sandbox_id', gen_random_uuid(),
      'asked_as', null, 'name', 'Live ' || n, 'created_at', now(), 'updated_at', now(), 'last_active_at', now()))).*
    from placed cross join project_sessions seed where seed.session_id = $1
    returning session_id, project_id
  ), sandboxes as (
    insert into session_sandboxes select (jsonb_populate_record(seed, jsonb_build_object(
      'sandbox_id', gen_random_uuid(), 'session_id', made.session_id, 'instance_id', gen_random_uuid(),
      'external_id', null, 'endpoint', null, 'created_at', now(), 'updated_at', now()))).*
    from made cross join session_sandboxes seed where seed.session_id = $1 and seed.status = 'active'
    returning sandbox_id, session_id
  )
  select session_id, project_id, sandbox_id, home from made join sandboxes using (session_id) join placed using (project_id)
  group by 1, 2, 3, 4`
