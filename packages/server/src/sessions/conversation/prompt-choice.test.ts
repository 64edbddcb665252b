/** The agent and the model that a prompt chooses, from it on. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Prompt, Session } from '@svc/contract'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp({ files: { 'README.md': 'hello\n', '.svc/runtime/agents/house.md': 'Be brief.\n' } })
}, 120_000)
afterAll(() => app.close())
afterEach(() => delete app.driver.options.onPrompt)

const promptsOf = async (sessionId: string) =>
  (await app.request<{ prompts: Prompt[] }>('GET', app.path(sessionId, 'prompts'))).body.prompts
const idleAgain = (session: Session) =>
  until('the turn is over', async () => {
    const { body } = await app.request<Session>('GET', `${app.path(session.session_id)}?include=activity`)
    return body.is_busy === false && app.deps.sessions.turnOf(session.session_id) === 'idle'
  })

describe('the agent and the model of a prompt', () => {
  const send = (sessionId: string, body: object) =>
    app.request<{ code: string; error: string; hint: string }>('POST', app.path(sessionId, 'prompt'), {
      body: { text: 'go on', ...body },
    })
  const heard = (session: RunningSession) =>
    app.driver.seen(session.sandbox!.sandbox_id)!.prompts.map(({ agent, model }) => [agent, model])

  test('are those of the session, and a choice lasts from its prompt on', async () => {
    const session = await app.running()
    const [first] = (await app.request<{ models: { id: string }[] }>('GET', '/v1/models')).body.models
    for (const body of [{}, { agent: 'house', model: first!.id }, {}, { agent: 'plan', model: null }]) {
      expect((await send(session.session_id, body)).status).toBe(202)
      await idleAgain(session)
    }
    expect(heard(session)).toEqual([
      ['build', null],
      ['house', first!.id],
      ['house', first!.id],
      ['plan', null],
    ])
    expect(await app.session(session.session_id)).toMatchObject({ agent_name: 'plan', model: null })
    await app.request('POST', app.path(session.session_id, 'stop'))
    await send(session.session_id, { agent: 'house' })
    const again = await app.reaches(session.session_id, 'running')
    expect(app.driver.seen(again.sandbox!.sandbox_id)!.spec.env).toMatchObject({ SVC_AGENT_NAME: 'house' })
  })

  test('that wait in the queue are those of when they were chosen', async () => {
    const turn = Promise.withResolvers<string>()
    app.driver.options.onPrompt = () => turn.promise
    const session = await app.running()
    await send(session.session_id, {})
    await send(session.session_id, {})
    await send(session.session_id, { agent: 'plan' })
    turn.resolve('done')
    await idleAgain(session)
    expect(heard(session).map(([agent]) => agent)).toEqual(['build', 'build', 'plan'])
    const listed = (await promptsOf(session.session_id)).toReversed()
    expect(listed.map(({ agent_name: agent, model }) => [agent, model])).toEqual([
      ...[
        ['build', null],
        ['build', null],
        ['plan', null],
      ],
    ])
  })

  test.each([
    ['agent', { agent: 'nobody' }, 'agent_not_found', 'build, plan, house'],
    ['model', { model: 'unheard-of' }, 'model_not_found', 'Choose one of'],
  ])('that nobody knows are refused with what there is: %s', async (_, choice, code, hint) => {
    const session = await app.running()
    const { status, body } = await send(session.session_id, choice)
    expect([status, body.code]).toEqual([400, code])
    expect(body.hint).toContain(hint)
    expect(await promptsOf(session.session_id)).toEqual([])
    expect(await app.session(session.session_id)).toMatchObject({ agent_name: 'build', model: null })
  })
})
