import { expect, test } from 'bun:test'
import type { Project } from '@svc/contract'
import { makeRepo, serveHttpBackend } from '@svc/git/testing'
import { makeTestApp } from '../testing.ts'

test("the operator's token for a host serves only projects of the first account that have none", async () => {
  const auth = { username: 'x-access-token', password: 'the-operators-own' }
  const repo = await makeRepo({ main: { 'README.md': 'hello\n' } })
  const [host, another] = [await serveHttpBackend(repo.dir, { auth }), await serveHttpBackend(repo.dir, { auth })]
  const gitHost = { host: new URL(host.url).host, username: null, token: auth.password }
  const app = await makeTestApp({ configure: { gitHost } })
  try {
    const create = (body: object, token = app.ownerToken) =>
      app.request<Project>('POST', '/v1/projects', { token, body })
    const made = await create({ repo_url: host.url })
    expect([made.status, made.body.default_branch]).toEqual([201, 'main'])
    // It belongs to the operator and is not stored with the project.
    const row = await app.deps.db.selectFrom('projects').select('git_token').executeTakeFirstOrThrow()
    expect(row.git_token).toBeNull()
    expect((await create({ repo_url: another.url })).status).toBe(400)
    expect((await create({ repo_url: host.url, git_token: 'wrong' })).status).toBe(400)
    const stranger = await app.makeUser('owner', 'own')
    expect((await create({ repo_url: host.url }, stranger.token)).status).toBe(400)
  } finally {
    await app.close()
    await host.close()
    await another.close()
    await repo.remove()
  }
})
