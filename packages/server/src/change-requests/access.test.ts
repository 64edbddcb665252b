import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ChangeRequest, makeToken } from '@svc/contract'
import { makeTestApp, type TestApp } from '../testing.ts'
import { type Refusal, type TestProject, testProject } from './testing.ts'

let app: TestApp
let at: TestProject
let elsewhere: TestProject
let cr: ChangeRequest
beforeAll(async () => {
  app = await makeTestApp()
  at = testProject(app, await app.managedProject())
  elsewhere = testProject(app, await app.managedProject())
  cr = await at.open('work', { 'a.txt': 'a\n' })
}, 120_000)
afterAll(() => app.close())

/** Every route, in an order in which the allowed ones all succeed. */
const routes: [method: string, path: (at: TestProject, crId: string) => string, body?: unknown][] = [
  ['GET', (at) => at.path()],
  ['POST', (at) => at.path(), { title: 't', head_ref: 'work' }],
  ['GET', (at, crId) => at.path(crId)],
  ['PATCH', (at, crId) => at.path(crId), { title: 't' }],
  ['GET', (at, crId) => at.path(crId, 'diff')],
  ['GET', (at, crId) => at.path(crId, 'merge-preview')],
  ['POST', (at, crId) => at.path(crId, 'close')],
  ['POST', (at, crId) => at.path(crId, 'reopen')],
  ['POST', (at, crId) => at.path(crId, 'merge')],
]

/** Sends every route with `token` and returns status and code of each. */
async function knock(token: string | null, project = at, crId = cr.cr_id): Promise<string[]> {
  const answers = new Set<string>()
  for (const [method, path, body] of routes) {
    const reply = await app.request<Refusal>(method, path(project, crId), { token, body })
    answers.add(`${reply.status} ${reply.body?.code ?? ''}`.trim())
  }
  return [...answers]
}

describe('access to change requests', () => {
  test.each<[string, string[], () => Promise<string | null> | string | null]>([
    ['a request without a token', ['401 unauthenticated'], () => null],
    ['a malformed token', ['401 unauthenticated'], () => 'x'],
    ['a token with a bad checksum', ['401 unauthenticated'], () => `${app.ownerToken.slice(0, -1)}!`],
    ['an unknown token', ['401 unauthenticated'], () => makeToken(app.deps.randomBytes)],
    ['the service key of a sandbox', ['401 unauthenticated'], () => `svc_sbx_${'a'.repeat(43)}`],
    ['a viewer', ['403 forbidden'], async () => (await app.makeUser('viewer')).token],
    ['a stranger', ['403 forbidden'], async () => (await app.makeUser('owner', 'own')).token],
    [
      'a token of another project',
      ['403 forbidden'],
      () => app.makeToken({ project_id: elsewhere.project.project_id }),
    ],
    ['an agent of another project', ['403 forbidden'], async () => (await app.makeSession(elsewhere.project)).token],
    [
      "a viewer's token of the project",
      ['403 forbidden'],
      async () => app.makeToken({ project_id: at.project.project_id, user_id: (await app.makeUser('viewer')).user_id }),
    ],
  ])('answers %s with %p on every route', async (_, expected, token) => {
    expect(await knock(await token())).toEqual(expected)
  })

  test('members, admins and unbound project tokens can use every route', async () => {
    for (const token of [
      (await app.makeUser('member')).token,
      (await app.makeUser('admin')).token,
      await app.makeToken({ project_id: at.project.project_id }),
    ]) {
      const { cr_id } = await at.open(`work-${token.slice(-6)}`, { [token]: 'x\n' })
      expect(await knock(token, at, cr_id)).toEqual(['200', '201'])
    }
  })
})

describe('missing change requests and projects', () => {
  const withId = routes.slice(2)

  test.each(['no-uuid', crypto.randomUUID(), '%00', '..%2f', "'", 'a'.repeat(2000)])(
    'answers 404 for the id %s',
    async (id) => {
      for (const [method, path, body] of withId) {
        const reply = await app.request<Refusal>(method, path(at, id), { body })
        expect([method, path(at, ''), reply.status, reply.body.code]).toEqual([method, path(at, ''), 404, 'not_found'])
      }
    },
  )

  test('answers 404 for a change request of another project', async () => {
    for (const [method, path, body] of withId)
      expect((await app.request(method, path(elsewhere, cr.cr_id), { body })).status).toBe(404)
  })

  test('answers an unknown project with 404 to a user and 403 to a project token', async () => {
    const token = await app.makeToken({ project_id: at.project.project_id })
    for (const id of [crypto.randomUUID(), 'no-uuid']) {
      const path = `/v1/projects/${id}/change-requests`
      expect((await app.request('GET', path)).status).toBe(404)
      expect((await app.request('GET', path, { token })).status).toBe(403)
    }
  })
})
