/** Counts the requests that a read sends to the host of an external repository. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Socket } from 'node:net'
import type { ChangeRequest, Project } from '@svc/contract'
import { commit, type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import { mirrorDir } from '../projects/repository.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { gitText, type TestProject, testProject } from './testing.ts'

let app: TestApp
let repo: TestRepository
let host: HttpBackend
let at: TestProject
const sockets = new Set<Socket>()

beforeAll(async () => {
  app = await makeTestApp()
  repo = await makeRepo({ main: { 'README.md': 'hello\n' } })
  host = await serveHttpBackend(repo.dir, {
    before: ({ socket }) => void sockets.add(socket),
  })
  const { body: project } = await app.request<Project>('POST', '/v1/projects', { body: { repo_url: host.url } })
  at = testProject(app, { project, repo })
}, 120_000)
afterAll(async () => {
  await host.close()
  await repo.remove()
  await app.close()
})

test('a list asks once for all branches over a persistent connection, and fetches nothing', async () => {
  for (let n = 0; n < 12; n++) await at.open(`work-${n}`, { [`${n}.txt`]: 'x\n' })
  const list = async () =>
    (await app.request<{ change_requests: ChangeRequest[] }>('GET', at.path())).body.change_requests
  await list()
  sockets.clear()
  for (let n = 0; n < 5; n++) {
    const head = await commit(repo, `work-${n}`, { [`${n}.txt`]: `${n} again\n` })
    const before = host.requests.length
    const rows = await list()
    expect(rows).toHaveLength(12)
    expect(rows.find((row) => row.head_ref === `work-${n}`)!.head_commit_sha).toBe(head)
    expect(host.requests.slice(before)).toEqual(['POST /repo.git/git-upload-pack'])
    // The branch's commits were not fetched.
    const mirror = { dir: mirrorDir(app.deps, at.project.project_id) }
    expect(await gitText(mirror, 'cat-file', '-t', head).catch(() => 'missing')).toBe('missing')
  }
  expect(sockets.size).toBe(1)
})
