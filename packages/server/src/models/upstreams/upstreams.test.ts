/** Several upstreams in both formats with their SDKs: failing keys, interrupted responses, usage and caps. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ExaminedGroup, scriptedModelName, type Usage } from '@svc/contract'
import { buildApp } from '../../app.ts'
import { parseConfig } from '../../config.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../../sessions/testing.ts'
import { reconcileOrphaned } from '../usage/budget.ts'

interface Asked {
  host: 'one' | 'two' | 'claude'
  path: string
  key: string | null
  version: string | null
  body: Record<string, unknown>
}

const asked: Asked[] = []
let answer: (request: Asked) => Response | Promise<Response>
function serve(host: Asked['host']) {
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { headers } = request
      const key = headers.get('x-api-key') ?? headers.get('authorization')?.replace('Bearer ', '') ?? null
      const seen = {
        host,
        path: new URL(request.url).pathname,
        key,
        version: headers.get('anthropic-version'),
        body: (await request.json()) as Record<string, unknown>,
      }
      asked.push(seen)
      return answer(seen)
    },
  })
}
const [one, two, claude] = [serve('one'), serve('two'), serve('claude')]

let app: SessionApp
let session: RunningSession
let folder: string
let file: string

const listed = (keys: string[]) =>
  JSON.stringify({
    upstreams: [
      { name: 'one', url: `http://127.0.0.1:${one.port}/v1`, keys, models: ['gpt-large', 'small-*'] },
      { name: 'two', url: `http://127.0.0.1:${two.port}/v1`, keys: ['key-of-two'], models: ['small-*'] },
      {
        name: 'claude',
        url: `http://127.0.0.1:${claude.port}/v1`,
        shape: 'anthropic',
        keys: ['key-of-claude'],
        models: ['claude-*'],
      },
    ],
  })

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-upstreams-'))
  file = join(folder, 'upstreams.json')
  await writeFile(file, listed(['first-key', 'second-key']))
  const { model, modelUpstreams } = parseConfig({ SVC_LLM_UPSTREAMS_FILE: file })
  expect(model?.name).toBe('gpt-large')
  app = await makeSessionApp({ configure: { model, modelUpstreams, modelCallsPerMinute: 100_000 } })
}, 120_000)
beforeEach(async () => {
  asked.length = 0
  session = await app.running()
  answer = ({ host }) => (host === 'claude' ? claudeSays() : openAiSays())
})
afterAll(async () => {
  await app.close()
  await Promise.all([one.stop(true), two.stop(true), claude.stop(true)])
  await rm(folder, { recursive: true, force: true })
})

const sse = (events: (object | string)[], named = false) =>
  events
    .map((event) => {
      const name = named && typeof event === 'object' ? `event: ${(event as { type: string }).type}\n` : ''
      return `${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`
    })
    .join('')
const stream = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } })
const word = (content: string) => ({ id: 'c', choices: [{ index: 0, delta: { content } }] })
const counted = { id: 'c', choices: [], usage: { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 } }
const openAiSays = () => stream(sse([word('Hel'), word('lo'), counted, '[DONE]']))
const claudeEvents = [
  {
    type: 'message_start',
    message: { id: 'm', usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 1 } },
  },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello there' } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 25 } },
  { type: 'message_stop' },
]
const claudeSays = () => stream(sse(claudeEvents, true))

const messages = [{ role: 'user', content: 'hello' }]
async function call(path: string, body: object, headers: Record<string, string> = {}, of = session) {
  const { publicUrl } = app.deps.config
  const response = await buildApp(app.deps).request(`${publicUrl}/v1/llm${path}`, {
    method: 'POST',
    headers: {
      host: new URL(publicUrl).host,
      'content-type': 'application/json',
      ...(headers['x-api-key'] === undefined ? { authorization: `Bearer ${of.env.SVC_LLM_API_KEY}` } : {}),
      ...headers,
    },
    body: JSON.stringify({ messages, ...body }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
const chat = (body: object = {}, of = session) =>
  call('/chat/completions', { model: 'gpt-large', stream: true, ...body }, {}, of)

async function usageOf(path = app.path(session.session_id, 'usage')): Promise<Usage> {
  const reply = await app.request<Usage>('GET', path)
  expect(reply.status).toBe(200)
  return reply.body
}
const settled = (calls: number) =>
  until('the calls are counted', async () => {
    const open = await app.deps.db.selectFrom('model_reservations').select('reservation_id').execute()
    const usage = await usageOf()
    return open.length === 0 && usage.totals.calls >= calls ? usage : null
  })

describe('choosing an upstream', () => {
  test("chooses an upstream by API format and model, and sends that upstream's key", async () => {
    await chat()
    await chat({ model: 'small-2' })
    await call('/messages', { model: 'claude-x', max_tokens: 100, stream: true }, { 'anthropic-version': '2023-06-01' })
    expect(asked.map(({ host, path, key }) => [host, path, key])).toEqual([
      ['one', '/v1/chat/completions', 'first-key'],
      ['one', '/v1/chat/completions', 'first-key'],
      ['claude', '/v1/messages', 'key-of-claude'],
    ])
  })

  test('refuses a model of the other API format, in the format of the client', async () => {
    const openAi = await chat({ model: 'claude-x' })
    expect([openAi.status, JSON.parse(openAi.text).error.code]).toEqual([404, 'not_found'])
    const anthropic = await call('/v1/messages', { model: 'gpt-large', max_tokens: 9 })
    expect(anthropic.status).toBe(404)
    expect(JSON.parse(anthropic.text)).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
    const stranger = await call('/messages', { model: 'claude-x' }, { 'x-api-key': 'svc_llm_nobody' })
    expect([stranger.status, JSON.parse(stranger.text).error.type]).toEqual([401, 'authentication_error'])
    expect(asked).toEqual([])
  })

  test('tries the next key, then the next upstream, when a key is refused or rate-limited', async () => {
    answer = ({ key }) =>
      key === 'first-key'
        ? Response.json({ error: { message: 'first-key is revoked' } }, { status: 401 })
        : key === 'second-key'
          ? Response.json({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '7' } })
          : openAiSays()
    expect((await chat({ model: 'small-1' })).status).toBe(200)
    expect(asked.map(({ key }) => key)).toEqual(['first-key', 'second-key', 'key-of-two'])
    const enough = await chat()
    expect([enough.status, enough.headers.get('retry-after')]).toEqual([429, '7'])
    expect(enough.text).not.toContain('first-key')
  })

  test('the doctor shows a provider that refused every key at its last call, until it accepts one', async () => {
    const model = async () => {
      const { body } = await app.request<{ groups: ExaminedGroup[] }>('GET', '/v1/doctor')
      return body.groups.flatMap(({ findings }) => findings).find(({ name }) => name === 'model')
    }
    const refusedBy = (keys: string[]) => {
      answer = ({ key }) => (keys.includes(key!) ? Response.json({ error: {} }, { status: 403 }) : openAiSays())
    }
    refusedBy(['first-key'])
    expect((await chat()).status).toBe(200)
    expect(await model()).toMatchObject({ state: 'good' })
    refusedBy(['first-key', 'second-key'])
    expect((await chat()).status).not.toBe(200)
    expect(await model()).toMatchObject({
      state: 'missing',
      says: `http://127.0.0.1:${one.port}/v1 refused the last call of this server (status 403): its key is wrong, or missing`,
      mend: expect.stringContaining('SVC_LLM_UPSTREAM_KEY'),
    })
    refusedBy([])
    expect((await chat()).status).toBe(200)
    expect(await model()).toMatchObject({ state: 'good' })
  })

  test('reloads keys while the server runs, and keeps them when the file is broken', async () => {
    await writeFile(`${file}.next`, listed(['third-key']))
    await rename(`${file}.next`, file)
    await until('the new key is used', async () => {
      await chat()
      return asked.at(-1)?.key === 'third-key'
    })
    await writeFile(`${file}.next`, '{"upstreams": [{"name": "x", "keys": ["leaked-key"]}]}')
    await rename(`${file}.next`, file)
    await chat()
    expect(asked.at(-1)?.key).toBe('third-key')
    await writeFile(file, listed(['first-key', 'second-key']))
  })
})

describe('counting usage', () => {
  test('counts the usage of a stream, and hides it from a client that did not request it', async () => {
    const plain = await chat()
    expect(plain.text).toBe(sse([word('Hel'), word('lo'), '[DONE]']))
    const wants = await chat({ stream_options: { include_usage: true } })
    expect(wants.text).toBe(sse([word('Hel'), word('lo'), counted, '[DONE]']))
    expect((await settled(2)).models).toMatchObject([{ model: 'gpt-large', calls: 2, tokens_in: 240, tokens_out: 60 }])
  })

  test('counts the usage of the Anthropic format, including cached tokens, and passes it on unchanged', async () => {
    const reply = await call(
      '/v1/messages',
      { model: 'claude-x', max_tokens: 100, stream: true },
      { 'x-api-key': session.env.SVC_LLM_API_KEY! },
    )
    expect(reply.text).toBe(sse(claudeEvents, true))
    expect(asked[0]).toMatchObject({ version: '2023-06-01', body: { max_tokens: 100 } })
    expect((await settled(1)).models).toMatchObject([{ model: 'claude-x', calls: 1, tokens_in: 100, tokens_out: 25 }])
  })

  test('counts the usage of replies in one piece', async () => {
    answer = ({ host }) =>
      host === 'claude'
        ? Response.json({ type: 'message', usage: { input_tokens: 5, output_tokens: 6 } })
        : Response.json({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 8 } })
    await chat({ stream: false })
    await call('/messages', { model: 'claude-x', max_tokens: 9 })
    expect((await settled(2)).totals).toMatchObject({ calls: 2, tokens_in: 12, tokens_out: 14 })
  })

  test('estimates the usage of an interrupted stream, and counts nothing for a refusal', async () => {
    answer = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode(sse([word('x'.repeat(400))])))
            controller.close()
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      )
    await chat()
    expect((await settled(1)).totals).toMatchObject({ calls: 1, tokens_out: 100 })
    answer = () => Response.json({ error: { message: 'no' } }, { status: 400 })
    expect((await chat()).status).toBe(400)
    expect((await settled(1)).totals.calls).toBe(1)
  })

  test('adds up the usage of project and account, and keeps it after the session is deleted', async () => {
    await chat()
    await settled(1)
    const project = `/v1/projects/${app.project.project_id}/usage`
    const account = `/v1/accounts/${app.owner.account_id}/usage`
    const [ofProject, ofAccount] = [await usageOf(project), await usageOf(account)]
    expect(ofProject.totals.calls).toBeGreaterThan(0)
    expect(
      ofProject.sandboxes.some(({ session_id, seconds }) => session_id === session.session_id && seconds > 0),
    ).toBeTrue()
    await app.request('DELETE', app.path(session.session_id))
    const after = await usageOf(account)
    expect(after.totals.tokens_in).toBe(ofAccount.totals.tokens_in)
    expect(after.sandboxes.some(({ session_id }) => session_id === session.session_id)).toBeTrue()
  })

  test('counts the known usage of calls whose server died', async () => {
    let release: () => void = () => {}
    answer = () => new Promise((resolve) => (release = () => resolve(openAiSays())))
    const calling = chat()
    await until('the call is under way', () => asked.length > 0)
    await app.deps.db
      .updateTable('model_reservations')
      .set({ instance_id: session.session_id, created_at: new Date(0) })
      .execute()
    await reconcileOrphaned(app.deps, 20)
    const { totals } = await settled(1)
    expect([totals.calls, totals.tokens_in > 0]).toEqual([1, true])
    release()
    await calling
    expect((await settled(1)).totals).toEqual(totals)
  })
})

describe('spend caps', () => {
  const cap = (settings: object) =>
    app.request('PATCH', `/v1/projects/${app.project.project_id}`, { body: { settings } })

  test("a session at its cap stops with the reason in the client's format and stays readable", async () => {
    expect((await cap({ model_tokens_per_session: 1_000 })).status).toBe(200)
    try {
      answer = () => stream(sse([{ ...counted, usage: { prompt_tokens: 600, completion_tokens: 390 } }]))
      expect((await chat()).status).toBe(200)
      // No more output than the cap leaves.
      expect(Number(asked[0]!.body.max_completion_tokens)).toBeLessThan(1_000)
      await settled(1)
      const refused = await call('/messages', { model: 'claude-x', max_tokens: 100 })
      expect(refused.status).toBe(403)
      expect(JSON.parse(refused.text)).toMatchObject({
        type: 'error',
        error: { type: 'permission_error', code: 'spend_cap_reached', message: expect.stringContaining('990 of 1000') },
      })
      const stopped = await app.reaches(session.session_id, 'stopped')
      expect(stopped.error).toContain('The tokens one session of this project may use are spent')
      expect(asked).toHaveLength(1)
      expect((await usageOf()).caps).toEqual([{ scope: 'session', tokens: 1_000, tokens_taken: 990 }])
    } finally {
      await cap({ model_tokens_per_session: null })
    }
    await app.request('POST', app.path(session.session_id, 'restart'))
    expect((await app.reaches(session.session_id, 'running')).error).toBeNull()
  })

  test('holds for concurrent calls', async () => {
    await cap({ model_tokens_per_session: 10_000 })
    try {
      answer = ({ body }) =>
        stream(sse([{ ...counted, usage: { prompt_tokens: 20, completion_tokens: Number(body.max_tokens) } }]))
      const replies = await Promise.all(Array.from({ length: 30 }, () => chat({ max_tokens: 950 })))
      const { totals } = await settled(1)
      expect(totals.tokens_in + totals.tokens_out).toBeLessThanOrEqual(10_000)
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(totals.calls)
      expect(replies.some(({ status }) => status === 403)).toBeTrue()
    } finally {
      await cap({ model_tokens_per_session: null })
    }
  })

  test('only admins set the cap of an account, not agents', async () => {
    const path = `/v1/accounts/${app.owner.account_id}/usage`
    const body = { model_tokens_per_month: 1 }
    const { token } = await app.makeUser('member')
    expect((await app.request('PATCH', path, { token, body })).status).toBe(403)
    expect((await app.request('PATCH', path, { token: session.env.SVC_CLI_TOKEN!, body })).status).toBe(403)
    expect((await app.request('PATCH', path, { body })).status).toBe(200)
    expect((await usageOf(path)).caps).toMatchObject([{ scope: 'account', tokens: 1 }])
    expect((await chat()).status).toBe(403)
    expect((await app.request('PATCH', path, { body: { model_tokens_per_month: null } })).status).toBe(200)
    expect((await usageOf(path)).caps).toEqual([])
  })
})

test('asks a session over the rate limit to wait', async () => {
  const slow = await makeSessionApp({ configure: { modelCallsPerMinute: 1 } })
  try {
    const { env } = await slow.running()
    const ask = () =>
      slow.request('POST', '/v1/llm/chat/completions', { token: env.SVC_LLM_API_KEY!, body: { messages } })
    expect((await ask()).status).toBe(502)
    const second = await ask()
    expect([second.status, Number(second.headers.get('retry-after'))]).toEqual([429, expect.any(Number)])
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
  } finally {
    await slow.close()
  }
})

test('counts calls of the scripted model', async () => {
  const scripted = await app.running({ model: scriptedModelName })
  await call('/chat/completions', { model: scriptedModelName }, {}, scripted)
  const usage = await usageOf(app.path(scripted.session_id, 'usage'))
  expect(usage.totals).toMatchObject({ calls: 1, tokens_in: 0, tokens_out: 0 })
})
