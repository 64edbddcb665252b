/** Stops, restarts and deletions of a session whose newest work cannot be saved. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { commit, makeRepo, type TestRepository } from '@svc/git/testing'
import { sql } from 'kysely'
import { gitText } from '../../change-requests/testing.ts'
import { makeSessionApp, type RunningSession, type SessionApp } from '../testing.ts'
import { until } from '../../testing-until.ts'
import { savedReply } from './testing-work-daemon.ts'

let app: SessionApp
let work: TestRepository
beforeAll(async () => {
  app = await makeSessionApp({ configure: { saveWorkEveryMs: 3_600_000 } })
  work = await makeRepo({})
  await gitText(work, 'fetch', '--quiet', app.repo.dir, '+refs/heads/*:refs/heads/*')
}, 120_000)
afterEach(() => delete app.driver.options.around)
afterAll(async () => {
  await app.close()
  await work.remove()
})

/** The agent has a commit that is nowhere else, and git on the server cannot store it until `mend`. */
async function unsavable(): Promise<{ session: RunningSession; snapshot: string; mend: () => Promise<void> }> {
  const session = await app.running()
  const base = await gitText(app.repo, 'rev-parse', 'main')
  const branch = `work-${randomUUID()}`
  const snapshot = await commit(work, branch, { 'a.txt': `${branch}\n` }, { from: base })
  const head = { state: 'saved', commit: snapshot, base, files: 1, paths: ['a.txt'], unpushed: 0, notes: [] }
  app.driver.options.around = (path, answer) => (path === '/svc/wip' ? savedReply(work.dir, head, []) : answer())
  // git allows no ref below the name of another one.
  const below = `refs/svc/wip/${session.session_id}/in-the-way`
  await gitText(app.repo, 'update-ref', below, base)
  return { session, snapshot, mend: async () => void (await gitText(app.repo, 'update-ref', '-d', below)) }
}

const kept = (session: RunningSession) =>
  gitText(app.repo, 'for-each-ref', '--format=%(objectname)', `refs/svc/wip/${session.session_id}`)
const isAlive = async ({ sandbox }: RunningSession) => (await app.driver.find(sandbox!.sandbox_id)) !== null

for (const [name, method, verb] of [
  ['stop', 'POST', 'stop'],
  ['restart', 'POST', 'restart'],
  ['deletion', 'DELETE', undefined],
] as const)
  test(`a ${name} that would lose work is refused, changes nothing, and goes on once the work can be saved`, async () => {
    const { session, snapshot, mend } = await unsavable()
    const { session_id: sessionId } = session
    const refused = await app.request<{ error: string; hint: string; code: string }>(method, app.path(sessionId, verb))
    expect([refused.status, refused.body.code]).toEqual([409, 'work_not_saved'])
    expect(refused.body.error).toContain('still runs')
    expect(refused.body.error).toContain("git on the server couldn't store the changes")
    expect(refused.body.hint).toContain('discard=true')
    expect([(await app.session(sessionId)).status, await isAlive(session)]).toEqual(['running', true])
    await mend()
    expect((await app.request(method, app.path(sessionId, verb))).status).toBeLessThan(300)
    expect([await kept(session), await isAlive(session)]).toEqual([snapshot, false])
  }, 120_000)

test('a deletion that may lose the work ends a session whose work cannot be saved', async () => {
  const { session, snapshot } = await unsavable()
  const { status } = await app.request('DELETE', `${app.path(session.session_id)}?discard=true`)
  expect([status, await isAlive(session)]).toEqual([200, false])
  expect(await kept(session)).not.toBe(snapshot)
}, 120_000)

test('a session whose sandbox does not answer is deleted', async () => {
  const { session } = await unsavable()
  app.driver.options.around = async () => new Response('', { status: 500 })
  expect((await app.request('DELETE', app.path(session.session_id))).status).toBe(200)
  expect(await isAlive(session)).toBe(false)
}, 120_000)

test('a stop during which the database goes away is refused as one, and changes nothing', async () => {
  const { session, snapshot, mend } = await unsavable()
  await mend()
  const { session_id: sessionId } = session
  const { db } = app.deps
  const refused = await db.transaction().execute(async (trx) => {
    await sql`lock table session_snapshots in access exclusive mode`.execute(trx)
    const stopped = app.request<{ code: string }>('POST', app.path(sessionId, 'stop'))
    await until('the save to wait for its row', async () => {
      const ended = await sql`select pg_terminate_backend(pid, 5000) from pg_locks
        where relation = 'session_snapshots'::regclass and not granted`.execute(trx)
      return ended.rows.length > 0
    })
    return stopped
  })
  expect([refused.status, refused.body.code]).toEqual([503, 'unavailable'])
  expect([(await app.session(sessionId)).status, await isAlive(session)]).toEqual(['running', true])
  expect((await app.request('POST', app.path(sessionId, 'stop'))).status).toBe(200)
  expect([await kept(session), await isAlive(session)]).toEqual([snapshot, false])
}, 120_000)
