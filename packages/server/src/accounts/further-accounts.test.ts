import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Account, Project } from '@svc/contract'
import { makeTestApp, type TestApp } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const create = (body: object, token?: string, headers: Record<string, string> = {}) =>
  app.request<Account & { code?: string }>('POST', '/v1/accounts', { body, headers, ...(token ? { token } : {}) })
const namesOf = async (token?: string) => {
  const { body } = await app.request<{ accounts: Account[] }>('GET', '/v1/accounts', token ? { token } : {})
  return body.accounts.map(({ name }) => name)
}

describe('owners of the instance', () => {
  test('an owner of the instance creates an account, owns it, and creates projects in it', async () => {
    const made = await create({ name: 'Research', plan: 'team' })
    const { account_id } = made.body
    const slug = `research-${account_id.slice(0, 8)}`
    expect([made.status, made.body]).toEqual([201, { account_id, slug, name: 'Research', plan: 'team', role: 'owner' }])
    expect(await namesOf()).toContain('Research')
    const project = await app.request<Project>('POST', '/v1/projects', {
      body: { name: 'theirs', account_id: made.body.account_id },
    })
    expect([project.status, project.body.account_id]).toEqual([201, made.body.account_id])
    const listed = (id: string) => app.request<Project[]>('GET', `/v1/projects?account_id=${id}`)
    expect((await listed(made.body.account_id)).body.map(({ name }) => name)).toEqual(['theirs'])
    expect((await listed(app.owner.account_id)).body).toEqual([])
    expect((await listed('nonsense')).body).toEqual([])
    // Without a choice, the user's first account.
    expect((await app.managedProject()).project.account_id).toBe(app.owner.account_id)
  })

  test('a repeated request creates one account', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const [first, again] = [
      await create({ name: 'Once' }, undefined, headers),
      await create({ name: 'Once' }, undefined, headers),
    ]
    expect(again.body).toEqual(first.body)
    expect((await namesOf()).filter((name) => name === 'Once')).toEqual(['Once'])
  })

  test('an owner of the instance sets the plan, whose limit applies from the next session on', async () => {
    const { account_id } = (await create({ name: 'Trial', plan: 'free' })).body
    const { project } = await app.managedProject()
    await app.deps.db.updateTable('projects').set({ account_id }).where('project_id', '=', project.project_id).execute()
    // No sandbox starts in these tests, so the rows alone make a session live.
    for (const _ of [1, 2, 3]) await app.makeSession(project)
    await app.deps.db
      .updateTable('project_sessions')
      .set({ account_id, status: 'running', desired: 'running' })
      .where('project_id', '=', project.project_id)
      .execute()
    const start = () => app.request('POST', `/v1/projects/${project.project_id}/sessions`, { body: {} })
    const refused = await start()
    expect([refused.status, refused.body.code, refused.body.limit]).toEqual([429, 'concurrent_session_limit', 3])
    const raised = await app.request<Account>('PATCH', `/v1/accounts/${account_id}`, { body: { plan: 'pro' } })
    expect([raised.status, raised.body.plan]).toEqual([200, 'pro'])
    expect((await start()).status).toBe(201)
  })
})

describe('owners of another account', () => {
  test('an owner of another account renames it, but neither changes its plan nor creates accounts', async () => {
    const { token, user_id } = await app.makeUser('owner', 'own')
    const { account_id } = await app.deps.db
      .selectFrom('account_members')
      .select('account_id')
      .where('user_id', '=', user_id)
      .executeTakeFirstOrThrow()
    const change = (body: object) => app.request<Account>('PATCH', `/v1/accounts/${account_id}`, { token, body })
    expect((await change({ name: 'Renamed' })).body.name).toBe('Renamed')
    expect((await change({ plan: 'team' })).status).toBe(403)
    expect(await namesOf(token)).toEqual(['Renamed'])
    expect((await create({ name: 'Mine' }, token)).status).toBe(403)
    const body = { name: 'x', account_id: app.owner.account_id }
    expect((await app.request('POST', '/v1/projects', { token, body })).status).toBe(403)
    expect((await app.request('PATCH', `/v1/accounts/${app.owner.account_id}`, { token, body: {} })).status).toBe(403)
  })

  test('a member cannot rename an account', async () => {
    const { token } = await app.makeUser('member')
    const path = `/v1/accounts/${app.owner.account_id}`
    expect((await app.request('PATCH', path, { token, body: { name: 'x' } })).status).toBe(403)
  })
})
