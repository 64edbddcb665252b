/** A session leaves its sandbox in the middle of a turn: its conversation shows the turn once. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Message, Prompt } from '@svc/contract'
import { deliverWaitingPrompts, reconcileSessions } from '../jobs.ts'
import { makeSessionApp, type SessionApp, until } from '../testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
})
afterAll(() => app.close())
beforeEach(() => {
  delete app.driver.options.around
  delete app.driver.options.onPrompt
})

const messagesOf = async (sessionId: string) =>
  (await app.request<{ messages: Message[] }>('GET', app.path(sessionId, 'transcript'))).body.messages
const textOf = ({ role, error, parts }: Message) => [
  role,
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''),
  error,
]
const prompted = (sessionId: string, text: string) =>
  app.request<{ prompt_id: string }>('POST', app.path(sessionId, 'prompt'), { body: { text } })
const promptOf = async (sessionId: string, promptId: string) =>
  (await app.request<{ prompts: Prompt[] }>('GET', app.path(sessionId, 'prompts'))).body.prompts.find(
    ({ prompt_id }) => prompt_id === promptId,
  )

/** An event stream without events. */
const silent = () => new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } })

/** The turn of this prompt begins, and the agent does not get it. */
async function promptedInVain(sessionId: string) {
  app.driver.options.around = async (path, answer) =>
    path === '/svc/prompt' ? new Promise<Response>(() => {}) : answer()
  const sent = prompted(sessionId, 'Later')
  await until('its turn has begun', () => app.deps.sessions.turnOf(sessionId) === 'busy')
  return { reply: sent }
}

test('a turn whose events are late is there once, with its answer', async () => {
  app.driver.options.around = async (path, answer) => (path === '/event' ? silent() : answer())
  const { session_id: sessionId } = await app.running()
  const { body } = await prompted(sessionId, 'Go on')
  await until('the agent has it', async () => (await promptOf(sessionId, body.prompt_id))?.status === 'delivered')
  expect(app.deps.sessions.turnOf(sessionId)).toBe('busy')
  await app.deps.sessions.moveAway(sessionId)
  expect((await messagesOf(sessionId)).map(textOf)).toEqual([
    ['user', 'Go on', null],
    ['assistant', 'Go on', null],
  ])
})

test('a prompt that the agent did not get waits for the next sandbox, and no failure is shown', async () => {
  const { session_id: sessionId } = await app.running()
  const { reply } = await promptedInVain(sessionId)
  await app.deps.sessions.moveAway(sessionId)
  expect(await messagesOf(sessionId)).toEqual([])
  delete app.driver.options.around
  await app.deps.sessions.reconcile(sessionId)
  await app.reaches(sessionId, 'running')
  await until('it was answered', async () => (await messagesOf(sessionId)).length === 2)
  expect((await messagesOf(sessionId)).map(textOf)[0]).toEqual(['user', 'Later', null])
  expect((await promptOf(sessionId, (await reply).body.prompt_id))?.status).toBe('delivered')
})

test('a turn that a move ends says so in words that stay true when the move is cancelled', async () => {
  const { session_id: sessionId } = await app.running()
  const answered = Promise.withResolvers<void>()
  app.driver.options.onPrompt = async ({ text }) => {
    await answered.promise
    return text
  }
  const { body } = await prompted(sessionId, 'Long')
  await until('the agent has it', async () => (await promptOf(sessionId, body.prompt_id))?.status === 'delivered')
  await app.deps.sessions.moveAway(sessionId)
  answered.resolve()
  // The project stays at its home.
  await app.deps.sessions.reconcile(sessionId)
  await app.reaches(sessionId, 'running')
  const { last_turn_error, sandbox_ended } = await app.session(sessionId)
  const message = 'The sandbox ended for a move of the project to another server.'
  expect(last_turn_error).toMatchObject({ code: 'sandbox_ended', message })
  // For a terminal that it ended.
  expect(sandbox_ended).toBe(message)
  await app.request('POST', app.path(sessionId, 'restart'))
  await app.reaches(sessionId, 'running')
  expect((await app.session(sessionId)).sandbox_ended).toBeNull()
})

test('no turn begins while a session leaves, so none is shown as failed and run again', async () => {
  const { session_id: sessionId } = await app.running()
  const answered = Promise.withResolvers<void>()
  app.driver.options.onPrompt = async ({ text }) => {
    if (text === 'First') await answered.promise
    return text
  }
  await prompted(sessionId, 'First')
  await prompted(sessionId, 'Second')
  const asked = Promise.withResolvers<void>()
  const read = Promise.withResolvers<void>()
  app.driver.options.around = async (path, answer) => {
    const response = await answer()
    if (!path.endsWith('/message')) return response
    asked.resolve()
    await read.promise
    return response
  }
  const moved = app.deps.sessions.moveAway(sessionId)
  await asked.promise
  answered.resolve()
  await until('the first was answered', async () =>
    (await messagesOf(sessionId)).some(({ role, completed_at }) => role === 'assistant' && completed_at !== null),
  )
  read.resolve()
  await moved
  delete app.driver.options.around
  await app.deps.sessions.reconcile(sessionId)
  await until('both were answered', async () => (await messagesOf(sessionId)).length >= 4)
  expect((await messagesOf(sessionId)).map(textOf)).toEqual(
    ['First', 'Second'].flatMap((text) => [
      ['user', text, null],
      ['assistant', text, null],
    ]),
  )
})

test('a prompt that the agent takes while the session stops is in the conversation', async () => {
  const go = Promise.withResolvers<void>()
  app.driver.options.around = async (path, answer) => {
    if (path === '/event') return silent()
    if (path === '/svc/prompt') await go.promise
    return answer()
  }
  const { session_id: sessionId } = await app.running()
  const sent = prompted(sessionId, 'In time')
  await until('its turn has begun', () => app.deps.sessions.turnOf(sessionId) === 'busy')
  const stopped = app.request('POST', app.path(sessionId, 'stop'))
  await until('the session ends', () => app.deps.sessions.daemonOf(sessionId) === null)
  go.resolve()
  await stopped
  expect((await promptOf(sessionId, (await sent).body.prompt_id))?.status).toBe('delivered')
  expect((await messagesOf(sessionId)).map(textOf)[0]).toEqual(['user', 'In time', null])
})

test('a stop waits only a moment for a prompt, which goes to the next sandbox', async () => {
  const { session_id: sessionId } = await app.running()
  const { reply } = await promptedInVain(sessionId)
  await app.request('POST', app.path(sessionId, 'stop'))
  delete app.driver.options.around
  const { prompt_id } = (await reply).body
  expect((await promptOf(sessionId, prompt_id))?.status).toBe('accepted')
  await app.request('POST', app.path(sessionId, 'restart'))
  await until('it was answered', async () => (await messagesOf(sessionId)).length === 2)
  expect((await messagesOf(sessionId)).map(textOf)[0]).toEqual(['user', 'Later', null])
  expect((await promptOf(sessionId, prompt_id))?.status).toBe('delivered')
})

test('a prompt that waits for the save of the turn before goes to the next sandbox when the session stops', async () => {
  const { session_id: sessionId } = await app.running()
  const saved = Promise.withResolvers<void>()
  const saves = Promise.withResolvers<void>()
  app.driver.options.around = async (path, answer) => {
    if (path === '/svc/wip') {
      saves.resolve()
      await saved.promise
    }
    return answer()
  }
  await prompted(sessionId, 'First')
  await saves.promise
  const sent = prompted(sessionId, 'Second')
  const waiting = () => app.request<{ prompts: Prompt[] }>('GET', app.path(sessionId, 'prompts?status=accepted'))
  await until('it waits', async () => (await waiting()).body.prompts.length === 1)
  // Otherwise the stop waits for the save, too.
  const stopped = app.request('POST', `${app.path(sessionId, 'stop')}?discard=true`)
  await until('the session ends', () => app.deps.sessions.daemonOf(sessionId) === null)
  await sent
  saved.resolve()
  await stopped
  expect((await waiting()).body.prompts).toMatchObject([{ text: 'Second' }])
  await app.request('POST', app.path(sessionId, 'restart'))
  await until('both were answered', async () => (await messagesOf(sessionId)).length === 4)
})

test('a prompt that the runtime took as it ended does not run again in the next sandbox', async () => {
  const { session_id: sessionId, sandbox } = await app.running()
  app.driver.options.onPrompt = () => new Promise(() => {})
  app.driver.options.around = async (path, answer) => {
    const response = await answer()
    if (path !== '/svc/prompt') return response
    return Response.json({ code: 'runtime_booting', error: 'The agent runtime is still starting.' }, { status: 503 })
  }
  const { body } = await prompted(sessionId, 'Once')
  expect((await promptOf(sessionId, body.prompt_id))?.status).toBe('accepted')
  await until('the agent has it', async () => (await messagesOf(sessionId)).length === 2)
  delete app.driver.options.around
  delete app.driver.options.onPrompt
  await app.driver.crash(sandbox!.sandbox_id, 'It ended with signal 9.')
  await until('no prompt waits in the next sandbox', async () => {
    await reconcileSessions(app.deps)
    await deliverWaitingPrompts(app.deps)
    return (await promptOf(sessionId, body.prompt_id))?.status === 'delivered'
  })
  expect((await messagesOf(sessionId)).map(textOf)).toEqual([
    ['user', 'Once', null],
    ['assistant', '', 'It ended with signal 9.'],
  ])
})
