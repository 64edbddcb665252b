import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHmac, randomUUID } from 'node:crypto'
import type { ChangeRequest, HostWebhook, Project, ProjectEventPage } from '@svc/contract'
import { commit, type TestRepository } from '@svc/git/testing'
import { pollExternal, pollRequested } from '../change-requests/preview/detect.ts'
import { detectDefaultBranch } from '../projects/default-branch.ts'
import { getProject } from '../projects/store.ts'
import { makeTestApp, type TestApp } from '../testing.ts'

let app: TestApp
let project: Project
let repo: TestRepository
let secret: string
const signal = new AbortController().signal

beforeAll(async () => {
  app = await makeTestApp()
  ;({ project, repo } = await app.externalProject({ 'a.txt': 'a\n' }))
  secret = (await app.request<HostWebhook>('POST', settings('/rotate'))).body.secret!
  await detectDefaultBranch(app.deps, (await getProject(app.deps.db, project.project_id))!)
}, 120_000)
afterAll(() => app.close())

const settings = (verb = '') => `/v1/projects/${project.project_id}/host-webhook${verb}`
const hmac = (body: string, key = secret) => createHmac('sha256', key).update(body).digest('hex')
const call = (headers: Record<string, string>, body = '{"ref":"refs/heads/main"}', id = project.project_id) =>
  app.request('POST', `/v1/projects/${id}/host-webhook`, { token: null, headers, body })
const look = (deps = app.deps) => Promise.all([pollRequested(deps, signal), pollExternal(deps, signal)])
const eventsSince = async (after: number) =>
  (await app.request<ProjectEventPage>('GET', `/v1/projects/${project.project_id}/events?after=${after}`)).body.events
const last = async () =>
  (await app.request<ProjectEventPage>('GET', `/v1/projects/${project.project_id}/events`)).body.last

async function openChangeRequest(branch: string, files: Record<string, string>): Promise<ChangeRequest> {
  await commit(repo, branch, files, { from: 'main' })
  const body = { title: branch, head_ref: branch }
  return (await app.request<ChangeRequest>('POST', `/v1/projects/${project.project_id}/change-requests`, { body })).body
}

describe('calls of a git host', () => {
  const body = '{"ref":"refs/heads/main","after":"0000"}'
  const good: [string, string, () => Record<string, string>][] = [
    ['GitHub', 'github', () => ({ 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${hmac(body)}` })],
    ['GitHub’s ping', 'github', () => ({ 'x-github-event': 'ping', 'x-hub-signature-256': `sha256=${hmac(body)}` })],
    ['GitLab', 'gitlab', () => ({ 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': secret })],
    ['Gitea', 'gitea', () => ({ 'x-gitea-event': 'push', 'x-gitea-signature': hmac(body) })],
    ['Forgejo', 'gitea', () => ({ 'x-forgejo-signature': hmac(body) })],
    ['a script that signs', 'plain', () => ({ 'x-svc-signature': `sha256=${hmac(body)}` })],
    ['a script', 'plain', () => ({ 'x-svc-token': secret })],
  ]
  test.each(good)('accepts a call of %s', async (_, sender, headers) => {
    expect((await call(headers(), body)).status).toBe(202)
    const { body: seen } = await app.request<HostWebhook>('GET', settings())
    expect(seen).toMatchObject({ last_sender: sender, secret })
    expect(seen.last_call_at).not.toBeNull()
  })

  const forged: [string, () => Record<string, string>][] = [
    ['nothing', () => ({})],
    ['another secret', () => ({ 'x-hub-signature-256': `sha256=${hmac(body, 'x'.repeat(40))}` })],
    ['the signature of another body', () => ({ 'x-hub-signature-256': `sha256=${hmac('{}')}` })],
    ['half a signature', () => ({ 'x-hub-signature-256': `sha256=${hmac(body).slice(0, 32)}` })],
    ['an empty signature', () => ({ 'x-hub-signature-256': '' })],
    ['SHA-1', () => ({ 'x-hub-signature': `sha1=${createHmac('sha1', secret).update(body).digest('hex')}` })],
    ['a wrong token', () => ({ 'x-gitlab-token': `${secret}x` })],
    ['a wrong signature beside a right token', () => ({ 'x-gitea-signature': hmac('{}'), 'x-gitlab-token': secret })],
    ['the owner’s own token', () => ({ 'x-gitlab-token': app.ownerToken })],
  ]
  test.each(forged)('refuses a call with %s', async (_, headers) => {
    const reply = await call(headers(), body)
    expect([reply.status, reply.body.code]).toEqual([401, 'unauthenticated'])
  })

  test('answers alike for a missing project and one without a secret', async () => {
    const { project: other } = await app.managedProject()
    for (const id of [randomUUID(), 'nonsense', other.project_id]) {
      const reply = await call({ 'x-gitlab-token': secret }, body, id)
      expect([reply.status, reply.body.code]).toEqual([401, 'unauthenticated'])
    }
    expect(
      (await app.request<HostWebhook>('GET', `/v1/projects/${other.project_id}/host-webhook`)).body.secret,
    ).toBeNull()
  })
})

describe('results of a call', () => {
  test('polls at once, and finds the default branch, moved heads and new conflicts', async () => {
    const clean = await openChangeRequest('clean', { 'b.txt': 'b\n' })
    const other = await openChangeRequest('other', { 'a.txt': 'changed here\n' })
    await look()
    const before = await last()
    await commit(repo, 'main', { 'a.txt': 'changed there\n' })
    await commit(repo, 'clean', { 'c.txt': 'c\n' })
    await look()
    // Polled a moment ago, so the host is not asked again so soon.
    expect(await eventsSince(before)).toEqual([])
    await Promise.all([1, 2, 3, 4, 5].map(() => call({ 'x-gitlab-token': secret })))
    await look()
    const told = await eventsSince(before)
    expect(told.map(({ type, data }) => [type, 'cr_id' in data ? data.cr_id : null])).toEqual([
      ['default_branch.moved', null],
      ['change_request.updated', clean.cr_id],
      ['change_request.conflicted', other.cr_id],
    ])
    expect(told[2]!.data).toMatchObject({ conflicts: ['a.txt'] })

    await commit(repo, 'main', { 'a.txt': 'changed here\n' })
    await call({ 'x-gitlab-token': secret })
    await look()
    const after = await eventsSince(before + 3)
    expect(after.map(({ type }) => type)).toEqual(['default_branch.moved', 'change_request.clean'])
    await look()
    expect(await eventsSince(before + 5)).toEqual([])
  })

  test('one server polls once', async () => {
    const before = await last()
    const server = await app.anotherServer()
    await commit(repo, 'clean', { 'd.txt': 'd\n' })
    await call({ 'x-gitlab-token': secret })
    await Promise.all([look(), look(server.deps)])
    expect((await eventsSince(before)).map(({ type }) => type)).toEqual(['change_request.updated'])
  })
})

test('accepts only the new secret, which only owners and admins can read', async () => {
  const before = secret
  secret = (await app.request<HostWebhook>('POST', settings('/rotate'))).body.secret!
  expect((await call({ 'x-gitlab-token': before })).status).toBe(401)
  expect((await call({ 'x-gitlab-token': secret })).status).toBe(202)
  for (const role of ['viewer', 'member'] as const)
    expect((await app.request('GET', settings(), { token: (await app.makeUser(role)).token })).status).toBe(403)
})
