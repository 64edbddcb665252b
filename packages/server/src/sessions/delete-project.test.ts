import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sql } from 'kysely'
import { makeSessionApp, type SessionApp } from './testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterAll(() => app.close())

test('a session that two callers delete at once has one audit row', async () => {
  const { session_id: id } = await app.running()
  const replies = await Promise.all([1, 2].map(() => app.request('DELETE', app.path(id))))
  expect(replies.map(({ status }) => [200, 404].includes(status))).toEqual([true, true])
  const { rows } = await sql`select 1 from audit_events where object_id = ${id} and action = 'session.delete'`.execute(
    app.deps.db,
  )
  expect(rows).toHaveLength(1)
})

test('a project is deleted although one of its sessions is deleted while it stops', async () => {
  const [stays, goes] = [await app.running(), await app.running()]
  app.driver.options.around = async (path, answer) => {
    // The last save, in the middle of a stop.
    if (path === '/svc/wip')
      await sql`delete from project_sessions where session_id = ${goes.session_id}`.execute(app.deps.db)
    return answer()
  }
  const reply = await app.request('DELETE', `/v1/projects/${app.project.project_id}`)
  expect([reply.status, reply.body]).toEqual([200, { ok: true, purge_at: expect.any(String) }])
  const { rows } = await sql<{ session_id: string; status: string }>`
    select session_id, status from project_sessions`.execute(app.deps.db)
  expect(rows).toEqual([{ session_id: stays.session_id, status: 'stopped' }])
})
