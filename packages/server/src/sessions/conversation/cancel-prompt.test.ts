import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Message } from '@svc/contract'
import { sql } from 'kysely'
import { makeSessionApp, type SessionApp, until } from '../testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterAll(() => app.close())

test('a turn that waited for a prompt ends, also when the cancellation of that came first', async () => {
  const { deps, driver } = app
  const answer = Promise.withResolvers<string>()
  driver.options.onPrompt = () => answer.promise
  const { session_id: sessionId } = await app.running()
  const send = async (text: string) =>
    (await app.request<{ prompt_id: string }>('POST', app.path(sessionId, 'prompt'), { body: { text } })).body.prompt_id
  await send('work')
  const promptId = await send('never mind')
  const cancelled = Promise.withResolvers<void>()
  const held = deps.localLocks.run(`prompts ${sessionId}`, () => cancelled.promise)
  answer.resolve('done')
  await until('the work is done', async () => {
    const { body } = await app.request<{ messages: Message[] }>('GET', app.path(sessionId, 'transcript'))
    return body.messages.some(({ role, completed_at }) => role === 'assistant' && completed_at !== null)
  })
  // Without a word to the follower, which did not know then that it would wait.
  await sql`update session_prompts set status = 'cancelled' where prompt_id = ${promptId}`.execute(deps.db)
  cancelled.resolve()
  await held
  await until('the turn is over', () => deps.sessions.turnOf(sessionId) === 'idle')
  expect(driver.seen((await app.session(sessionId)).sandbox!.sandbox_id)?.prompts.length).toBe(1)
})
