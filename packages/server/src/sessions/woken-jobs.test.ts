/** The jobs of running sessions sleep, however many sessions run, and still notice each change that concerns one. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Session } from '@svc/contract'
import { sql } from 'kysely'
import type { Deps } from '../deps.ts'
import type { Changed } from '../scheduler/inbox.ts'
import { JobWaker } from '../scheduler/job-waker.ts'
import { jobs } from '../scheduler/jobs.ts'
import { runJobs } from '../scheduler/loop.ts'
import { reconcileSessions } from './jobs.ts'
import { letDie, makeSessionApp, secondServer, type SessionApp, until } from './testing.ts'

/** Far longer than any test: only a notification wakes a job. */
const never = 3_600_000
const names = ['push changed secrets', 'refresh sessions']

let app: SessionApp
let aheadMs = 0
let stopping: AbortController
let ended: Promise<void>
beforeAll(async () => {
  app = await makeSessionApp({ outlives: true, deps: { now: () => new Date(Date.now() + aheadMs) } })
}, 120_000)
afterAll(() => app.close())
beforeEach(() => {
  stopping = new AbortController()
  ended = Promise.resolve()
})
afterEach(async () => {
  stopping.abort()
  await ended
})

/** Runs the two jobs as the server does, except for their intervals. Returns their runs since both sleep. */
async function startJobs(deps: Deps): Promise<{ name: string; changed: Changed }[]> {
  const runs: { name: string; changed: Changed }[] = []
  const waker = new JobWaker(deps)
  deps.sessions.onAttached((projectId) => waker.wake('project_sessions', projectId))
  const quick = jobs(deps)
    .filter(({ name }) => names.includes(name))
    .map((job) => ({
      ...job,
      everyMs: 1,
      idleMs: never,
      run(signal: AbortSignal, changed: Changed) {
        runs.push({ name: job.name, changed })
        return job.run(signal, changed)
      },
    }))
  ended = runJobs(quick, stopping.signal, deps, waker)
  await until('the server listens', () => waker.isListening)
  // A run for one project shows that the runs for everything are over.
  await until('the jobs sleep', async () => {
    waker.wake('project_sessions', app.project.project_id)
    const last = names.map((name) => runs.findLast((run) => run.name === name))
    return last.every((run) => run !== undefined && run.changed !== 'all')
  })
  runs.length = 0
  return runs
}

const secretOf = ({ sandbox }: Pick<Session, 'sandbox'>, name: string) =>
  app.driver.seen(sandbox!.sandbox_id)!.env[name]
const setSecret = (name: string, value: string) =>
  app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, { body: { name, value } })

test('changed secrets reach a running session, and sessions of other projects are not read', async () => {
  const session = await app.running()
  const runs = await startJobs(app.deps)
  await setSecret('WOKEN', 'one')
  await until('the session has it', () => secretOf(session, 'WOKEN') === 'one')
  expect(runs.map(({ changed }) => changed)).not.toContain('all')
}, 120_000)

test('a refresh that has to wait is applied without a poll of all sessions', async () => {
  const { session_id: id } = await app.running()
  const refresh = async () => (await app.request<Session>('POST', app.path(id, 'refresh'))).body.refresh?.status ?? null
  const runs = await startJobs(app.deps)
  // On a busy machine the server reaches the daemon a moment after the session runs.
  await until('a refresh that need not wait', async () => {
    aheadMs += 5_000
    return (await refresh()) === 'done'
  })
  expect(await refresh()).toBe('waiting')
  aheadMs += 5_000
  await until('it is applied', async () => (await app.session(id)).refresh?.status === 'done')
  expect(runs.map(({ changed }) => changed)).not.toContain('all')
}, 120_000)

test('a start with more sessions than are reconciled at once comes back for the rest', async () => {
  const { session_id } = await app.running()
  const rows = sql`insert into project_sessions select (jsonb_populate_record(seed,
    jsonb_build_object('session_id', gen_random_uuid(), 'next_sandbox_id', gen_random_uuid(), 'asked_as', null))).*
    from project_sessions seed cross join generate_series(1, 600) where seed.session_id = ${session_id}`
  await rows.execute(app.deps.db)
  const enqueued = new Set<string>()
  const sessions = {
    ...{ endOrphans: async () => {}, inHand: () => app.deps.sessions.inHand() },
    enqueue: (id: string) => void enqueued.add(id),
  }
  expect(await reconcileSessions({ ...app.deps, sessions })).toBe('again')
  const taken = sql`update project_sessions set status = 'stopped', desired = 'stopped'
    where session_id = any(${[...enqueued]}::uuid[])`
  await taken.execute(app.deps.db)
  expect(await reconcileSessions({ ...app.deps, sessions })).toBeNull()
  expect(enqueued.size).toBe(600)
}, 120_000)

test('a session that another server left gets the secrets that changed meanwhile', async () => {
  const session = await app.running()
  await app.deps.sessions.close({ endsSandboxes: false })
  await letDie(app.deps)
  await setSecret('MEANWHILE', 'one')
  const next = await secondServer(app, {}, { sandboxes: app.deps.sandboxes })
  try {
    const runs = await startJobs(next.deps)
    expect(secretOf(session, 'MEANWHILE')).toBeUndefined()
    await reconcileSessions(next.deps)
    await until('the session has it', () => secretOf(session, 'MEANWHILE') === 'one')
    expect(runs.map(({ changed }) => changed)).not.toContain('all')
  } finally {
    stopping.abort()
    await ended
    await next.close()
  }
}, 120_000)
