/** What a person and a program see of a session whose agent sleeps. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { Session } from '@svc/contract'
import { buildApp } from '../app.ts'
import { makeSessionApp, readEvents, secondServer, type SessionApp, until } from './testing.ts'

let app: SessionApp
/** The time at which every runtime of this test fell asleep. */
let asleepAt: number | null = null
let waking = Promise.withResolvers<void>()

beforeAll(async () => {
  app = await makeSessionApp({
    configure: { saveWorkEveryMs: 20 },
    asleep: () => (asleepAt === null ? null : { ms: Date.now() - asleepAt, wake }),
    outlives: true,
  })
}, 120_000)
afterAll(() => app.close())
afterEach(() => {
  waking.resolve()
  asleepAt = null
  waking = Promise.withResolvers()
})

/** Requests that needed the runtime. */
let uses = 0

async function wake(): Promise<void> {
  uses++
  await waking.promise
  asleepAt = null
}

async function sleeping(): Promise<Session> {
  const session = await app.running()
  asleepAt = Date.now() - 5_000
  return until('the session to sleep', async () => {
    const now = await app.session(session.session_id)
    return now.asleep_since != null && now
  })
}

const phasesOf = async (sessionId: string) => {
  const { body } = await app.request<{ phases: { name: string; ms: number | null }[] }>(
    ...(['GET', app.path(sessionId, 'timeline')] as const),
  )
  return body.phases
}

async function open(sessionId: string): Promise<Response> {
  const { publicUrl } = app.deps.config
  const headers = { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` }
  return buildApp(app.deps).fetch(new Request(`${publicUrl}${app.path(sessionId, 'events')}`, { headers }))
}

test('a session says since when it sleeps, a prompt wakes it, and the timeline keeps how long that took', async () => {
  const { session_id: id, status, asleep_since: since } = await sleeping()
  expect([status, Math.abs(Date.parse(since!) - asleepAt!) < 5_000]).toEqual(['running', true])
  const listed = (await app.request<Session[]>('GET', app.path())).body
  expect(listed.find(({ session_id: each }) => each === id)?.asleep_since).toBe(since)
  expect((await phasesOf(id)).map(({ name }) => name)).not.toContain('wake')

  const reader = readEvents(await open(id))
  await reader.find('asleep', (event) => event.type === 'session' && event.session.asleep_since === since)
  const usesBefore = uses
  const prompted = app.request<{ status: string }>('POST', app.path(id, 'prompt'), { body: { text: 'Go on.' } })
  await reader.find('busy', (event) => event.type === 'turn' && event.status === 'busy')
  // Busy and still asleep: it wakes.
  expect((await app.session(id)).asleep_since).toBe(since)
  // An earlier request may wait for the runtime, too, and its end is not the wake of the prompt.
  await until('the prompt to wait for the runtime', () => uses > usesBefore)
  waking.resolve()
  await reader.find('awake', (event) => event.type === 'session' && event.session.asleep_since === null)
  expect((await prompted).body.status).toBe('delivered')
  await until('the answer', async () => {
    const { text } = await app.request('GET', app.path(id, 'transcript'))
    return text.includes('"assistant"')
  })
  const phases = await until('the phase', async () => {
    const found = (await phasesOf(id)).filter(({ name }) => name === 'wake')
    return found.length > 0 && found
  })
  expect(phases).toEqual([expect.objectContaining({ name: 'wake', ms: expect.any(Number) })])
  await reader.close()
}, 120_000)

test('another server shows it, too, and a stopped session does not sleep', async () => {
  const { session_id: id, asleep_since: since } = await sleeping()
  const second = await secondServer(app)
  try {
    expect((await second.request<Session>('GET', app.path(id))).body.asleep_since).toBe(since)
    waking.resolve()
    await app.request('POST', app.path(id, 'stop'))
    expect((await app.reaches(id, 'stopped')).asleep_since).toBeNull()
  } finally {
    await second.close()
  }
}, 120_000)

test('a look at a sleeping session that is late tells no end of the turn which woke it', async () => {
  const { session_id: id } = await sleeping()
  const looked = Promise.withResolvers<void>()
  const isOver = Promise.withResolvers<void>()
  const hasAnswered = Promise.withResolvers<string>()
  // Only the look that began while the runtime slept.
  app.driver.options.around = async (path, answer) => {
    const isFirst = path === '/svc/health' && asleepAt !== null
    const reply = await answer()
    if (!isFirst) return reply
    looked.resolve()
    await isOver.promise
    return reply
  }
  app.driver.options.onPrompt = () => hasAnswered.promise
  try {
    await looked.promise
    const reader = readEvents(await open(id))
    await reader.find('the end of the history', ({ type }) => type === 'turn')
    const before = reader.seen.length
    waking.resolve()
    const { body } = await app.request<{ status: string }>('POST', app.path(id, 'prompt'), { body: { text: 'Go on.' } })
    expect(body.status).toBe('delivered')
    isOver.resolve()
    // It waits for the look, and is long enough to tell the end of a turn.
    await app.request('POST', app.path(id, 'wip'))
    hasAnswered.resolve('Awake.')
    await reader.find('the answer', (event) => event.type === 'message' && JSON.stringify(event).includes('Awake.'))
    await until('the end', () => app.deps.sessions.turnOf(id) === 'idle')
    const later = reader.seen.slice(before)
    await reader.close()
    const idleAt = later.findIndex((event) => event.type === 'turn' && event.status === 'idle')
    expect(JSON.stringify(later.slice(0, idleAt))).toContain('Awake.')
  } finally {
    delete app.driver.options.around
    delete app.driver.options.onPrompt
  }
}, 120_000)
