/** The real server in its own process, killed by a hook of the git host at the moment the push arrives. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChangeRequest, makeToken, type Project } from '@svc/contract'
import { commit, type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import pg from 'pg'
import { migrate } from '../../db/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../../db/testing-cluster.ts'
import { type BootedServer, bootServer } from '../../startup/testing-server.ts'
import { gitText, type MergeReply } from '../testing.ts'

const token = makeToken((count) => randomBytes(count))
let database: TestDatabase
let client: pg.Client
let dir: string
let repo: TestRepository
let host: HttpBackend
let server: BootedServer
let project: Project

beforeAll(async () => {
  database = await createTestDatabase({ name: 'server', prepare: migrate })
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  dir = await mkdtemp(join(tmpdir(), 'svc-kill-'))
  repo = await makeRepo({ main: { 'README.md': 'hello\n' } })
  await mkdir(join(repo.dir, 'hooks'), { recursive: true })
  host = await serveHttpBackend(repo.dir)
  server = await boot()
  project = await api<Project>('POST', '/v1/projects', { repo_url: host.url }).then((reply) => reply.body)
}, 120_000)
afterAll(async () => {
  server.child.kill('SIGKILL')
  await server.child.exited
  await client.end()
  await Promise.all([host.close(), database.drop()])
  await Promise.all([repo.remove(), rm(dir, { recursive: true, force: true })])
})

const boot = () => bootServer({ dir, databaseUrl: database.url, token }, () => {})

async function api<Body>(method: string, path: string, body?: object, key?: string) {
  const response = await fetch(server.url! + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(key === undefined ? {} : { 'idempotency-key': key }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Body }
}

const crPath = (crId = '', verb = '') =>
  `/v1/projects/${project.project_id}/change-requests${crId && `/${crId}`}${verb && `/${verb}`}`
const tip = () => gitText(repo, 'rev-parse', 'main')

const rounds = [1, 2, 3].flatMap((round) => [
  { round, hook: 'pre-receive', ends: 1, what: 'and the host refuses the push' },
  { round, hook: 'pre-receive', ends: 0, what: 'and the push goes on without it' },
  { round, hook: 'post-receive', ends: 0, what: 'when the branch has just moved' },
])

test.each(rounds)(
  'survives a kill in $hook, $what (round $round)',
  async ({ round, hook, ends }) => {
    const name = `${hook}-${ends}-${round}`
    const key = `merge-${name}`
    await commit(repo, name, { [`${name}.txt`]: 'x\n' })
    const { body: cr } = await api<ChangeRequest>('POST', crPath(), { title: name, head_ref: name })
    const base = await commit(repo, 'main', { [`beside-${name}.txt`]: 'x\n' })

    const script = join(repo.dir, 'hooks', hook)
    await writeFile(script, `#!/bin/sh\nkill -9 ${server.child.pid}\nexit ${ends}\n`, { mode: 0o755 })
    const cut = await api('POST', crPath(cr.cr_id, 'merge'), {}, key).then(
      (reply) => reply.status,
      () => 'cut',
    )
    expect(cut).toBe('cut')
    await server.child.exited
    await rm(script)
    server = await boot()
    // Its heartbeat is recent, but the merge does not wait for a dead server: its lock is free.
    const again = await api<MergeReply>('POST', crPath(cr.cr_id, 'merge'), {}, key)
    expect(again.status).toBe(200)
    const { change_request: merged, merge } = again.body
    expect(merged).toMatchObject({
      status: 'merged',
      merge_commit_sha: merge.merge_commit_sha,
      base_commit_sha: base,
      head_commit_sha: cr.head_commit_sha,
    })
    expect(merge).toMatchObject({ base_sha_before: base, fast_forward: false, up_to_date: false })
    expect(await tip()).toBe(merge.merge_commit_sha)
    expect(await gitText(repo, 'rev-list', '--count', '--merges', `${base}..main`)).toBe('1')
    const { rows } = await client.query(
      "select action from audit_events where object_id = $1 and action = 'change_request.merge'",
      [cr.cr_id],
    )
    expect(rows).toHaveLength(1)
    const open = await client.query("select 1 from merge_attempts where state = 'intended'")
    expect(open.rowCount).toBe(0)
    expect((await api('POST', crPath(cr.cr_id, 'merge'), {}, key)).body).toEqual(again.body)
  },
  120_000,
)
