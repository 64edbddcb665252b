/** A copy leaves a draining server while its home records changes. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Repository } from '@svc/git'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { deleteRows, findRow, insertRow, updateRows } from '../../db/rows.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { until } from '../../testing-until.ts'
import { acknowledge } from '../acknowledge.ts'
import type { HeldReplica } from './peer.ts'
import { findReplica, projectsToCopy } from './store.ts'

setDefaultTimeout(120_000)

const main = 'refs/heads/main'
const noCopy = { error: 'This server has no copy of the project.', code: 'not_found' }

let app: TestApp
const peers: Peer[] = []
beforeAll(async () => {
  app = await makeTestApp({ serverName: 'here', home: 'here', configure: { replica: 'sync' } })
})
afterAll(async () => {
  await Promise.all(peers.map((peer) => peer.stop()))
  await app.close()
})

/** Another server that keeps copies, and the requests that brought it objects. */
class Peer {
  readonly requests: string[] = []
  readonly stop: () => Promise<void>
  readonly url: string
  /** A first copy waits for it. */
  gate: Promise<unknown> = Promise.resolve()
  #held: HeldReplica | null = null

  constructor() {
    const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => this.#answer(request) })
    this.url = `http://127.0.0.1:${server.port}`
    this.stop = () => server.stop(true)
    peers.push(this)
  }

  static async start(server_name: string): Promise<Peer> {
    const peer = new Peer()
    const data_folder = randomUUID()
    const { db } = app.deps
    await insertRow(db, 'servers', { server_name, data_folder, peer_url: peer.url, keeps_replicas: true })
    await insertRow(db, 'server_instances', {
      ...{ instance_id: randomUUID(), data_folder, server_name, peer_url: peer.url },
      // It runs for as long as the test does.
      heartbeat_at: new Date(Date.now() + 3_600_000).toISOString(),
    })
    return peer
  }

  async #answer(request: Request): Promise<Response> {
    if (request.method === 'GET')
      return this.#held === null ? Response.json(noCopy, { status: 404 }) : Response.json(this.#held)
    const { pathname, searchParams } = new URL(request.url)
    const body = Buffer.from(await request.arrayBuffer())
    const what = pathname.split('/').at(-1)!
    this.requests.push(what)
    if (what !== 'fill') return new Response(null)
    const { refs } = JSON.parse(body.toString('latin1').split('\n')[0]!) as Pick<HeldReplica, 'refs'>
    await this.gate
    this.#held = { epoch: Number(searchParams.get('epoch')), seq: Number(searchParams.get('seq')), refs }
    return new Response(null)
  }
}

async function record(projectId: string, repo: Repository, old: string | null, during = async () => {}): Promise<void> {
  const project = (await findRow(app.deps.db, 'projects', { project_id: projectId }))!
  await acknowledge(app.deps, { project, store: repo, refs: [{ ref: main, old }] }, during)
}

async function isAnyoneLocked(): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from pg_locks where not granted`.execute(app.deps.db)
  return rows[0]!.count > 0
}

test('a change that is recorded while its copy changes servers is sent to the new one', async () => {
  const { db, replicas } = app.deps
  await Peer.start('bob')
  const { project, repo } = await app.managedProject()
  const first = await commit(repo, 'main', { 'first.txt': '1\n' })
  await record(project.project_id, repo, null)
  expect((await findReplica(db, project.project_id))?.server).toBe('bob')

  await updateRows(db, 'servers', { server_name: 'bob' }, { draining_since: new Date().toISOString() })
  const cyd = await Peer.start('cyd')
  const filled = Promise.withResolvers<void>()
  cyd.gate = filled.promise
  const left = replicas.tend(new AbortController().signal)
  await until('cyd gets the copy', () => cyd.requests.includes('fill'))

  // The copy at cyd has the refs as they were before this change, which bob gets.
  await commit(repo, 'main', { 'second.txt': '2\n' })
  await record(project.project_id, repo, first, async () => {
    filled.resolve()
    await until('the new copy waits for the record of this change', isAnyoneLocked)
  })
  await left
  expect(await findReplica(db, project.project_id)).toMatchObject({ server: 'cyd', acknowledged_seq: 2 })
  expect(cyd.requests).toEqual(['fill', 'objects'])
})

test('a copy stays at a draining server while the only other one does not run', async () => {
  const { db } = app.deps
  const pending = () => projectsToCopy(db, { serverName: 'here', deadAfterSeconds: 20, limit: 10 })
  expect(await pending()).toEqual([])
  await updateRows(db, 'servers', { server_name: 'cyd' }, { draining_since: new Date().toISOString() })
  await insertRow(db, 'servers', {
    server_name: 'dan',
    data_folder: randomUUID(),
    peer_url: null,
    keeps_replicas: true,
  })
  // Nothing can be done for it, so the job would look at it every two seconds, and at no others.
  expect(await pending()).toEqual([])
  await deleteRows(db, 'servers', { server_name: 'dan' })
})

test('a draining server gets the copy of a project that nobody changes, if there is no other server', async () => {
  const { db, replicas } = app.deps
  const { project } = await app.managedProject()
  await replicas.tend(new AbortController().signal)
  expect((await findReplica(db, project.project_id))?.server).toBe('bob')
})
