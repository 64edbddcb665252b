/** Sessions whose id, or whose branch too, the caller brings. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Session } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { gitText } from '../../change-requests/testing.ts'
import { managedDir } from '../../projects/repository.ts'
import type { TestReply } from '../../testing.ts'
import { makeSessionApp, type SessionApp } from '../testing.ts'

setDefaultTimeout(120_000)
let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterAll(() => app.close())

type Refusal = { error: string; code: string; hint: string; issues: { path: string }[] }
const refusalOf = ({ status, body }: TestReply<unknown>) => [status, (body as Refusal).code, (body as Refusal).error]
const takenAnswer = [409, 'conflict', 'This session id is taken.']
const tip = (branch: string) => gitText(app.repo, 'rev-parse', branch)

describe('a session id chosen by the caller', () => {
  test('is the id of the session and of its branch, in any case', async () => {
    const session_id = randomUUID()
    const { status, body } = await app.create({ session_id: session_id.toUpperCase() })
    expect([status, body.session_id, body.branch_name]).toEqual([201, session_id, session_id])
    expect(await tip(session_id)).toBe(await tip('main'))
    expect(await app.reaches(session_id, 'running')).toMatchObject({ session_id })
  })

  test('the same caller gets one session, however often they ask, with or without a key', async () => {
    const body = { session_id: randomUUID(), initial_prompt: 'go', name: 'once' }
    const asked = await Promise.all([
      app.create(body),
      app.create(body),
      app.create(body, { headers: { 'idempotency-key': randomUUID() } }),
    ])
    asked.push(await app.create(body))
    expect(asked.map((reply) => [reply.status, reply.body.session_id])).toEqual(asked.map(() => [201, body.session_id]))
    const { body: all } = await app.request<Session[]>('GET', app.path())
    expect(all.filter(({ name }) => name === 'once')).toHaveLength(1)
  })

  test('is the same session after its prompt was delivered, also with a secret in it', async () => {
    const value = 'a-secret-value-of-this-project'
    await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, { body: { name: 'SOME_KEY', value } })
    const body = { session_id: randomUUID(), initial_prompt: `use ${value}` }
    await app.running(body)
    expect((await app.create(body)).body.session_id).toBe(body.session_id)
  })

  test('refuses another request with the same id', async () => {
    const session_id = randomUUID()
    await commit(app.repo, 'other', { 'a.txt': 'a', '.svc/agents/other.md': 'You are another one.' })
    const file = (name: string, text: string) => ({ name, content_base64: Buffer.from(text).toString('base64') })
    const request = { session_id, name: 'one', initial_prompt: 'one', attachments: [file('a', 'x')] }
    const first = await app.create(request)
    expect(first.status).toBe(201)
    for (const other of [
      ...[{ initial_prompt: 'two' }, { base_ref: 'other' }, { name: 'two' }, { agent_name: 'other' }],
      ...[{ attachments: [] }, { attachments: [file('b', 'x')] }, { attachments: [file('a', 'y')] }],
      ...[{ attachments: [file('a', 'x'), file('b', 'x')] }, { model: 'another-model' }],
    ])
      expect([other, (await app.create({ ...request, ...other })).status]).toEqual([other, 409])
    expect((await app.create({ session_id })).status).toBe(409)
    const again = () => app.create({ ...request, base_ref: 'main', agent_name: 'default' })
    expect(await again()).toMatchObject({ status: 201, body: { session_id } })
    await app.reaches(session_id, 'running')
    await app.request('PATCH', app.path(session_id), { body: { name: 'renamed' } })
    expect(await again()).toMatchObject({ status: 201, body: { session_id, name: 'renamed' } })
  })

  test('refuses the id of a prompt and keeps the prompt', async () => {
    const other = await app.running()
    const sent = await app.request<{ prompt_id: string }>('POST', app.path(other.session_id, 'prompt'), {
      body: { text: 'mine' },
    })
    const session_id = sent.body.prompt_id
    const { repo, project } = await app.managedProject()
    await commit(repo, 'main', { 'a.txt': 'a' })
    const attachments = [{ name: 'theirs.png', content_base64: 'eA==' }]
    for (const more of [{}, { initial_prompt: 'theirs' }, { initial_prompt: 'theirs', attachments }]) {
      const path = `/v1/projects/${project.project_id}/sessions`
      expect(refusalOf(await app.request('POST', path, { body: { session_id, ...more } }))).toEqual(takenAnswer)
      expect(refusalOf(await app.create({ session_id, ...more }))).toEqual(takenAnswer)
    }
    const { body } = await app.request<{ prompts: object[] }>('GET', app.path(other.session_id, 'prompts'))
    expect(body.prompts).toMatchObject([{ prompt_id: session_id, text: 'mine', attachments: [] }])
  })

  test("refuses the id of another caller's session without naming the caller", async () => {
    const session_id = randomUUID()
    await app.create({ session_id })
    const member = await app.makeUser('member')
    const stranger = await app.makeUser('owner', 'own')
    const theirs = await app.request<{ project_id: string }>('POST', '/v1/projects', {
      token: stranger.token,
      body: { name: 'theirs' },
    })
    const { project: other } = await app.managedProject()
    const agent = await app.makeToken({ project_id: app.project.project_id, session_id })
    const answers = [
      await app.create({ session_id }, { token: member.token }),
      await app.create({ session_id }, { token: agent }),
      await app.request('POST', `/v1/projects/${other.project_id}/sessions`, { body: { session_id } }),
      await app.request('POST', `/v1/projects/${theirs.body.project_id}/sessions`, {
        token: stranger.token,
        body: { session_id },
      }),
    ]
    expect(answers.map(refusalOf)).toEqual(answers.map(() => takenAnswer))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  test('refuses the id of a deleted session whose sandbox ran', async () => {
    const { session_id } = await app.running()
    await app.request('DELETE', app.path(session_id))
    expect(refusalOf(await app.create({ session_id }))).toEqual(takenAnswer)
    expect(refusalOf(await app.create({ session_id, branch_already_created: true }))).toEqual(takenAnswer)
  })

  test('an id stays free after a refused request', async () => {
    const session_id = randomUUID()
    const refused = await app.create({ session_id, base_ref: 'missing' })
    expect(refusalOf(refused).slice(0, 2)).toEqual([400, 'ref_not_found'])
    expect((await app.create({ session_id })).status).toBe(201)
  })

  test.each(['x', '00000000-0000-0000-0000-000000000000', '6ba7b810-9dad-11d1-80b4-00c04fd430c8'])(
    'refuses %s, which is no random UUID',
    async (session_id) => {
      const { status, body } = await app.create({ session_id })
      expect([status, (body as unknown as Refusal).issues[0]!.path]).toEqual([400, 'session_id'])
    },
  )
})

describe('a session on an existing branch', () => {
  test('works on the branch as it is', async () => {
    const session_id = randomUUID()
    await commit(app.repo, session_id, { 'begun.txt': 'by somebody else' })
    const before = await tip(session_id)
    expect(before).not.toBe(await tip('main'))
    const { status, body } = await app.create({ session_id, branch_already_created: true })
    expect([status, body.branch_name, body.base_ref]).toEqual([201, session_id, 'main'])
    await app.reaches(session_id, 'running')
    expect(await tip(session_id)).toBe(before)
    expect((await app.create({ session_id, branch_already_created: true })).body.session_id).toBe(session_id)
  })

  test('answers 422 when the branch is missing, and creates nothing', async () => {
    const session_id = randomUUID()
    const { status, body } = await app.create({ session_id, branch_already_created: true })
    expect([status, body.code]).toEqual([422, 'unprocessable'])
    expect((body as unknown as Refusal).issues[0]!.path).toBe('branch_already_created')
    expect((await app.request('GET', app.path(session_id))).status).toBe(404)
    expect((await app.create({ session_id })).status).toBe(201)
  })

  test('refuses an existing branch without branch_already_created', async () => {
    const session_id = randomUUID()
    await commit(app.repo, session_id, { 'begun.txt': 'by somebody else' })
    for (const more of [{}, { branch_already_created: false }]) {
      const { status, body } = await app.create({ session_id, ...more })
      expect([status, body.code]).toEqual([409, 'conflict'])
      expect((body as unknown as Refusal).hint).toContain('branch_already_created: true')
    }
  })

  test('refuses the default branch, also before the first push', async () => {
    const session_id = randomUUID()
    const { body: project } = await app.request<{ project_id: string }>('POST', '/v1/projects', {
      body: { name: 'named like a session', default_branch: session_id },
    })
    const path = `/v1/projects/${project.project_id}/sessions`
    const create = (more: object) => app.request<Refusal>('POST', path, { body: { session_id, ...more } })
    const refused = [await create({})]
    await commit({ dir: managedDir(app.deps, project.project_id), remote: null }, session_id, { 'a.txt': 'a\n' })
    refused.push(await create({}), await create({ branch_already_created: true }))
    for (const { status, body } of refused)
      expect([status, body.code, body.issues[0]!.path]).toEqual([422, 'unprocessable', 'session_id'])
    expect((await app.request('GET', `${path}/${session_id}`)).status).toBe(404)
  })

  test('accepts branch_already_created: false without an id', async () => {
    expect((await app.create({ branch_already_created: false })).status).toBe(201)
  })

  test('finds the branch on the host of an external project', async () => {
    const { project, repo } = await app.externalProject()
    const create = (body: object) =>
      app.request<Session>('POST', `/v1/projects/${project.project_id}/sessions`, { body })
    const session_id = randomUUID()
    expect((await create({ session_id, branch_already_created: true })).status).toBe(422)
    await commit(repo, session_id, { 'begun.txt': 'at the host' })
    const before = await repo.tip(session_id)
    expect((await create({ session_id })).status).toBe(409)
    expect((await create({ session_id, branch_already_created: true })).status).toBe(201)
    expect(await repo.tip(session_id)).toBe(before)
  })
})
