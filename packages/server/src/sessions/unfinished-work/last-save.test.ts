/** The last save of a sandbox while the copy of its project cannot be written, and the copy after that. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '@svc/contract'
import { commit, makeRepo, type TestRepository } from '@svc/git/testing'
import { buildApp } from '../../app.ts'
import { withReconcilers } from '../../build-deps.ts'
import { gitText } from '../../change-requests/testing.ts'
import { LocalLocks } from '../../db/lock.ts'
import { insertRow } from '../../db/rows.ts'
import type { Deps } from '../../deps.ts'
import { promote } from '../../fleet/promote.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../testing.ts'
import { savedReply } from './testing-work-daemon.ts'

let app: SessionApp
let work: TestRepository
let dir: string
/** The server with the copy. */
let keeper: { deps: Deps; stop(): Promise<void> }
/** Whether it takes no objects now, and how often it refused some. */
let isAway = false
let refused = 0
let snapshot: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-last-save-'))
  app = await makeSessionApp({
    deps: { serverName: 'ada', home: 'ada' },
    configure: { replica: 'sync', saveWorkEveryMs: 3_600_000 },
  })
  work = await makeRepo({})
  await gitText(work, 'fetch', '--quiet', app.repo.dir, '+refs/heads/*:refs/heads/*')
  await insertRow(app.deps.db, 'servers', { server_name: 'ada', data_folder: randomUUID(), keeps_replicas: true })
  keeper = await startKeeper()
}, 120_000)
beforeEach(() => {
  isAway = false
  refused = 0
  app.driver.options.around = (path, answer) => (path === '/svc/wip' ? saved() : answer())
})
afterEach(() => delete app.driver.options.around)
afterAll(async () => {
  await app.close()
  await keeper.stop()
  await work.remove()
  await rm(dir, { recursive: true, force: true })
})

async function startKeeper() {
  const { config } = app.deps
  const own = { serverName: 'bob', home: 'bob', instanceId: randomUUID(), localLocks: new LocalLocks() }
  const deps = withReconcilers({
    ...app.deps,
    ...own,
    sandboxes: null,
    config: { ...config, dataDir: join(dir, 'bob') },
  })
  const served = buildApp(deps)
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      if (!isAway) return served.fetch(request)
      refused++
      return Response.json({ error: 'It is away.', code: 'unavailable' }, { status: 503 })
    },
  })
  const names = { server_name: 'bob', data_folder: randomUUID(), peer_url: `http://127.0.0.1:${server.port}` }
  await insertRow(deps.db, 'servers', { ...names, keeps_replicas: true })
  await insertRow(deps.db, 'server_instances', {
    ...names,
    instance_id: own.instanceId,
    heartbeat_at: new Date(Date.now() + 3_600_000),
  })
  return { deps, stop: () => server.stop(true) }
}

async function saved(): Promise<Response> {
  const base = await gitText(app.repo, 'rev-parse', 'main')
  const head = { state: 'saved', commit: snapshot, base, files: 1, paths: ['a.txt'], unpushed: 0, notes: [] }
  return savedReply(work.dir, head, [])
}

async function edits(files: Record<string, string>): Promise<string> {
  snapshot = await commit(work, `work-${randomUUID()}`, files, { from: await gitText(work, 'rev-parse', 'main') })
  return snapshot
}

const saveNow = (session: Session) => app.request('POST', app.path(session.session_id, 'wip'))
const stop = (session: Session) => app.request<Session>('POST', app.path(session.session_id, 'stop'))
const workOf = async (session: Session) =>
  (await app.request<{ commit: string | null }>('GET', app.path(session.session_id, 'wip'))).body.commit

/** The sandbox cannot be asked any more once its session has stopped. */
async function stopped(session: RunningSession): Promise<Session> {
  const { body } = await stop(session)
  delete app.driver.options.around
  return body
}

test('a save that waits for the copy is kept when its session stops meanwhile', async () => {
  const session = await app.running()
  const newest = await edits({ 'a.txt': 'one\n' })
  isAway = true
  const saving = saveNow(session)
  await until('the save waits for the copy', () => refused > 0)
  const { status, error } = await stopped(session)
  await saving
  expect([status, error, await workOf(session)]).toEqual(['stopped', null, newest])
}, 120_000)

test('a last save does not wait for the saves of other sessions', async () => {
  const [busy, ends] = [await app.running(), await app.running()]
  const newest = await edits({ 'a.txt': 'two\n' })
  isAway = true
  const saving = saveNow(busy)
  await until('the save waits for the copy', () => refused > 0)
  const { status } = (await stop(ends)).body
  expect([status, await workOf(ends)]).toEqual(['stopped', newest])
  isAway = false
  await saving
  await stop(busy)
}, 120_000)

/** What an operator finds when the home is gone for good now. Another server tries it only. */
async function lostWithHome(): Promise<string[]> {
  const { project_id } = app.project
  const tried = await promote(keeper.deps, {
    ...{ projectId: project_id, deadHome: 'ada', epoch: 1, acceptLoss: false, isTrial: true, reason: '' },
  })
  if (tried.kind !== 'lossy') throw new Error(tried.kind)
  return tried.missing.map(({ ref }) => ref)
}

/** Ends a session whose last save the copy does not get. */
async function lagging(files: Record<string, string>): Promise<void> {
  const session = await app.running()
  await edits(files)
  isAway = true
  expect((await stop(session)).body.status).toBe('stopped')
  expect(await workOf(session)).toBe(snapshot)
  isAway = false
}

test('what is acknowledged after a last save that lags is in the copy with all it needs', async () => {
  await app.deps.replicas.tend(new AbortController().signal)
  const files = { 'large.txt': `${randomUUID()}\n`.repeat(1000) }
  await lagging(files)
  const next = await app.running()
  const newest = await edits({ ...files, 'more.txt': 'more\n' })
  expect((await saveNow(next)).status).toBe(200)
  expect(await workOf(next)).toBe(newest)
  expect(await lostWithHome()).not.toContain(`refs/svc/wip/${next.session_id}`)
  await stop(next)
}, 120_000)

test('a last save that lags is copied later although the copy got another change before it', async () => {
  await app.deps.replicas.tend(new AbortController().signal)
  await lagging({ 'lags.txt': 'lags\n' })
  // A branch of its own is the other change.
  const next = await app.running()
  await app.deps.replicas.tend(new AbortController().signal)
  expect(await lostWithHome()).toEqual([])
  await stop(next)
}, 120_000)
