/** A server without a model, the owner who sets one, and the other servers of the database that follow. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type ConfiguredModel, type ModelUpstream, scriptedModelName, type Session } from '@svc/contract'
import { makeSessionApp, type SessionApp } from '../../sessions/testing.ts'

const key = 'key-of-an-operator-0123456789'
interface Asked {
  path: string
  key: string | null
  body: { model?: string }
}
const asked: Asked[] = []
let answer: () => Response
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { headers } = request
    asked.push({
      path: new URL(request.url).pathname,
      key: headers.get('authorization') ?? headers.get('x-api-key'),
      body: (await request.json()) as Asked['body'],
    })
    return answer()
  },
})
const url = `http://127.0.0.1:${upstream.port}/v1`

let app: SessionApp
const agents = {
  '.svc/runtime/agents/thrifty.md': '---\ndescription: d\nmodel: small # the cheap one\n---\nBe brief.\n',
  '.svc/runtime/agents/plan.md': "---\nmodel: 'small'\n---\nPlan.\n",
  '.svc/runtime/agents/lost.md': '---\nmodel: "gone"\n---\nBe lost.\n',
}
beforeAll(async () => {
  app = await makeSessionApp({ configure: { model: null }, files: { 'README.md': 'hello\n', ...agents } })
}, 120_000)
beforeEach(async () => {
  answer = () => Response.json({ choices: [{ message: { role: 'assistant', content: 'ok' } }] })
  await app.request('DELETE', '/v1/models/upstream')
  asked.length = 0
})
afterAll(async () => {
  await app.close()
  await upstream.stop(true)
})

interface Refusal {
  error: string
  code: string
  hint: string
  models?: string[]
}
const set = (body: object = {}, options: object = {}) =>
  app.request<ModelUpstream & Refusal>('PUT', '/v1/models/upstream', {
    body: { url, key, models: ['big', 'small'], ...body },
    ...options,
  })
const listed = async (of: Pick<SessionApp, 'request'> = app) =>
  (await of.request<{ models: ConfiguredModel[] }>('GET', '/v1/models')).body.models
const saved = async () => (await app.request<ModelUpstream>('GET', '/v1/models/upstream')).body
const prompt = (session: Session, text = 'Go on.') =>
  app.request<Refusal>('POST', app.path(session.session_id, 'prompt'), { body: { text } })

describe('without a model', () => {
  test('refuses work for an agent and says what to set, but starts a session without a prompt', async () => {
    expect(await listed()).toEqual([])
    const refused = await app.create({ initial_prompt: 'Fix it.' })
    expect([refused.status, refused.body.code]).toEqual([409, 'no_model'])
    const { hint } = refused.body as unknown as Refusal
    expect(hint).toContain(`${app.deps.config.publicUrl}/settings/model`)
    expect(hint).toContain('svc self-host env set SVC_LLM_UPSTREAM_URL=')
    const session = await app.running()
    const prompted = await prompt(session)
    expect([prompted.status, prompted.body.code]).toEqual([409, 'no_model'])
    expect((await app.request<{ model: string }>('GET', '/v1/ready', { token: null })).body.model).toBe('none')
    const llm = await app.request<Refusal>('POST', '/v1/llm/chat/completions', {
      token: session.env.SVC_LLM_API_KEY!,
      body: { messages: [] },
    })
    expect([llm.status, llm.body.code]).toEqual([503, 'model_not_configured'])
  })

  test('runs the scripted model of the tour', async () => {
    const session = await app.running({ initial_prompt: 'Show me.', model: scriptedModelName })
    expect((await prompt(session)).status).toBe(202)
  })
})

describe('an owner of the instance', () => {
  test('sets an upstream after one test request; every server uses it, and no reply contains the key', async () => {
    const session = await app.running()
    const other = await app.anotherServer()
    const reply = await set({ url: `${url}/` })
    expect(reply.body).toEqual({
      source: 'saved',
      url,
      shape: 'openai',
      models: ['big', 'small'],
      has_key: true,
      updated_at: expect.any(String),
    } as never)
    expect(asked).toMatchObject([{ path: '/v1/chat/completions', key: `Bearer ${key}`, body: { model: 'big' } }])
    for (const server of [app, other])
      expect(await listed(server)).toEqual([
        { id: 'big', name: 'big', default: true },
        { id: 'small', name: 'small', default: false },
      ])
    expect((await app.create({ initial_prompt: 'Fix it.' })).status).toBe(201)
    // An existing sandbox requests its default, which the gateway maps to the current one.
    const ask = () =>
      other.request('POST', '/v1/llm/chat/completions', {
        token: session.env.SVC_LLM_API_KEY!,
        body: { model: 'default', messages: [] },
      })
    expect((await ask()).status).toBe(200)
    expect(asked.at(-1)).toMatchObject({ key: `Bearer ${key}`, body: { model: 'big' } })
    await set({ key: 'another-key-of-the-operator', models: ['newer'] })
    expect((await ask()).status).toBe(200)
    expect(asked.at(-1)).toMatchObject({ key: 'Bearer another-key-of-the-operator', body: { model: 'newer' } })
    await app.request('DELETE', '/v1/models/upstream')
    expect((await ask()).status).toBe(503)
    const { text } = await app.request('GET', `/v1/accounts/${app.owner.account_id}/audit`)
    expect(text).toContain('model_upstream.set')
    expect(text + reply.text).not.toContain(key)
    const rows = await app.deps.db.selectFrom('model_upstream').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(key)
  })

  test('keeps the key when only the models change, and never for another URL', async () => {
    await set()
    expect((await set({ key: undefined, models: ['small'] })).body).toMatchObject({ has_key: true, models: ['small'] })
    expect(asked.at(-1)!.key).toBe(`Bearer ${key}`)
    const moved = await set({ key: undefined, url: `http://127.0.0.1:${upstream.port}/v2` })
    expect(moved.body.has_key).toBe(false)
    expect(asked.at(-1)!.key).toBeNull()
  })

  test('tests an upstream of the Anthropic API in its own format', async () => {
    answer = () => Response.json({ type: 'message', content: [] })
    expect((await set({ shape: 'anthropic' })).body).toMatchObject({ shape: 'anthropic' })
    expect(asked).toMatchObject([{ path: '/v1/messages', key }])
  })

  test.each([
    [
      'the reason it gives',
      () => Response.json({ error: { message: 'No such model: big' } }, { status: 404 }),
      'No such model: big',
    ],
    ['none of its key', () => new Response(`bad key ${key}`, { status: 401 }), 'contains its key'],
    [
      'none of its key, however it is written',
      () => new Response(`{"error":{"message":"bad \\u006b${key.slice(1)}"}}`, { status: 401 }),
      'contains its key',
    ],
    ['that it is no model API', () => new Response('<html>'), 'did not respond like a model API'],
  ])('reads %s when the upstream refuses, and nothing is saved', async (_what, refusal, reason) => {
    answer = refusal
    const reply = await set()
    expect([reply.status, reply.body.code]).toEqual([422, 'unprocessable'])
    expect(reply.body.error).toContain(reason)
    expect(reply.text).not.toContain(key)
    expect(await saved()).toMatchObject({ source: 'none', url: null, models: [] })
  })

  test('reads that nothing answers at the URL', async () => {
    const reply = await set({ url: 'http://127.0.0.1:1/v1' })
    expect([reply.status, reply.body.error]).toEqual([
      422,
      expect.stringContaining('http://127.0.0.1:1/v1 is unavailable'),
    ])
  })

  test('cannot set an upstream while the environment names a model', async () => {
    await set()
    const { config } = app.deps
    config.model = { url, key: null, name: 'of-the-environment' }
    try {
      const reply = await set()
      expect([reply.status, reply.body.error]).toEqual([409, expect.stringContaining('SVC_LLM_UPSTREAM_URL is set')])
      expect(await listed()).toEqual([{ id: 'of-the-environment', name: 'of-the-environment', default: true }])
      expect(await saved()).toMatchObject({ source: 'environment', has_key: false })
    } finally {
      config.model = null
    }
  })

  test('is the only one who can see or set the upstream', async () => {
    for (const user of [await app.makeUser('admin'), await app.makeUser('owner', 'own')]) {
      const { token } = user
      expect((await set({}, { token })).status).toBe(403)
      for (const method of ['GET', 'DELETE'])
        expect((await app.request(method, '/v1/models/upstream', { token })).status).toBe(403)
    }
    expect(asked).toEqual([])
  })
})

describe('the model of a session', () => {
  const model = async (body: object) => {
    const made = await app.create(body)
    return made.status === 201 ? made.body.model : (made.body as unknown as Refusal)
  }

  test("a session uses a model of the list by its own choice, or else by its agent's file", async () => {
    await set()
    expect(await model({ model: 'small' })).toBe('small')
    expect(await model({})).toBeNull()
    expect(await model({ agent_name: 'thrifty' })).toBe('small')
    expect(await model({ agent_name: 'plan' })).toBe('small')
    expect(await model({ agent_name: 'thrifty', model: 'big' })).toBe('big')
    const session = await app.running({ agent_name: 'thrifty' })
    expect(session.env).toMatchObject({
      SVC_RUNTIME_MODEL: 'small',
      SVC_LLM_MODELS: '{"big":"openai","small":"openai"}',
    })
  })

  test('refuses an unknown model and lists the available ones', async () => {
    await set()
    const unknown = { code: 'model_not_found', models: ['big', 'small'], hint: expect.stringContaining('big, small') }
    expect(await model({ model: 'huge' })).toMatchObject(unknown)
    expect(await model({ agent_name: 'lost' })).toMatchObject({
      ...unknown,
      error: 'The model "gone" that the agent lost chooses is not configured on this server.',
    })
  })
})
