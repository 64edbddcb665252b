/** A home whose disk was replaced: the database knows its projects, and their folders are gone. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import type { ErrorBody, Project } from '@svc/contract'
import { updateRows } from '../db/rows.ts'
import { makeTestApp, type TestApp } from '../testing.ts'

let app: TestApp
let project: Project
beforeAll(async () => {
  app = await makeTestApp({ serverName: 'ada', home: 'ada' })
  const made = await app.managedProject()
  project = made.project
  await updateRows(app.deps.db, 'projects', { project_id: project.project_id }, { home: 'ada' })
  await rm(made.repo.dir, { recursive: true })
}, 120_000)
afterAll(() => app.close())

const lost = {
  error: 'The server that keeps this project, ada, does not have its repository on its disk.',
  code: 'unavailable',
  hint: 'Ask the operator of this service to bring it back.',
}

test('requests that need the repository name the server, and give users no advice for its operator', async () => {
  const requests = [
    ['GET', 'branches'],
    ['GET', 'commits?ref=main'],
    ['POST', 'change-requests'],
  ] as const
  for (const [method, path] of requests) {
    const body = method === 'GET' ? {} : { body: { title: 'lost', head_ref: 'topic' } }
    const answer = await app.request<ErrorBody>(method, `/v1/projects/${project.project_id}/${path}`, body)
    expect([path, answer.status, answer.body]).toEqual([path, 503, expect.objectContaining(lost)])
    expect(answer.headers.get('retry-after')).toBe('60')
  }
})

const authorization = () => `Basic ${Buffer.from(`x:${app.ownerToken}`).toString('base64')}`

test('git gets a whole answer, which its user can read', async () => {
  for (const service of ['git-upload-pack', 'git-receive-pack']) {
    const path = `/v1/projects/${project.project_id}/git/info/refs?service=${service}`
    const answer = await app.request<ErrorBody>('GET', path, {
      token: null,
      headers: { authorization: authorization() },
    })
    expect([service, answer.status, answer.body]).toEqual([service, 503, expect.objectContaining(lost)])
    const shown = await app.request('GET', path, {
      token: null,
      headers: { authorization: authorization(), 'user-agent': 'git/2.47.3' },
    })
    expect([shown.status, shown.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8'])
    expect(shown.text).toStartWith(`${lost.error}\n${lost.hint}`)
  }
})
