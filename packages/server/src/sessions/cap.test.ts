/** The limit of live sessions per account. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ErrorBody, Session } from '@svc/contract'
import { sql } from 'kysely'
import { makeSessionApp, type SessionApp } from './testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)

afterAll(() => app.close())

describe('the limit of live sessions', () => {
  test('holds exactly: two hundred concurrent requests at a limit of five start five', async () => {
    const capped = await makeSessionApp({ configure: { sessionLimit: 5 } })
    try {
      const replies = await Promise.all(
        Array.from({ length: 200 }, () => capped.request<Session & ErrorBody>('POST', capped.path(), { body: {} })),
      )
      const made = replies.filter((reply) => reply.status === 201)
      const refused = replies.filter((reply) => reply.status === 429)
      expect([made.length, refused.length]).toEqual([5, 195])
      for (const { body, headers } of refused) {
        expect(body).toMatchObject({ code: 'concurrent_session_limit', limit: 5, active_sessions: 5 })
        expect(body.error).toBeString()
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      }
      expect(await capped.deps.db.selectFrom('project_sessions').select('session_id').execute()).toHaveLength(5)

      // A stopped one is room for one; waking and restarting need room like creating does.
      const [first, second] = made.map((reply) => reply.body)
      await capped.request('POST', capped.path(first!.session_id, 'stop'))
      expect((await capped.create()).status).toBe(201)
      for (const [verb, body] of [
        ['restart', undefined],
        ['prompt', { text: 'wake up' }],
      ] as const) {
        const reply = await capped.request<ErrorBody>('POST', capped.path(first!.session_id, verb), { body })
        expect([verb, reply.status, reply.body.code]).toEqual([verb, 429, 'concurrent_session_limit'])
      }
      expect(await capped.deps.db.selectFrom('session_prompts').select('prompt_id').execute()).toEqual([])
      await capped.request('DELETE', capped.path(second!.session_id))
      expect((await capped.request('POST', capped.path(first!.session_id, 'restart'))).status).toBe(202)
    } finally {
      await capped.close()
    }
  }, 120_000)

  test('is the limit of the plan when the server sets none', async () => {
    const { token, user_id } = await app.makeUser('owner', 'own')
    await sql`update accounts set plan = 'free' where account_id in
      (select account_id from account_members where user_id = ${user_id})`.execute(app.deps.db)
    const made = await app.request<{ project_id: string }>('POST', '/v1/projects', { token, body: { name: 'free' } })
    const path = `/v1/projects/${made.body.project_id}`
    // An empty repository has no branch to start from, so the rows are written here.
    await sql`insert into project_sessions (session_id, account_id, project_id, name, branch_name, base_ref, agent_name, status)
      select gen_random_uuid(), account_id, project_id, 's', 'b', 'main', 'build', status::session_status
      from projects, unnest(array['running', 'provisioning', 'queued', 'stopped', 'failed']) as status
      where project_id = ${made.body.project_id}`.execute(app.deps.db)
    const [stopped] = (await app.request<Session[]>('GET', `${path}/sessions?status=stopped`, { token })).body
    const reply = await app.request<ErrorBody>('POST', `${path}/sessions/${stopped!.session_id}/restart`, { token })
    expect([reply.status, reply.body.limit, reply.body.active_sessions]).toEqual([429, 3, 3])
    await app.deps.db.deleteFrom('projects').where('project_id', '=', made.body.project_id).execute()
  })
})
