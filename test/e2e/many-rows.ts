/** A server with many rows that all are at rest, and the questions it still asks its database. */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../packages/server/src/db/embedded/postgres.ts'
import { git, makeFirstCommit, removeFolder, Server, until } from './harness.ts'

export interface Rows {
  projects: number
  /** On a git host that refuses every connection. */
  externalProjects: number
  changeRequests: number
  endedSessions: number
}

const log = { info: () => {}, debug: () => {}, error: (_: object, text: string) => process.stderr.write(`${text}\n`) }

/** A server on a PostgreSQL that counts statements. */
export class CountedServer {
  readonly server: Server
  readonly client: pg.Client
  readonly postgres: EmbeddedPostgres
  readonly #dir: string
  #seed: { project_id: string; sha: string } | null = null

  private constructor(server: Server, client: pg.Client, postgres: EmbeddedPostgres, dir: string) {
    this.server = server
    this.client = client
    this.postgres = postgres
    this.#dir = dir
  }

  static async start(): Promise<CountedServer> {
    const dir = await mkdtemp(join(tmpdir(), 'svc-counted-'))
    const settings = { shared_preload_libraries: 'pg_stat_statements', fsync: 'off' }
    const postgres = await startEmbeddedPostgres({ dataDir: join(dir, 'postgres'), log, settings })
    const client = new pg.Client({ connectionString: postgres.connectionString })
    await client.connect()
    await client.query('create extension pg_stat_statements')
    const server = await Server.start({ DATABASE_URL: postgres.connectionString, SVC_ALLOW_PRIVATE_GIT_HOSTS: '1' })
    return new CountedServer(server, client, postgres, dir)
  }

  async end(): Promise<void> {
    await this.server.end()
    await this.client.end()
    await this.postgres.stop()
    await removeFolder(this.#dir)
  }

  /** Adds rows until there are so many, each in the state in which the server would leave it. */
  async addRows(rows: Rows): Promise<void> {
    const { project_id, sha } = (this.#seed ??= await this.#makeSeed())
    await this.client.query('begin')
    // No trigger runs: the rows are not news.
    await this.client.query(`set local session_replication_role = replica`)
    for (const statement of fillStatements) await this.client.query(statement(rows, project_id))
    await this.client.query('commit')
    await this.client.query('analyze')
    const { rows: managed } = await this.client.query<{ project_id: string }>(
      `select project_id from projects where managed and slug like 'bulk-%' and project_id <> $1`,
      [project_id],
    )
    for (let at = 0; at < managed.length; at += 100)
      await Promise.all(managed.slice(at, at + 100).map((row) => this.#layRepository(row.project_id, sha)))
  }

  /** The statements since the last call, by their text. */
  async countStatements(): Promise<Map<string, number>> {
    const { rows } = await this.client.query<{ query: string; calls: string }>(
      `select query, calls from pg_stat_statements where query not like '%pg_stat_statements%' order by calls desc`,
    )
    await this.client.query('select pg_stat_statements_reset()')
    return new Map(rows.map(({ query, calls }) => [query, Number(calls)]))
  }

  /** The rounds of the sweep since the statements were counted last. It runs every five seconds whatever happens. */
  async rounds(): Promise<number> {
    const { rows } = await this.client.query<{ calls: string | null }>(
      `select sum(calls) as calls from pg_stat_statements where query like '%p.managed and p.deleted_at is null%'
        and query not like '%pg_stat_statements%'`,
    )
    return Number(rows[0]?.calls ?? 0)
  }

  /** A project as the server makes it: the others are copies of its rows. */
  async #makeSeed() {
    const { project_id } = await this.server.json<{ project_id: string }>(['projects', 'create', '--name', 'seed'])
    await makeFirstCommit(this.server, project_id)
    const sha = await git(this.#repository(project_id), 'rev-parse', 'main')
    await until('the server read the branch', async () => {
      const of = [project_id, sha]
      const { rows } = await this.client.query(
        `select 1 from default_branches d join trigger_reconciliations t using (project_id, sha)
          join app_reconciliations a using (project_id, sha) join connector_reconciliations c using (project_id, sha)
          where d.project_id = $1 and d.sha = $2`,
        of,
      )
      return rows.length > 0
    })
    return { project_id, sha }
  }

  #repository(projectId: string): string {
    return join(this.server.env.SVC_DATA_DIR!, 'repositories', `${projectId}.git`)
  }

  /** Only what a reader of branches needs. */
  async #layRepository(projectId: string, sha: string): Promise<void> {
    const dir = this.#repository(projectId)
    await mkdir(join(dir, 'refs/heads'), { recursive: true })
    await mkdir(join(dir, 'objects'), { recursive: true })
    await writeFile(join(dir, 'HEAD'), 'ref: refs/heads/main\n')
    await writeFile(join(dir, 'packed-refs'), `${sha} refs/heads/main\n${sha} refs/heads/work\n`)
  }
}

const likeSeed = (table: string, seed: string, changes: string) =>
  `insert into ${table} select (jsonb_populate_record(seed, ${changes})).* from ${table} seed
    cross join projects p where seed.project_id = '${seed}' and p.slug like 'bulk-%' on conflict do nothing`
const ofProject = `jsonb_build_object('project_id', p.project_id)`

/** In their order. `seed` is a project whose rows the others are copies of. */
export const fillStatements: ((rows: Rows, seed: string) => string)[] = [
  ({ projects, externalProjects }, seed) =>
    `insert into projects select (jsonb_populate_record(seed, jsonb_build_object('project_id', gen_random_uuid(),
      'slug', 'bulk-' || n, 'managed', n <= ${projects}, 'repo_url',
      case when n <= ${projects} then seed.repo_url else 'http://127.0.0.1:9/' || n || '.git' end))).*
    from projects seed cross join generate_series(1, ${projects + externalProjects}) n
    where seed.project_id = '${seed}' and not exists (select from projects there where there.slug = 'bulk-' || n)`,
  (_, seed) => likeSeed('default_branches', seed, ofProject),
  (_, seed) => likeSeed('trigger_reconciliations', seed, ofProject),
  (_, seed) => likeSeed('app_reconciliations', seed, ofProject),
  (_, seed) => likeSeed('connector_reconciliations', seed, ofProject),
  () => `insert into project_looks (project_id, looked_at, wanted_at, next_poll_at)
    select project_id, now(), 'epoch', case when managed then null else now() end
    from projects where slug like 'bulk-%' on conflict do nothing`,
  ({ changeRequests }) =>
    `insert into change_requests (cr_id, account_id, project_id, number, title, base_ref, head_ref, head_commit_sha,
      base_commit_sha)
    select gen_random_uuid(), p.account_id, p.project_id, 1 + (select count(*) from change_requests c
        where c.project_id = p.project_id) + n, 'Work', 'main', 'work', d.sha, d.sha
    from (select *, count(*) over () as all_of, row_number() over () as place from projects
      where slug like 'bulk-%' and managed) p
    join default_branches d using (project_id)
    cross join generate_series(1, ${changeRequests}) n
    where n % p.all_of = p.place - 1 and n > (select count(*) from change_requests)`,
  () => `insert into change_request_checks (cr_id, base_sha, head_sha, can_merge)
    select cr_id, base_commit_sha, head_commit_sha, true from change_requests on conflict do nothing`,
  ({ endedSessions }, seed) =>
    `insert into project_sessions (session_id, account_id, project_id, name, branch_name, base_ref, agent_name, status,
      desired, created_at, updated_at, last_active_at)
    select gen_random_uuid(), p.account_id, p.project_id, 'Ended', 'work', 'main', 'build', 'stopped', 'stopped',
      now() - n * interval '20 seconds', now() - n * interval '20 seconds', now() - n * interval '20 seconds'
    from projects p cross join generate_series(1, ${endedSessions}) n
    where p.project_id = '${seed}' and n > (select count(*) from project_sessions)`,
  () => `insert into session_sandboxes (sandbox_id, session_id, driver, status, generation, instance_id, created_at, updated_at)
    select gen_random_uuid(), session_id, 'local', 'stopped', 1, gen_random_uuid(), created_at - interval '10 minutes', created_at
    from project_sessions on conflict do nothing`,
]
