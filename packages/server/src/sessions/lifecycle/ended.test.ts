/** The conversation of a sandbox that ends by itself while no turn runs in it. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { Message } from '@svc/contract'
import { makeSessionApp, type SessionApp, until } from '../testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterEach(() => {
  delete app.driver.options.around
  delete app.driver.options.onPrompt
})
afterAll(() => app.close())

const send = (sessionId: string, text: string) => app.request('POST', app.path(sessionId, 'prompt'), { body: { text } })
const transcript = async (sessionId: string) =>
  (await app.request<{ messages: Message[] }>('GET', app.path(sessionId, 'transcript'))).body.messages.map(
    ({ role, error, parts }) => [role, parts.map((part) => (part.type === 'text' ? part.text : '')).join(), error],
  )
const turnsOf = (...texts: string[]) =>
  texts.flatMap((text) => [
    ['user', text, null],
    ['assistant', text, null],
  ])

test('an answer that was complete keeps no error while the next prompt waits', async () => {
  const { deps, driver } = app
  const { session_id: sessionId, sandbox } = await app.running()
  const answer = Promise.withResolvers<string>()
  driver.options.onPrompt = () => answer.promise
  await send(sessionId, 'First')
  await send(sessionId, 'Second')
  const free = Promise.withResolvers<void>()
  const held = deps.localLocks.run(`prompts ${sessionId}`, () => free.promise)
  answer.resolve('First')
  await until('the first is answered', async () => {
    const answers = deps.db.selectFrom('session_messages').where('session_id', '=', sessionId)
    const complete = answers.where('role', '=', 'assistant').where('completed_at', 'is not', null)
    return (await complete.select('message_id').execute()).length === 1
  })
  delete driver.options.onPrompt
  await driver.crash(sandbox!.sandbox_id, 'It ended with signal 9.')
  free.resolve()
  await held
  await until(
    'the second is answered',
    async () => (await transcript(sessionId)).length >= 4 && deps.sessions.turnOf(sessionId) === 'idle',
  )
  expect(await transcript(sessionId)).toEqual(turnsOf('First', 'Second'))
}, 120_000)

test('a prompt that its agent did not get is shown once', async () => {
  const { deps, driver } = app
  const { session_id: sessionId, sandbox } = await app.running()
  const asked = Promise.withResolvers<void>()
  driver.options.around = async (path, answer) => {
    if (path !== '/svc/prompt') return answer()
    asked.resolve()
    return new Promise(() => {})
  }
  const sent = send(sessionId, 'Later')
  await asked.promise
  await driver.crash(sandbox!.sandbox_id, 'It ended with signal 9.')
  delete driver.options.around
  await sent
  await until(
    'it is answered',
    async () =>
      (await transcript(sessionId)).some(([role]) => role === 'assistant') &&
      deps.sessions.turnOf(sessionId) === 'idle',
  )
  expect(await transcript(sessionId)).toEqual(turnsOf('Later'))
}, 120_000)
