import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Project } from '@svc/contract'
import { makeTestApp, type TestApp } from '../testing.ts'

let app: TestApp
let project: Project
beforeAll(async () => {
  app = await makeTestApp()
  project = (await app.managedProject()).project
})
afterAll(() => app.close())

const unknown = (field: string) => `The request body has an unknown field: ${field}`

describe('messages of validation errors', () => {
  test.each([
    ['POST', '/change-requests', { title: 'A title' }, 'Head branch is required.', 'head_ref'],
    ['POST', '/change-requests', { title: '', head_ref: 'x' }, 'Title is required.', 'title'],
    ['POST', '/change-requests', { title: 3, head_ref: 'x' }, 'Title must be text.', 'title'],
    [
      'POST',
      '/change-requests',
      { title: 'x'.repeat(257), head_ref: 'x' },
      'Title must have at most 256 characters.',
      'title',
    ],
    ['POST', '/change-requests', [], 'The request body must be an object.', ''],
    ['GET', '/change-requests?status=done', undefined, 'Status must be open, merged, closed or all.', 'status'],
    ['GET', '/sessions?limit=0', undefined, 'Limit must be at least 1.', 'limit'],
    ['GET', '/sessions?limit=ten', undefined, 'Limit must be a number.', 'limit'],
    [
      'POST',
      '/cli-token',
      { expires_at: 'soon' },
      'Expiry time must be a time such as 2026-01-31T09:30:00.000Z.',
      'expires_at',
    ],
    ['PATCH', '', { settings: { agent_merge: 'maybe' } }, 'Agent merge must be deny or allow.', 'settings.agent_merge'],
    // Three bytes a character: the limit counts bytes.
    ['POST', '/sessions', { metadata: { note: '€'.repeat(6_000) } }, 'Metadata is larger than 16 KiB.', 'metadata'],
    ['POST', '/sessions', { agnet_name: 'build' }, unknown('agnet_name; did you mean agent_name?'), 'agnet_name'],
    ['POST', '/sessions', { name: 'x', provider: 'y' }, unknown('provider.'), 'provider'],
    ['POST', '/sessions', { __proto__x: 1, constructor: 1 }, unknown('__proto__x.'), '__proto__x'],
    ['POST', '/sessions', { ['x'.repeat(200)]: 1 }, unknown(`${'x'.repeat(60)}….`), `${'x'.repeat(60)}…`],
    ['POST', '/sessions', { session_id: 'x' }, 'Session must be a random UUID (version 4).', 'session_id'],
    [
      'POST',
      '/sessions',
      { branch_already_created: true },
      'Session is required with branch_already_created: the branch has this name.',
      'session_id',
    ],
  ])('%s %s with %j names the field in words, and the issue by its path', async (method, path, body, error, field) => {
    const reply = await app.request<{ error: string; issues: { path: string }[] }>(
      method,
      `/v1/projects/${project.project_id}${path}`,
      body === undefined ? {} : { body },
    )
    expect([reply.status, reply.body.error, reply.body.issues[0]?.path]).toEqual([400, error, field])
  })
})
