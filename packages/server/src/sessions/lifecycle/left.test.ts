/** Sandboxes of sessions that outlive their server and do not answer the next one at once, with the fake driver. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Message } from '@svc/contract'
import { sql } from 'kysely'
import { buildApp } from '../../app.ts'
import { withDeadline } from '../../deadline.ts'
import { insertGiven } from '../../secrets/given-store.ts'
import { silentMsMax, silentReason } from '../../sandboxes/adopt.ts'
import { reconcileSessions } from '../jobs.ts'
import { getSessionById } from '../store.ts'
import {
  letDie,
  makeSessionApp,
  readEvents,
  secondServer,
  type SecondServer,
  type SessionApp,
  until,
} from '../testing.ts'

let clock: { aheadMs: number }
let first: SessionApp
let next: SecondServer[]
let sessionId: string
let sandboxId: string

beforeEach(async () => {
  clock = { aheadMs: 0 }
  next = []
  first = await makeSessionApp({
    outlives: true,
    deps: { now: () => new Date(Date.now() + clock.aheadMs) },
  })
  const session = await first.running()
  sessionId = session.session_id
  sandboxId = session.sandbox!.sandbox_id
}, 120_000)
afterEach(async () => {
  delete first.driver.options.answerMs
  delete first.driver.options.around
  delete first.driver.options.onPrompt
  delete first.driver.options.asleep
  for (const server of next) await server.close()
  await first.close()
})

const silence = () => (first.driver.options.answerMs = 3_600_000)

async function anotherServer(): Promise<SecondServer> {
  const server = await secondServer(first, {}, { sandboxes: first.deps.sandboxes })
  next.push(server)
  return server
}

/** The next server, once it has asked the sandbox. */
async function startNext(): Promise<SecondServer> {
  const server = await anotherServer()
  await reconcileSessions(server.deps)
  const row = first.deps.db.selectFrom('session_sandboxes').select('instance_id').where('sandbox_id', '=', sandboxId)
  await until('it has taken the sandbox over', async () => {
    const { instance_id } = await row.executeTakeFirstOrThrow()
    return instance_id === server.deps.instanceId
  })
  return server
}

async function leaveSilent(): Promise<SecondServer> {
  await leave()
  silence()
  return startNext()
}

const prompts = () => first.driver.seen(sandboxId)!.prompts.map(({ text }) => text)
const isAttached = ({ deps }: SecondServer) => deps.sessions.daemonOf(sessionId) !== null

test('goes on once its sandbox answers, with the prompt of meanwhile delivered once', async () => {
  const server = await leaveSilent()
  const sent = await server.request<{ status: string }>('POST', first.path(sessionId, 'prompt'), {
    body: { text: 'are you there' },
  })
  expect([sent.status, sent.body.status]).toEqual([202, 'accepted'])
  clock.aheadMs = 30_000
  expect(await first.session(sessionId)).toMatchObject({ status: 'running', error: null, sandbox: { generation: 1 } })
  delete first.driver.options.answerMs
  await until('the next server has it', () => isAttached(server))
  await until('the prompt is delivered', () => prompts().length > 0)
  await server.deps.sessions.reconcile(sessionId)
  expect(prompts()).toEqual(['are you there'])
  expect(await first.session(sessionId)).toMatchObject({ status: 'running', error: null, sandbox: { generation: 1 } })
})

test('goes on when its sandbox is slow each time', async () => {
  const server = await leaveSilent()
  first.driver.options.answerMs = 2_500
  await until('the next server has it', () => isAttached(server))
  delete first.driver.options.answerMs
  expect(await first.session(sessionId)).toMatchObject({ status: 'running', error: null, sandbox: { generation: 1 } })
})

test('goes on when its server was paused while it asked the sandbox', async () => {
  let asked = 0
  first.driver.options.around = (path, answer) => {
    if (path === '/svc/health') asked++
    return answer()
  }
  const server = await leaveSilent()
  clock.aheadMs += 3_600_000
  const before = asked
  await until('it asks again', () => asked > before + 1)
  delete first.driver.options.answerMs
  await until('the next server has it', () => isAttached(server))
  expect(await first.session(sessionId)).toMatchObject({ status: 'running', error: null, sandbox: { generation: 1 } })
})

test('fails with the true reason when its sandbox stays silent, and its last changes may be missing', async () => {
  await leaveSilent()
  const failed = await until('it has failed', async () => {
    clock.aheadMs += silentMsMax
    const found = await first.session(sessionId)
    return found.status === 'failed' ? found : null
  })
  expect(failed.error).toStartWith(`${silentReason} The last changes of this session may not be saved.`)
  expect(await first.driver.find(sandboxId)).toBeNull()
})

/** The agent works on a prompt until the returned function is called. */
async function atWork(): Promise<() => void> {
  const answer = Promise.withResolvers<string>()
  first.driver.options.onPrompt = () => answer.promise
  await first.request('POST', first.path(sessionId, 'prompt'), { body: { text: 'build it' } })
  const answers = first.deps.db.selectFrom('session_messages').select('role').where('role', '=', 'assistant')
  await until('the answer has begun', async () => {
    const [answer] = await answers.where('session_id', '=', sessionId).execute()
    return answer !== undefined && (await row()).is_busy
  })
  return () => answer.resolve('Built.')
}

async function leave(): Promise<void> {
  expect(await first.deps.sessions.close({ endsSandboxes: false })).toBe(1)
  await letDie(first.deps)
}

const row = async () => (await getSessionById(first.deps.db, sessionId))!
const untilIdle = () => until('the turn has ended', async () => !(await row()).is_busy)
const answerOf = async ({ request }: Pick<SecondServer, 'request'>) =>
  (await request<{ messages: Message[] }>('GET', first.path(sessionId, 'transcript'))).body.messages.at(-1)

test('fails the turn whose runtime died while no server ran, and its command has ended', async () => {
  await atWork()
  await leave()
  first.driver.killRuntime(sandboxId)
  const server = await startNext()
  await untilIdle()
  expect((await row()).last_turn_error).toMatchObject({ code: 'runtime_ended' })
  expect(await answerOf(server)).toMatchObject({
    error: 'The agent runtime ended during this turn and was restarted.',
    parts: [{ type: 'tool', status: 'error' }],
  })
  delete first.driver.options.onPrompt
  await server.request('POST', first.path(sessionId, 'prompt'), { body: { text: 'again' } })
  await until('the next turn has succeeded', async () => (await row()).last_turn_error === null)
})

test('fails the turn whose runtime died while its server ran in the same way', async () => {
  await atWork()
  first.driver.killRuntime(sandboxId)
  await untilIdle()
  expect((await row()).last_turn_error).toMatchObject({ code: 'runtime_ended' })
  expect(await answerOf(first)).toMatchObject({ parts: [{ type: 'tool', status: 'error' }] })
})

test('succeeds with a turn that ended while no server ran', async () => {
  const finish = await atWork()
  await leave()
  finish()
  const server = await startNext()
  await untilIdle()
  expect((await row()).last_turn_error).toBeNull()
  expect(await answerOf(server)).toMatchObject({ error: null, parts: [{ type: 'text', text: 'Built.' }] })
})

test('keeps the end of a turn when it is stopped before a server continues it', async () => {
  const finish = await atWork()
  await leave()
  finish()
  const server = await anotherServer()
  expect((await server.request('POST', first.path(sessionId, 'stop'))).status).toBe(200)
  expect(await first.session(sessionId)).toMatchObject({ status: 'stopped', error: null })
  expect(await answerOf(server)).toMatchObject({ error: null, parts: [{ type: 'text', text: 'Built.' }] })
})

/** The paths that the sandbox is asked for. */
function watchSandbox(): string[] {
  const asked: string[] = []
  first.driver.options.around = (path, answer) => {
    asked.push(path)
    return answer()
  }
  return asked
}

test('keeps the end of a turn and its last work when its project moves before a server continues it', async () => {
  const finish = await atWork()
  await leave()
  finish()
  const server = await anotherServer()
  const asked = watchSandbox()
  await server.deps.sessions.moveAway(sessionId)
  expect(asked).toContain('/svc/wip')
  expect(await first.driver.find(sandboxId)).toBeNull()
  expect(await first.session(sessionId)).toMatchObject({ status: 'provisioning', error: null })
  expect(await answerOf(server)).toMatchObject({ error: null, parts: [{ type: 'text', text: 'Built.' }] })
})

test('is left to the next server when its project moves while its server stops', async () => {
  await leave()
  await expect(first.deps.sessions.moveAway(sessionId)).rejects.toThrow('stopping')
  expect(await first.driver.find(sandboxId)).not.toBeNull()
  expect(await first.session(sessionId)).toMatchObject({ status: 'running', error: null })
})

test('tells no end of a turn before its answer when it was asleep', async () => {
  const finish = await atWork()
  finish()
  await untilIdle()
  let asleep: { ms: number; wake: () => Promise<void> } | null = null
  asleep = { ms: 600_000, wake: async () => void (asleep = null) }
  await leave()
  first.driver.options.asleep = () => asleep
  const server = await startNext()
  await until('the next server has it', () => isAttached(server))
  const { publicUrl } = server.deps.config
  const headers = { host: new URL(publicUrl).host, authorization: `Bearer ${first.ownerToken}` }
  const events = new Request(`${publicUrl}${first.path(sessionId, 'events')}`, { headers })
  const reader = readEvents(await buildApp(server.deps).fetch(events))
  await reader.find('the end of the history', ({ type }) => type === 'turn')
  const before = reader.seen.length
  // The runtime is awake and rests, when the server asks what it missed.
  let hasRead = false
  const asked = Promise.withResolvers<void>()
  first.driver.options.around = async (path, answer) => {
    if (path === '/svc/prompt') await asked.promise
    const reply = await answer()
    hasRead ||= path.endsWith('/message')
    if (hasRead && (path === '/session/status' || path === '/svc/health')) asked.resolve()
    return reply
  }
  const answer = Promise.withResolvers<string>()
  first.driver.options.onPrompt = () => answer.promise
  const sent = await server.request<{ status: string }>('POST', first.path(sessionId, 'prompt'), {
    body: { text: 'wake up' },
  })
  expect(sent.body.status).toBe('delivered')
  // Long enough to tell the end of a turn.
  await server.request('POST', first.path(sessionId, 'wip'))
  answer.resolve('Awake.')
  await reader.find('the answer', (event) => event.type === 'message' && JSON.stringify(event).includes('Awake.'))
  await until('the turn has ended', async () => !(await row()).is_busy)
  const later = reader.seen.slice(before)
  await reader.close()
  const idleAt = later.findIndex((event) => event.type === 'turn' && event.status === 'idle')
  expect(JSON.stringify(later.slice(0, idleAt))).toContain('Awake.')
})

test('fails with the reason of its sandbox when that ends while it is silent', async () => {
  await leaveSilent()
  await first.driver.crash(sandboxId, 'The sandbox ended by itself with exit code 137.')
  expect((await first.reaches(sessionId, 'failed')).error).toBe('The sandbox ended by itself with exit code 137.')
})

test('stops at once when a person stops it while its sandbox is silent', async () => {
  const server = await leaveSilent()
  expect((await server.request('POST', first.path(sessionId, 'stop'))).status).toBe(200)
  expect(await first.session(sessionId)).toMatchObject({
    status: 'stopped',
    error: expect.stringContaining('may not be saved'),
  })
  expect(await first.driver.find(sandboxId)).toBeNull()
})

test('is left alone by a server that stops while the sandbox is silent', async () => {
  const server = await leaveSilent()
  await server.deps.sessions.close({ endsSandboxes: false })
  expect(await first.session(sessionId)).toMatchObject({ status: 'running', error: null })
  delete first.driver.options.answerMs
  await letDie(server.deps)
  const last = await startNext()
  await until('the last server has it', () => isAttached(last))
})

test('keeps no server that stops waiting for a sandbox that answers nothing', async () => {
  silence()
  const sent = first.request('POST', first.path(sessionId, 'prompt'), { body: { text: 'are you there' } })
  const stored = first.deps.db.selectFrom('session_prompts').select('status').where('session_id', '=', sessionId)
  await until('the prompt is accepted', async () => (await stored.executeTakeFirst())?.status === 'accepted')
  const closing = first.deps.sessions.close({ endsSandboxes: false })
  // The request to its daemon alone may take longer than this.
  const over = Promise.all([sent, closing])
  expect(await withDeadline(over, 15_000, () => null)).toMatchObject([{ status: 202, body: { status: 'accepted' } }, 1])
})

test('says that the operator stopped it, and starts again only for a prompt that waits', async () => {
  const waiting = await first.running()
  await first.deps.sessions.close({ endsSandboxes: false })
  // A request of the last moment, for a sandbox that the server has left already.
  const body = { text: 'later' }
  expect((await first.request('POST', first.path(waiting.session_id, 'prompt'), { body })).status).toBe(202)
  await first.deps.sessions.reconcile(waiting.session_id)
  expect(await first.session(waiting.session_id)).toMatchObject({ status: 'running', sandbox: { generation: 1 } })
  await letDie(first.deps)
  const ending = await anotherServer()
  for (const id of [sessionId, waiting.session_id])
    await ending.deps.sessions.takeOver((await getSessionById(first.deps.db, id))!)
  await ending.deps.sessions.close({ endsSandboxes: true })
  expect(await first.driver.list()).toEqual([])
  expect(first.driver.seen(waiting.sandbox!.sandbox_id)!.prompts).toEqual([])
  await letDie(ending.deps)
  const last = await anotherServer()
  await reconcileSessions(last.deps)
  expect(await first.reaches(sessionId, 'stopped')).toMatchObject({
    error: 'It was stopped by `svc self-host stop --sessions`. Send a prompt to continue.',
    sandbox: { status: 'stopped' },
  })
  const again = await until('the other one runs again', async () => {
    const found = await first.session(waiting.session_id)
    return found.status === 'running' && found.sandbox?.generation === 2 ? found : null
  })
  await until('its prompt is delivered', () =>
    first.driver.seen(again.sandbox!.sandbox_id)!.prompts.some(({ text }) => text === 'later'),
  )
})

test('says that the lease may be over when the sandbox ended while no server ran', async () => {
  await first.deps.sessions.close({ endsSandboxes: false })
  await letDie(first.deps)
  await first.driver.stop(sandboxId)
  const server = await anotherServer()
  await reconcileSessions(server.deps)
  const { error } = await first.reaches(sessionId, 'stopped')
  expect(error).toContain('SVC_SANDBOX_LEASE_SECONDS')
  expect(error).toEndWith('Send a prompt to continue.')
})

test('continues the timeline of a start that an earlier server began', async () => {
  const timeline = async (id: string) =>
    (await first.request<{ phases: { name: string; ms: number | null }[] }>('GET', first.path(id, 'timeline'))).body
      .phases
  first.driver.options.bootMs = Number.MAX_SAFE_INTEGER
  const { body } = await first.create()
  const before = await until('its daemon boots', async () => {
    const phases = await timeline(body.session_id)
    return phases.at(-1)?.name === 'runtime' ? phases : null
  })
  await first.deps.sessions.close({ endsSandboxes: false })
  await letDie(first.deps)
  // As after a server that was killed before it had recorded that the sandbox was made.
  await first.deps.db
    .updateTable('session_phases')
    .set({ ms: null })
    .where((eb) => eb.and({ session_id: body.session_id, name: 'sandbox' }))
    .execute()
  first.driver.options.bootMs = 0
  const server = await anotherServer()
  await reconcileSessions(server.deps)
  await first.reaches(body.session_id, 'running')
  const after = await timeline(body.session_id)
  expect(after.map(({ name }) => name)).toEqual(before.map(({ name }) => name))
  expect(after.filter(({ ms }) => ms === null)).toEqual([])
})

test('says that the operator stopped it, and that its last changes may not be saved', async () => {
  silence()
  await first.deps.sessions.close({ endsSandboxes: true })
  delete first.driver.options.answerMs
  await letDie(first.deps)
  const last = await anotherServer()
  await reconcileSessions(last.deps)
  const { error } = await first.reaches(sessionId, 'stopped')
  expect(error).toStartWith('It was stopped by `svc self-host stop --sessions`.')
  expect(error).toContain('The last changes of this session may not be saved.')
})

test('keeps no server that stops waiting for a prompt to a sandbox that answers, and gets that prompt once', async () => {
  const wake = Promise.withResolvers<void>()
  first.driver.options.asleep = () => ({ ms: 1, wake: () => wake.promise })
  const sent = first.request('POST', first.path(sessionId, 'prompt'), { body: { text: 'wake up' } })
  const stored = first.deps.db.selectFrom('session_prompts').select('status').where('session_id', '=', sessionId)
  await until('the prompt is accepted', async () => (await stored.executeTakeFirst())?.status === 'accepted')
  const over = Promise.all([sent, first.deps.sessions.close({ endsSandboxes: false })])
  // The request to its daemon alone may take longer than this.
  expect(await withDeadline(over, 15_000, () => null)).toMatchObject([{ status: 202, body: { status: 'accepted' } }, 1])
  await letDie(first.deps)
  delete first.driver.options.asleep
  wake.resolve()
  await until('it has run', () => prompts().length > 0)
  const { deps } = await startNext()
  await until('the prompt is delivered', async () => (await stored.executeTakeFirst())?.status === 'delivered')
  await until('its turn is over', () => deps.sessions.turnOf(sessionId) === 'idle')
  expect(prompts()).toEqual(['wake up'])
})

test('keeps the end of a turn when it is stopped twice at once', async () => {
  const finish = await atWork()
  await leave()
  finish()
  const server = await anotherServer()
  const asked = Promise.withResolvers<void>()
  const health = Promise.withResolvers<void>()
  first.driver.options.around = async (path, answer) => {
    if (path === '/svc/health') {
      asked.resolve()
      await health.promise
    }
    return answer()
  }
  const stop = () => server.request('POST', first.path(sessionId, 'stop'))
  const stopped = stop()
  await asked.promise
  const again = stop()
  await until('the second stop was requested', async () => {
    const { rows } = await sql`select from audit_events
      where action = 'session.stop' and object_id = ${sessionId}`.execute(first.deps.db)
    return rows.length === 2
  })
  // It goes on in the same process before this is answered.
  await server.request('GET', first.path(sessionId))
  health.resolve()
  expect([(await stopped).status, (await again).status]).toEqual([200, 200])
  expect(await answerOf(server)).toMatchObject({ error: null, parts: [{ type: 'text', text: 'Built.' }] })
})

test('is stopped also when a secret of its sandbox cannot be opened', async () => {
  await leave()
  const of = { projectId: first.project.project_id, sessionId }
  await insertGiven(first.deps.db, of, [{ name: 'KEY', version: 1, sealed: Buffer.from('damaged') }])
  const server = await anotherServer()
  expect((await server.request('POST', first.path(sessionId, 'stop'))).status).toBe(200)
  expect(await first.session(sessionId)).toMatchObject({
    status: 'stopped',
    error: expect.stringContaining('may not be saved'),
  })
  expect(await first.driver.find(sandboxId)).toBeNull()
})
