/** Prompts as a resource, turns that fail, and a session whose agent left the default branch. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Message, Prompt, Session } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { buildApp } from '../../app.ts'
import type { TestReply } from '../../testing.ts'
import { makeSessionApp, readEvents, type RunningSession, secondServer, type SessionApp, until } from '../testing.ts'

interface Prompted {
  prompt_id: string
  status: string
  error?: { code: string; message: string }
  code?: string
}

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp({ files: { 'README.md': 'hello\n', '.svc/runtime/agents/house.md': 'Be brief.\n' } })
}, 120_000)
afterAll(() => app.close())
afterEach(() => {
  delete app.driver.options.refuse
  delete app.driver.options.onPrompt
  delete app.driver.options.bootMs
  delete app.driver.options.around
})

const prompt = (sessionId: string, text: string) =>
  app.request<Prompted>('POST', app.path(sessionId, 'prompt'), { body: { text } })
const promptsOf = async (sessionId: string) =>
  (await app.request<{ prompts: Prompt[] }>('GET', app.path(sessionId, 'prompts'))).body.prompts
const messagesOf = async (sessionId: string) =>
  (await app.request<{ messages: Message[] }>('GET', app.path(sessionId, 'transcript'))).body.messages
const idleAgain = (session: Session) =>
  until('the turn is over', async () => {
    const { body } = await app.request<Session>('GET', `${app.path(session.session_id)}?include=activity`)
    return body.is_busy === false && app.deps.sessions.turnOf(session.session_id) === 'idle'
  })
const failureOf = (session: Session) =>
  until('the session says why its turn failed', async () => (await app.session(session.session_id)).last_turn_error)

describe('the prompts of a session', () => {
  test('are listed newest first and by pages, with the first prompt and what became of each', async () => {
    const session = await app.running({ initial_prompt: 'Begin' })
    const sent = [await prompt(session.session_id, 'one'), await prompt(session.session_id, 'two')]
    await idleAgain(session)
    expect(await promptsOf(session.session_id)).toEqual(
      [
        { prompt_id: sent[1]!.body.prompt_id, text: 'two', agent_name: 'build' },
        { prompt_id: sent[0]!.body.prompt_id, text: 'one', agent_name: 'build' },
        { prompt_id: session.session_id, text: 'Begin', agent_name: null },
      ].map((each) => ({
        ...each,
        ...{ status: 'delivered', error: null, created_by: app.owner.user_id, attachments: [] },
        ...{ model: null, created_at: expect.any(String), settled_at: expect.any(String) },
      })),
    )
    const seen: string[] = []
    for (let next: string | null = `${app.path(session.session_id, 'prompts')}?limit=2`; next !== null;) {
      const page: TestReply<{ prompts: Prompt[] }> = await app.request('GET', next)
      seen.push(...page.body.prompts.map(({ text }) => text))
      next = /<([^>]*)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? null
    }
    expect(seen).toEqual(['two', 'one', 'Begin'])
    expect((await app.request('GET', `${app.path(session.session_id, 'prompts')}?cursor=x`)).status).toBe(400)
  })

  test('are named by their messages, live and stored, on every server', async () => {
    const session = await app.running({ initial_prompt: 'Begin' })
    const { publicUrl } = app.deps.config
    const events = readEvents(
      await buildApp(app.deps).request(publicUrl + app.path(session.session_id, 'events'), {
        headers: { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` },
      }),
    )
    const sent = await Promise.all(['same', 'same', 'other'].map((text) => prompt(session.session_id, text)))
    app.driver.options.refuse = ({ text }) => (text === 'bad' ? { code: 'runtime_failed', message: 'No.' } : null)
    sent.push(await prompt(session.session_id, 'bad'))
    await idleAgain(session)
    const named = (messages: Message[]) =>
      messages.flatMap(({ role, prompt_id: id }) => (role === 'user' ? [id ?? 'unnamed'] : [])).toSorted()
    const expected = [session.session_id, ...sent.map(({ body }) => body.prompt_id)].toSorted()
    expect(named(await messagesOf(session.session_id))).toEqual(expected)
    const other = await secondServer(app)
    const elsewhere = await other.request<{ messages: Message[] }>('GET', app.path(session.session_id, 'transcript'))
    expect(named(elsewhere.body.messages)).toEqual(expected)
    await other.close()
    const texts = (await promptsOf(session.session_id)).map(({ prompt_id: id, text }) => [id, text])
    for (const { prompt_id: id, parts, role } of await messagesOf(session.session_id))
      if (role === 'user') expect(texts).toContainEqual([id ?? 'unnamed', (parts[0] as { text: string }).text])
      else expect(id).toBeUndefined()
    const live = events.seen.flatMap((event) =>
      event.type === 'message' && event.message.role === 'user' ? [event.message.prompt_id ?? 'unnamed'] : [],
    )
    expect([...new Set(live)].toSorted()).toEqual(expected)
    await events.close()
  })

  test('are in the conversation also when the agent took the first one before the server listened', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create()
    await until('it boots', async () => (await app.session(body.session_id)).sandbox !== null)
    expect((await prompt(body.session_id, 'quick')).body.status).toBe('accepted')
    const [taken, opened, looked] = [0, 1, 2].map(() => Promise.withResolvers<void>())
    let isOpen = false
    app.driver.options.around = async (path, answer) => {
      // The server asks for the health of the sandbox once it has read what the conversation was before.
      if (path === '/svc/health' && isOpen) looked!.resolve()
      if (path === '/event') await taken!.promise
      const answered = await answer()
      if (path === '/event') isOpen = true
      if (path === '/event') opened!.resolve()
      if (path !== '/svc/prompt') return answered
      taken!.resolve()
      await opened!.promise
      await looked!.promise
      return answered
    }
    delete app.driver.options.bootMs
    await app.reaches(body.session_id, 'running')
    await until('both messages are there', async () => (await messagesOf(body.session_id)).length === 2)
    await idleAgain(await app.session(body.session_id))
  })

  test('that wait show no secret to people, on no server', async () => {
    const secret = 'another-secret-of-the-project'
    await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, {
      body: { name: 'TYPED', value: secret },
    })
    app.driver.options.bootMs = 60_000
    const { body } = await app.create({ initial_prompt: `Begin with ${secret}.` })
    await prompt(body.session_id, `Go on with ${secret}.`)
    const other = await secondServer(app)
    const elsewhere = await other.request('GET', app.path(body.session_id, 'prompts'))
    for (const shown of [JSON.stringify(await promptsOf(body.session_id)), JSON.stringify(elsewhere.body)]) {
      expect(shown).not.toContain(secret)
      expect(shown).toContain('Go on with [redacted TYPED].')
    }
    await other.close()
  })

  test('wait while the session starts, the first one too', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create({ initial_prompt: 'Begin' })
    expect((await prompt(body.session_id, 'and then')).body).toMatchObject({ status: 'accepted' })
    expect(
      (await promptsOf(body.session_id)).map(({ text, status, settled_at }) => [text, status, settled_at]),
    ).toEqual([
      ['and then', 'accepted', null],
      ['Begin', 'accepted', null],
    ])
  })

  test('show none of the secrets of the session, whether they wait, failed or were delivered', async () => {
    const secret = 'correct-horse-battery-staple'
    const set = await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, {
      body: { name: 'STAPLE', value: secret },
    })
    expect(set.status).toBe(200)
    const session = await app.running({ initial_prompt: `Use ${secret}.` })
    await prompt(session.session_id, `Again ${secret}.`)
    await idleAgain(session)
    app.driver.options.refuse = () => ({ code: 'runtime_failed', message: `It knows ${secret}.` })
    await prompt(session.session_id, `Refused ${secret}.`)
    app.driver.options.refuse = () => ({ code: 'runtime_booting', message: 'Not yet.' })
    await prompt(session.session_id, `Waiting ${secret}.`)
    const { text, body } = await app.request<{ prompts: Prompt[] }>('GET', app.path(session.session_id, 'prompts'))
    expect(body.prompts.map(({ status }) => status)).toEqual(['accepted', 'failed', 'delivered', 'delivered'])
    expect(text).not.toContain(secret)
    expect((await app.request('GET', app.path(session.session_id, 'transcript'))).text).not.toContain(secret)
  })

  test('are taken back by an abort when the agent did not get them yet', async () => {
    const session = await app.running()
    app.driver.options.refuse = () => ({ code: 'runtime_booting', message: 'Not yet.' })
    const { body } = await prompt(session.session_id, 'never mind')
    expect(body.status).toBe('accepted')
    expect((await app.request('POST', app.path(session.session_id, 'abort'))).status).toBe(200)
    await idleAgain(session)
    delete app.driver.options.refuse
    await app.deps.sessions.deliverPrompts(session.session_id)
    const [cancelled] = await promptsOf(session.session_id)
    expect(cancelled).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } })
    const [message] = await messagesOf(session.session_id)
    expect(message).toMatchObject({
      ...{ message_id: body.prompt_id, role: 'user', error: expect.stringContaining('Cancelled') },
    })
    // It stands after what the agent did while it waited.
    expect(Date.parse(message!.created_at)).toBeGreaterThanOrEqual(Date.parse(cancelled!.settled_at!))
    expect(app.driver.seen(session.sandbox!.sandbox_id)!.prompts).toEqual([])
  })
})

describe('a prompt while the agent works', () => {
  const cancel = (sessionId: string, promptId: string) =>
    app.request<Prompt & { code: string; error: string; hint: string }>(
      'DELETE',
      app.path(sessionId, `prompts/${promptId}`),
    )
  const heard = (session: RunningSession) =>
    app.driver.seen(session.sandbox!.sandbox_id)!.prompts.map(({ text }) => text)
  /** A session whose turns end one by one. */
  const atWork = async () => {
    const turns: PromiseWithResolvers<string>[] = []
    app.driver.options.onPrompt = () => {
      const turn = Promise.withResolvers<string>()
      turns.push(turn)
      return turn.promise
    }
    const session = await app.running()
    expect((await prompt(session.session_id, 'work')).body.status).toBe('delivered')
    return {
      session,
      ends: async (nth: number) => {
        await until(`turn ${nth} has begun`, () => turns.length === nth)
        turns[nth - 1]!.resolve('done')
      },
    }
  }

  test('waits for the end of the turn, and the next one for the end of its turn', async () => {
    const { session, ends } = await atWork()
    expect((await prompt(session.session_id, 'one')).body.status).toBe('accepted')
    expect((await prompt(session.session_id, 'two')).body.status).toBe('accepted')
    const waiting = await app.request<{ prompts: Prompt[] }>(
      'GET',
      `${app.path(session.session_id, 'prompts')}?status=accepted`,
    )
    expect(waiting.body.prompts.map(({ text }) => text)).toEqual(['two', 'one'])
    expect(heard(session)).toEqual(['work'])
    await ends(1)
    await until('the first one is heard', () => heard(session).length === 2)
    await app.deps.sessions.deliverPrompts(session.session_id)
    expect(heard(session)).toEqual(['work', 'one'])
    // The agent does not rest in between.
    expect(app.deps.sessions.turnOf(session.session_id)).toBe('busy')
    await ends(2)
    await ends(3)
    await idleAgain(session)
    expect(heard(session)).toEqual(['work', 'one', 'two'])
    expect((await promptsOf(session.session_id)).map(({ status }) => status)).toEqual(Array(3).fill('delivered'))
  })

  test('is cancelled alone, and stays out of the conversation', async () => {
    const { session, ends } = await atWork()
    const [one, two] = [await prompt(session.session_id, 'one'), await prompt(session.session_id, 'two')]
    const cancelled = await cancel(session.session_id, one.body.prompt_id)
    expect(cancelled).toMatchObject({
      status: 200,
      body: { prompt_id: one.body.prompt_id, text: 'one', status: 'cancelled', error: { code: 'cancelled' } },
    })
    expect((await cancel(session.session_id, one.body.prompt_id)).status).toBe(200)
    await ends(1)
    await ends(2)
    await idleAgain(session)
    expect(heard(session)).toEqual(['work', 'two'])
    expect((await promptsOf(session.session_id)).map(({ text, status }) => [text, status])).toEqual([
      ['two', 'delivered'],
      ['one', 'cancelled'],
      ['work', 'delivered'],
    ])
    expect(JSON.stringify(await messagesOf(session.session_id))).not.toContain('"one"')
    expect(two.status).toBe(202)
  })

  test('cannot be cancelled once the agent has it, and the answer says what to do instead', async () => {
    const { session, ends } = await atWork()
    const [{ prompt_id: promptId }] = (await promptsOf(session.session_id)) as [Prompt]
    const late = await cancel(session.session_id, promptId)
    expect([late.status, late.body.code, late.body.error]).toEqual([
      ...[409, 'conflict', 'The agent has this prompt already, so it can no longer be cancelled.'],
    ])
    expect(late.body.hint).toContain(`svc sessions abort ${session.session_id.slice(0, 8)}`)
    expect((await cancel(session.session_id, crypto.randomUUID())).status).toBe(404)
    await ends(1)
    await idleAgain(session)
  })

  test('is either cancelled or heard, also when its turn comes at that moment', async () => {
    for (let round = 0; round < 5; round++) {
      const { session, ends } = await atWork()
      const { prompt_id: promptId } = (await prompt(session.session_id, 'now or never')).body
      const [answer] = await Promise.all([cancel(session.session_id, promptId), ends(1)])
      if (answer.status === 409) await ends(2)
      await idleAgain(session)
      expect(heard(session)).toEqual(answer.status === 200 ? ['work'] : ['work', 'now or never'])
      await app.request('POST', app.path(session.session_id, 'stop'))
    }
  }, 120_000)

  test('ends the turn that waited for it when it is cancelled in between', async () => {
    const { session, ends } = await atWork()
    const { prompt_id: promptId } = (await prompt(session.session_id, 'never mind')).body
    app.driver.options.refuse = () => ({ code: 'runtime_booting', message: 'Not yet.' })
    await ends(1)
    await until('the turn is over', async () => (await messagesOf(session.session_id)).at(-1)?.completed_at != null)
    await until('it is cancelled', async () => (await cancel(session.session_id, promptId)).status === 200)
    await idleAgain(session)
    expect(heard(session)).toEqual(['work'])
  })

  test('that the session starts with is not cancelled alone', async () => {
    const session = await app.running({ initial_prompt: 'Begin' })
    const first = await cancel(session.session_id, session.session_id)
    expect([first.status, first.body.hint]).toEqual([409, expect.stringContaining('svc sessions stop')])
  })
})

describe('a prompt that the daemon refuses', () => {
  test('answers with the reason, and stands in the conversation where it was written', async () => {
    const session = await app.running()
    await prompt(session.session_id, 'before')
    await idleAgain(session)
    app.driver.options.refuse = () => ({ code: 'agent_not_found', message: 'There is no agent called "x".' })
    const { publicUrl } = app.deps.config
    const events = readEvents(
      await buildApp(app.deps).request(publicUrl + app.path(session.session_id, 'events'), {
        headers: { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` },
      }),
    )
    const { status, body } = await prompt(session.session_id, 'refused')
    const error = { code: 'agent_not_found', message: 'There is no agent called "x".' }
    expect([status, body]).toEqual([202, { prompt_id: expect.any(String), status: 'failed', error }])
    delete app.driver.options.refuse
    await prompt(session.session_id, 'after')
    await idleAgain(session)
    expect((await promptsOf(session.session_id)).map((each) => [each.text, each.status, each.error])).toEqual([
      ['after', 'delivered', null],
      ['refused', 'failed', error],
      ['before', 'delivered', null],
    ])
    const texts = (await messagesOf(session.session_id)).map(({ role, error, parts: [part] }) => [
      ...[role, part?.type === 'text' ? part.text : null, error],
    ])
    expect(texts).toEqual([
      ['user', 'before', null],
      ['assistant', 'before', null],
      ['user', 'refused', error.message],
      ['user', 'after', null],
      ['assistant', 'after', null],
    ])
    await events.find(
      'the prompt with its reason',
      (event) =>
        event.type === 'message' &&
        event.message.message_id === body.prompt_id &&
        event.message.error === error.message,
    )
    await events.close()
  })
})

describe('a turn that fails', () => {
  const failing = async (session: RunningSession, reason = 'The model is away.') => {
    app.driver.options.onPrompt = () => Promise.reject(new Error(reason))
    await prompt(session.session_id, 'try')
    return failureOf(session)
  }

  test('keeps its reason on the session until a turn succeeds, and in the transcript for good', async () => {
    const session = await app.running()
    expect((await app.session(session.session_id)).last_turn_error).toBeNull()
    expect(await failing(session)).toEqual({
      code: 'turn_failed',
      message: 'The model is away.',
      at: expect.any(String),
    })
    delete app.driver.options.onPrompt
    await prompt(session.session_id, 'again')
    await until('it succeeds', async () => (await app.session(session.session_id)).last_turn_error === null)
    expect((await messagesOf(session.session_id)).map(({ error }) => error)).toContain('The model is away.')

    await failing(session)
    await app.request('POST', app.path(session.session_id, 'stop'))
    expect((await app.session(session.session_id)).last_turn_error?.message).toBe('The model is away.')
    expect((await messagesOf(session.session_id)).at(-1)?.error).toBe('The model is away.')
  })

  test('stays as it was when the next one is aborted', async () => {
    const session = await app.running()
    await failing(session)
    app.driver.options.onPrompt = () => new Promise(() => {})
    await prompt(session.session_id, 'long')
    await until('it is at work', () => app.driver.seen(session.sandbox!.sandbox_id)!.prompts.length === 2)
    await app.request('POST', app.path(session.session_id, 'abort'))
    await idleAgain(session)
    expect((await app.session(session.session_id)).last_turn_error?.message).toBe('The model is away.')
  })

  test('because its sandbox ended keeps that reason', async () => {
    const session = await app.running()
    app.driver.options.onPrompt = () => new Promise(() => {})
    await prompt(session.session_id, 'work')
    await until('the answer began', async () => (await messagesOf(session.session_id)).length === 2)
    await app.driver.crash(session.sandbox!.sandbox_id, 'It ran out of memory.')
    const failed = await app.reaches(session.session_id, 'failed')
    expect(failed.last_turn_error).toMatchObject({ code: 'sandbox_ended', message: 'It ran out of memory.' })
    expect((await messagesOf(session.session_id)).at(-1)).toMatchObject({
      error: 'It ran out of memory.',
      error_code: 'sandbox_ended',
    })
  })
})

describe('a session whose agent left the default branch', () => {
  const withoutAgent = async () => {
    await commit(app.repo, 'main', {
      '.svc/runtime/agents/house.md': 'Be brief.\n',
      '.svc/runtime/agents/other.md': 'Be kind.\n',
    })
    const session = await app.running({ agent_name: 'house' })
    await commit(app.repo, 'main', { '.svc/runtime/agents/house.md': null })
    return session
  }
  const restart = (sessionId: string, body?: object) =>
    app.request<Session & { code: string; error: string; hint: string; agents: string[] }>(
      'POST',
      app.path(sessionId, 'restart'),
      body === undefined ? {} : { body },
    )

  test('is not woken by a prompt, which fails with the reason and the way out', async () => {
    const session = await withoutAgent()
    await app.request('POST', app.path(session.session_id, 'stop'))
    const { status, body } = await prompt(session.session_id, 'wake up')
    expect([status, body.status, body.error?.code]).toEqual([202, 'failed', 'agent_not_found'])
    expect(body.error?.message).toContain('"house" is not on the default branch')
    expect(body.error?.message).toContain('(build, plan, other)')
    expect(body.error?.message).toContain(`svc sessions restart ${session.session_id.slice(0, 8)} --agent build`)
    expect(await app.session(session.session_id)).toMatchObject({ status: 'stopped', sandbox: { generation: 1 } })
    expect(await promptsOf(session.session_id)).toMatchObject([
      { prompt_id: body.prompt_id, text: 'wake up', status: 'failed', error: body.error },
    ])
    expect(await messagesOf(session.session_id)).toMatchObject([
      { message_id: body.prompt_id, role: 'user', error: body.error!.message, parts: [{ text: 'wake up' }] },
    ])
  })

  test('keeps no secret of a prompt that fails, on a server that does not know the session either', async () => {
    const secret = 'a-third-secret-of-the-project'
    await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, {
      body: { name: 'THIRD', value: secret },
    })
    const session = await withoutAgent()
    await app.request('POST', app.path(session.session_id, 'stop'))
    const other = await secondServer(app)
    const body = { text: `Use ${secret}.` }
    const refused = await other.request<Prompted>('POST', app.path(session.session_id, 'prompt'), { body })
    expect(refused.body).toMatchObject({ status: 'failed' })
    const rows = await app.deps.db
      .selectFrom('session_prompts')
      .select('text')
      .where('session_id', '=', session.session_id)
      .execute()
    const seen = [rows, await promptsOf(session.session_id), await messagesOf(session.session_id)]
    expect(JSON.stringify(seen)).not.toContain(secret)
    expect(JSON.stringify(seen)).toContain('Use [redacted THIRD].')
    await other.close()
  })

  test('is restarted with another agent, and until then its sandbox is left alone', async () => {
    const session = await withoutAgent()
    const refused = await restart(session.session_id)
    expect([refused.status, refused.body.code]).toEqual([400, 'agent_not_found'])
    expect(refused.body.agents).toEqual(['build', 'plan', 'other'])
    expect(refused.body.hint).toContain(`svc sessions restart ${session.session_id.slice(0, 8)} --agent build`)
    expect((await restart(session.session_id, { agent: 'nobody' })).body.code).toBe('agent_not_found')
    expect(await app.driver.find(session.sandbox!.sandbox_id)).not.toBeNull()

    expect((await restart(session.session_id, { agent: 'other' })).body).toMatchObject({ agent_name: 'other' })
    const again = await app.reaches(session.session_id, 'running')
    expect(app.driver.seen(again.sandbox!.sandbox_id)!.spec.env).toMatchObject({ SVC_AGENT_NAME: 'other' })
    expect((await prompt(session.session_id, 'hello')).body.status).not.toBe('failed')
  })

  test.each([[null], ['default']])('takes %p as the default agent', async (agent) => {
    const session = await withoutAgent()
    expect((await restart(session.session_id, { agent })).body).toMatchObject({
      status: 'provisioning',
      agent_name: 'build',
    })
    await app.reaches(session.session_id, 'running')
  })
})

test.each([
  ['prompt', { text: 'x', attachements: [] }, 'attachements; did you mean attachments?'],
  ['prompt', { text: 'x', attachments: [{ name: 'a', content_base64: '', path: '/etc' }] }, 'path.'],
  ['restart', { agnet: 'house' }, 'agnet; did you mean agent?'],
  ['refresh', { agent: 'house' }, 'agent.'],
])('%s refuses %j, whose unknown field would be dropped', async (verb, body, words) => {
  const session = await app.running()
  const sent = await app.request<{ error: string }>('POST', app.path(session.session_id, verb), { body })
  expect([sent.status, sent.body.error]).toEqual([400, `The request body has an unknown field: ${words}`])
  expect(await promptsOf(session.session_id)).toEqual([])
})
