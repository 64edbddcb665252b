/** Work that a sandbox has applied stays saved until the sandbox itself has saved it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { commit } from '@svc/git/testing'
import { serve } from '../../test-app.ts'
import { tokenOf } from '../testing-family.ts'
import { makeSessionApp, type SessionApp } from '../testing.ts'
import { startWorkDaemon } from './testing-work-daemon.ts'
import { saveWip } from './wip.ts'

interface Work {
  commit: string | null
  generation: number | null
  earlier: { commit: string; generation: number }[]
}

let app: SessionApp
let daemon: Awaited<ReturnType<typeof startWorkDaemon>>
/** It runs no sandbox: the tests save themselves. */
let server: Awaited<ReturnType<typeof serve>>

beforeAll(async () => {
  app = await makeSessionApp()
  daemon = await startWorkDaemon(app)
  const sessions = { wipOf: () => null } as never
  server = await serve({ ...app.deps, instanceId: randomUUID(), sessions })
}, 120_000)
afterAll(async () => {
  await daemon.close()
  await app.close()
})

const read = async (sessionId: string) =>
  (await server.request<Work>('GET', app.path(sessionId, 'wip'), { token: app.ownerToken })).body

async function edit(): Promise<string> {
  return commit(daemon.work, `edit-${randomUUID()}`, { 'a.txt': `${randomUUID()}\n` })
}

/** What the sandbox of this start has, is saved. Null: all of it is pushed. */
async function save(sessionId: string, generation: number, snapshot: string | null): Promise<void> {
  daemon.snapshot = snapshot
  const outcome = await saveWip(app.deps, daemon.addressOf(sessionId, generation), AbortSignal.timeout(30_000))
  expect(outcome.kind).toBe(snapshot === null ? 'clean' : 'saved')
}

test('recovering into a sandbox that still starts says so, and not to start it again', async () => {
  app.driver.options.bootMs = 60_000
  const { body: session } = await app.create()
  const path = app.path(session.session_id)
  const recovered = await app.request('POST', `${path}/wip/recover`)
  expect(recovered).toMatchObject({
    status: 503,
    body: { code: 'runtime_booting', error: 'The sandbox is still starting.', hint: 'Try again in a few seconds.' },
  })
  delete app.driver.options.bootMs
  await app.request('POST', `${path}/stop`)
  const { status, body } = await app.request<{ hint: string }>('POST', `${path}/wip/recover`)
  expect([status, body.hint]).toEqual([409, `Start it first: svc sessions restart ${session.session_id}`])
})

/** A running session, into whose sandbox the work of an earlier start was applied. */
async function applied(): Promise<{ sessionId: string; work: string }> {
  const running = await app.running()
  const { session_id: sessionId } = running
  const work = await edit()
  await save(sessionId, 0, work)
  const body = { commit: work }
  const { status } = await server.request('POST', app.path(sessionId, 'wip/recovered'), {
    token: tokenOf(running),
    body,
  })
  expect(status).toBe(200)
  return { sessionId, work }
}

test('applied work is listed until the sandbox has saved', async () => {
  const { sessionId, work } = await applied()
  expect(await read(sessionId)).toMatchObject({ commit: work, generation: 0 })
  const more = await edit()
  await save(sessionId, 1, more)
  expect(await read(sessionId)).toMatchObject({ commit: more, generation: 1, earlier: [] })
})

test('applied work that was pushed is listed no longer', async () => {
  const { sessionId } = await applied()
  await save(sessionId, 1, null)
  expect(await read(sessionId)).toMatchObject({ commit: null, generation: null, earlier: [] })
})

test('applied work is still there when the sandbox ended before it saved', async () => {
  const { sessionId, work } = await applied()
  const next = await edit()
  await save(sessionId, 2, next)
  expect(await read(sessionId)).toMatchObject({ commit: next, earlier: [{ commit: work, generation: 0 }] })
})

test('work that a person recovered elsewhere is listed no longer', async () => {
  const { session_id: sessionId } = await app.running()
  const work = await edit()
  await save(sessionId, 0, work)
  await server.request('POST', app.path(sessionId, 'wip/recovered'), { token: app.ownerToken, body: { commit: work } })
  expect(await read(sessionId)).toMatchObject({ commit: null, earlier: [] })
})
