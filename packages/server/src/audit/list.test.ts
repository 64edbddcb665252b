import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { AuditRow, Project } from '@svc/contract'
import { findRow } from '../db/rows.ts'
import { makeTestApp, type TestApp, type TestReply } from '../testing.ts'

let app: TestApp
let base: string
beforeAll(async () => {
  app = await makeTestApp()
  base = `/v1/projects/${(await app.managedProject()).project.project_id}`
}, 120_000)
afterAll(() => app.close())

const freshProject = async () => (await app.request<Project>('POST', '/v1/projects', { body: { name: 'fresh' } })).body

describe('the audit log of an account', () => {
  const audit = (query = '', token?: string) =>
    app.request<AuditRow[]>('GET', `/v1/accounts/${app.owner.account_id}/audit${query}`, token ? { token } : {})

  test('lists each row once, newest first, in pages by the Link header', async () => {
    for (let n = 0; n < 5; n++) await app.request('PATCH', base, { body: { name: `n${n}` } })
    const all = (await audit('?limit=1000')).body.map((row) => row.event_id)
    expect(all).toEqual(all.toSorted((a, b) => b - a))
    const seen: number[] = []
    for (let next: string | null = '?limit=7'; next !== null;) {
      const reply: TestReply<AuditRow[]> = await audit(next)
      seen.push(...reply.body.map((row) => row.event_id))
      next = /^<[^?]+(\?[^>]+)>; rel="next"$/.exec(reply.headers.get('link') ?? '')?.[1] ?? null
    }
    expect(seen).toEqual(all)
    expect((await audit('?cursor=nonsense')).status).toBe(400)
  })

  test('filters by project, member, action or noun', async () => {
    const other = await freshProject()
    const ofOther = (await audit(`?project_id=${other.project_id}`)).body
    expect(ofOther.map((row) => row.action)).toEqual(['project.create'])
    const named = (await audit('?action=project.create&limit=1000')).body
    expect(new Set(named.map((row) => row.action))).toEqual(new Set(['project.create']))
    const noun = (await audit('?action=project&limit=1000')).body
    expect(noun.length).toBeGreaterThan(named.length)
    expect(noun.every((row) => row.action.startsWith('project.'))).toBeTrue()
    const { user_id } = await app.makeUser('member')
    expect((await audit(`?actor_user_id=${user_id}`)).body).toEqual([])
  })

  test('names the change requests, sessions and webhooks of its rows as they are called now', async () => {
    const row = async (action: string) =>
      (await audit(`?action=${action}&limit=1`)).body.map((each) => [each.object_number, each.object_name])[0]
    const { account_id } = app.owner
    const { project_id } = await freshProject()
    const [cr_id, session_id] = [randomUUID(), randomUUID()]
    const { db } = app.deps
    const event = { account_id, project_id, actor_kind: 'user' as const, actor_user_id: app.owner.user_id }
    const sha = '1'.repeat(40)
    await db
      .insertInto('change_requests')
      .values({
        ...{ cr_id, account_id, project_id, number: 7, title: 'Say it better', base_ref: 'main', head_ref: 'work' },
        ...{ base_commit_sha: sha, head_commit_sha: sha },
      })
      .execute()
    await db
      .insertInto('project_sessions')
      .values({
        ...{ session_id, account_id, project_id, name: 'Release', branch_name: session_id, base_ref: 'main' },
        ...{ agent_name: 'build', status: 'stopped', desired: 'stopped' },
      })
      .execute()
    const { body: webhook } = await app.request<{ webhook_id: string }>('POST', `/v1/projects/${project_id}/webhooks`, {
      body: { url: 'http://127.0.0.1:9/services/canary-value', events: ['*'] },
    })
    const { webhook_id } = webhook
    await db
      .insertInto('audit_events')
      .values([
        { ...event, action: 'named.change_request', object_type: 'change_request', object_id: cr_id, session_id },
        { ...event, action: 'named.session', object_type: 'session', object_id: session_id },
        { ...event, action: 'named.gone', object_type: 'session', object_id: randomUUID() },
        { ...event, action: 'named.webhook', object_type: 'webhook', object_id: webhook_id },
        { ...event, action: 'named.odd', object_type: 'session', object_id: 'no id' },
      ])
      .execute()
    expect(await row('named.change_request')).toEqual([7, 'Say it better'])
    expect((await audit('?action=named.change_request')).body[0]?.session_name).toBe('Release')
    expect(await row('named.session')).toEqual([null, 'Release'])
    expect(await row('named.webhook')).toEqual([null, '127.0.0.1:9'])
    expect(await row('named.gone')).toEqual([null, null])
    expect(await row('named.odd')).toEqual([null, null])
  })

  test('names a person who left the account', async () => {
    const { user_id, token } = await app.makeUser('admin')
    await app.request('PATCH', base, { token, body: { name: 'renamed' } })
    await app.request('DELETE', `/v1/accounts/${app.owner.account_id}/members/${user_id}`)
    const { body } = await audit(`?actor_user_id=${user_id}`)
    const { name, email } = (await findRow(app.deps.db, 'users', { user_id }))!
    expect(body.map(({ actor_name }) => actor_name)).toEqual([email ?? name])
  })

  test('shows everything to an admin, nothing to a member, and other accounts only their own rows', async () => {
    expect((await audit('', (await app.makeUser('admin')).token)).status).toBe(200)
    expect((await audit('', (await app.makeUser('member')).token)).status).toBe(403)
    const stranger = await app.makeUser('owner', 'own')
    expect((await audit('', stranger.token)).status).toBe(403)
    const { account_id } = (
      await app.request<{ account: { account_id: string } }>('GET', '/v1/accounts/me', { token: stranger.token })
    ).body.account
    expect((await app.request('GET', `/v1/accounts/${account_id}/audit`, { token: stranger.token })).body).toEqual(
      [] as never,
    )
    expect((await app.request('GET', `/v1/accounts/${randomUUID()}/audit`)).status).toBe(404)
  })
})
