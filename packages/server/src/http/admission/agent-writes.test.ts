/** Agents that fill the database through the API are refused past a limit, and at once on an almost full disk. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { route } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { z } from 'zod'
import { makeSessionApp, type RunningSession, type SessionApp } from '../../sessions/testing.ts'

setDefaultTimeout(120_000)
let app: SessionApp
let session: RunningSession
beforeAll(async () => {
  app = await makeSessionApp()
  session = await app.running()
})
afterAll(() => app.close())

const path = () => app.path(session.session_id)
const write = (token: string, size: number) =>
  app.request<{ code?: string; hint?: string }>('PATCH', path(), {
    token,
    body: { metadata: { text: 'x'.repeat(size) } },
  })

describe('the write limit of a session', () => {
  test('limits the writes of one session without limiting others', async () => {
    const token = session.env.SVC_CLI_TOKEN!
    const answers = new Map<number, number>()
    for (let count = 0; count < 1200 && !answers.has(429); count++) {
      const { status } = await write(token, 15_000)
      answers.set(status, (answers.get(status) ?? 0) + 1)
    }
    expect([...answers.keys()].toSorted()).toEqual([200, 429])
    // 16 MiB of bodies of 15,000 bytes, and 2 KiB for each request.
    expect(answers.get(200)).toBeGreaterThan(900)
    const refused = await write(token, 15_000)
    expect([refused.body.code, Number(refused.headers.get('retry-after')) > 0]).toEqual(['limit_reached', true])
    expect((await app.request('GET', path(), { token })).status).toBe(200)
    const other = await app.running()
    const own = app.path(other.session_id)
    const body = { metadata: { text: 'x' } }
    expect((await app.request('PATCH', own, { token: other.env.SVC_CLI_TOKEN!, body })).status).toBe(200)
    expect((await write(app.ownerToken, 15_000)).status).toBe(200)
  })

  test('refuses writes while the disk is almost full, but not reads and stops', async () => {
    const manifest = '[[triggers]]\nslug = "nightly"\ntype = "cron"\ncron = "0 3 * * *"\nprompt = "go"\n'
    await commit(app.repo, 'main', { 'svc.toml': manifest })
    const other = await app.running()
    const token = other.env.SVC_CLI_TOKEN!
    const own = (verb?: string) => app.path(other.session_id, verb)
    const { disk } = app.deps
    const before = disk.minFreeBytes
    disk.minFreeBytes = Number.MAX_SAFE_INTEGER
    disk.freeBytes = 0
    try {
      const refused = await app.request<{ code: string }>('PATCH', own(), { token, body: { name: 'full' } })
      expect([refused.status, refused.body.code]).toEqual([503, 'unavailable'])
      expect((await app.request('GET', own(), { token })).status).toBe(200)
      const trigger = `/v1/projects/${app.project.project_id}/triggers/nightly/disable`
      expect((await app.request('POST', trigger, { token })).status).toBe(200)
      expect((await app.request('POST', own('stop'), { token })).status).toBe(200)
    } finally {
      disk.minFreeBytes = before
      disk.freeBytes = Number.MAX_SAFE_INTEGER
    }
  })
})

test('a route that a sandbox can write to does not compile without its effect', () => {
  const write = {
    name: 'x',
    summary: 'x',
    description: 'x',
    reply: z.object({}),
  } as const
  // @ts-expect-error: the effect is missing.
  expect(route.post('project-write', '/x', write).effect).toBeNull()
  expect(route.post('project-write', '/x', { ...write, effect: 'ends' }).effect).toBe('ends')
  expect(route.post('project-admin', '/x', write).effect).toBeNull()
})
