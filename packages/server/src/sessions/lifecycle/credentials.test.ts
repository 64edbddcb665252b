import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sql } from 'kysely'
import { makeSessionApp, type SessionApp } from '../testing.ts'

let app: SessionApp
let aheadMs = 0
const now = () => new Date(Date.now() + aheadMs)
beforeAll(async () => {
  app = await makeSessionApp({ deps: { now } })
}, 120_000)
afterAll(() => app.close())

test('a session that fetches git credentials for hours keeps only the valid ones', async () => {
  const session = await app.running()
  const path = `/v1/projects/${app.project.project_id}/git/clone-credential`
  const expiries = async () =>
    (
      await sql<{ expires_at: string }>`select expires_at from sandbox_credentials
        where session_id = ${session.session_id} and kind = 'clone' order by expires_at`.execute(app.deps.db)
    ).rows.map((row) => Date.parse(row.expires_at))
  const fetched: number[] = []
  for (const minutes of [0, 10, 10, 10]) {
    aheadMs += minutes * 60_000
    const reply = await app.request<{ expires_at: string }>('GET', path, { token: session.env.SVC_TOKEN! })
    expect(reply.status).toBe(200)
    fetched.push(Date.parse(reply.body.expires_at))
  }
  expect((await expiries()).filter((at) => fetched.includes(at))).toEqual(fetched.slice(-2))
  expect((await expiries()).filter((at) => at <= now().getTime())).toEqual([])
})
