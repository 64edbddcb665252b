import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { scriptedModelName } from '@svc/contract'
import { buildApp } from '../app.ts'
import { makeSessionApp, type RunningSession, secondServer, type SessionApp, until } from '../sessions/testing.ts'

interface Seen {
  path: string
  headers: Headers
  body: string
}

/** The operator's upstream: sends the configured response and records requests. */
const seen: Seen[] = []
let answer: (request: Seen, signal: AbortSignal) => Response | Promise<Response>
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const asked = { path: new URL(request.url).pathname, headers: request.headers, body: await request.text() }
    seen.push(asked)
    return answer(asked, request.signal)
  },
})

let app: SessionApp
let session: RunningSession
let key: string
beforeAll(async () => {
  app = await makeSessionApp({
    configure: {
      model: { url: `http://127.0.0.1:${upstream.port}/v1`, key: 'operator-key', name: 'big-model' },
      modelNames: ['another'],
    },
  })
  session = await app.running()
  key = session.env.SVC_LLM_API_KEY!
}, 120_000)
beforeEach(() => {
  seen.length = 0
  answer = () => Response.json({ choices: [] })
})
afterAll(async () => {
  await app.close()
  await upstream.stop(true)
})

interface OpenAiError {
  error: { message: string; type: string; code: string }
}
const body = {
  model: 'big-model',
  messages: [{ role: 'user', content: 'grüße' }],
  stream: true,
  odd: { kept: [1, null] },
}
const complete = (more: object = {}, token = key) =>
  app.request<OpenAiError>('POST', '/v1/llm/chat/completions', { token, body, ...more })

/** The streaming response, which `app.request` would read to its end. */
async function stream(signal?: AbortSignal): Promise<Response> {
  const { publicUrl } = app.deps.config
  return buildApp(app.deps).request(`${publicUrl}/v1/llm/chat/completions`, {
    method: 'POST',
    headers: { host: new URL(publicUrl).host, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })
}

describe('requests to the model upstream', () => {
  test("sends the agent's request with the server's key and nothing of the sandbox's credentials", async () => {
    await complete({ headers: { cookie: 'a=b', 'x-svc-user-context': 'x', 'x-forwarded-for': '1.2.3.4' } })
    expect(seen).toHaveLength(1)
    const [asked] = seen
    expect(asked!.path).toBe('/v1/chat/completions')
    // Only the usage count is requested in addition.
    expect(JSON.parse(asked!.body)).toEqual({ ...body, stream_options: { include_usage: true } })
    expect(asked!.headers.get('authorization')).toBe('Bearer operator-key')
    const text = JSON.stringify([...asked!.headers]) + asked!.body
    for (const hidden of [key, session.env.SVC_TOKEN!, session.env.SVC_CLI_TOKEN!, 'svc_', 'cookie', '1.2.3.4'])
      expect(text).not.toContain(hidden)
  })

  test('streams the reply unchanged and without delay', async () => {
    const parts = ['data: {"a":"ü"}\n\n', 'data: {"b":1}\r\n\r\n', ': comment\n\n', 'data: [DONE]\n\n']
    let push: (part: string | null) => void = () => {}
    answer = () =>
      new Response(
        new ReadableStream<Uint8Array>({
          start(controller) {
            push = (part) => (part === null ? controller.close() : controller.enqueue(new TextEncoder().encode(part)))
            push(parts[0]!)
          },
        }),
        { headers: { 'content-type': 'text/event-stream', 'set-cookie': 'a=b', server: 'secret/1.0' } },
      )
    const response = await stream()
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect([response.headers.get('set-cookie'), response.headers.get('server')]).toEqual([null, null])
    const reader = response.body!.getReader()
    let read = ''
    for (const [index, part] of parts.entries()) {
      // The next event is sent only after this one arrived.
      if (index > 0) push(part)
      const before = read.length
      while (read.length < before + part.length) {
        const { value, done } = await reader.read()
        if (done) throw new Error('The stream ended early.')
        read += Buffer.from(value).toString('latin1')
        if (Buffer.from(read, 'latin1').toString('utf8').length >= parts.slice(0, index + 1).join('').length) break
      }
    }
    push(null)
    expect(Buffer.from(read, 'latin1').toString('utf8')).toBe(parts.join(''))
    expect((await reader.read()).done).toBeTrue()
  })

  test('aborts the request when the agent disconnects', async () => {
    let isAborted = false
    answer = (_, signal) => {
      signal.addEventListener('abort', () => (isAborted = true))
      return new Response(
        new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(': begun\n\n')) }),
      )
    }
    const aborting = new AbortController()
    const response = await stream(aborting.signal)
    const reader = response.body!.getReader()
    await reader.read()
    aborting.abort()
    await reader.cancel().catch(() => {})
    await until('the upstream request is aborted', () => isAborted)
  })

  test("passes on an error of the upstream that the agent's client understands", async () => {
    for (const status of [400, 404, 429, 500, 503]) {
      answer = () => Response.json({ error: { message: `no ${status}` } }, { status })
      const reply = await complete()
      expect([reply.status, reply.body.error.message]).toEqual([status, `no ${status}`])
    }
  })

  test.each([401, 403])(
    "reports a refused server key (%d) as a server error, without the upstream's message",
    async (status) => {
      answer = () => Response.json({ error: { message: 'operator-key is not valid' } }, { status })
      const reply = await complete()
      expect(reply.status).toBe(502)
      expect(reply.body.error).toMatchObject({ code: 'model_upstream_failed', message: expect.stringContaining('key') })
      expect(reply.text).not.toContain('operator-key')
    },
  )

  test("withholds a reply that repeats the server's key, in an error, a reply and a stream", async () => {
    const sentence = 'The response of the model upstream contains its key, so it is not shown.'
    for (const form of ['operator-key', btoa('operator-key'), Buffer.from('operator-key').toString('hex')]) {
      const words = { error: { message: `${'x'.repeat(70_000)} you sent ${form}` } }
      answer = () => Response.json(words, { status: 400 })
      const refused = await complete()
      expect([refused.status, refused.body.error.message]).toEqual([400, sentence])
      answer = () => Response.json(words)
      const answered = await complete()
      expect([answered.status, answered.body.error.message]).toEqual([502, sentence])
      const event = new TextEncoder().encode(`data: ${JSON.stringify(words)}\n\n`)
      answer = () => new Response(cut(event), { headers: { 'content-type': 'text/event-stream' } })
      const streamed = await (await stream(new AbortController().signal)).text()
      expect(streamed).toContain(sentence)
      expect(refused.text + answered.text + streamed).not.toContain(form)
    }
    // A part of the key is ordinary text.
    answer = () => Response.json({ error: { message: 'operator-ke' } }, { status: 400 })
    expect((await complete()).body.error.message).toBe('operator-ke')
  })

  test('follows no redirect of the upstream', async () => {
    answer = () => Response.redirect('http://127.0.0.1:1/elsewhere', 302)
    const reply = await complete()
    expect(reply.status).toBe(502)
    expect(reply.body.error.code).toBe('model_upstream_failed')
    expect(seen).toHaveLength(1)
  })

  test('reports an HTML error page of the upstream without its content', async () => {
    answer = () => new Response('<html>nginx/1.0</html>', { status: 500, headers: { 'content-type': 'text/html' } })
    const reply = await complete()
    expect(reply.status).toBe(502)
    expect(reply.body.error).toMatchObject({ code: 'model_upstream_failed', message: expect.stringContaining('500') })
    expect(reply.text).not.toContain('nginx')
  })

  test('reports an unreachable upstream in the format of the client', async () => {
    const away = await makeSessionApp({ configure: { model: { url: 'http://127.0.0.1:1/v1', key: null, name: 'm' } } })
    try {
      const { env } = await away.running()
      const reply = await away.request<OpenAiError>('POST', '/v1/llm/chat/completions', {
        token: env.SVC_LLM_API_KEY!,
        body,
      })
      expect(reply.status).toBe(502)
      expect(reply.body.error).toEqual({
        message: 'The model upstream is unavailable.',
        type: 'model_upstream_failed',
        code: 'model_upstream_failed',
      })
      expect(reply.headers.get('x-request-id')).toBeString()
    } finally {
      await away.close()
    }
  })
})

describe('the key of a sandbox', () => {
  test('refuses the key of a stopped sandbox with 401, without a request to the upstream', async () => {
    const stopped = await app.running()
    await app.request('POST', app.path(stopped.session_id, 'stop'))
    const reply = await complete({}, stopped.env.SVC_LLM_API_KEY!)
    expect(reply.status).toBe(401)
    expect(reply.body.error).toMatchObject({ code: 'unauthenticated', message: expect.any(String) })
    expect(seen).toEqual([])
  })

  test('refuses the key of an earlier generation with 401', async () => {
    const restarted = await app.running()
    await app.request('POST', app.path(restarted.session_id, 'restart'))
    await app.reaches(restarted.session_id, 'running')
    expect((await complete({}, restarted.env.SVC_LLM_API_KEY!)).status).toBe(401)
  })

  test('refuses the key of a removed member with their name and the way on', async () => {
    const creator = await app.makeUser('member')
    const { session_id: sessionId, env } = await app.running({}, { token: creator.token })
    const token = env.SVC_LLM_API_KEY!
    const ask = (path: string) => app.request<OpenAiError>('POST', path, { token, body })
    const paths = ['/v1/llm/chat/completions', '/v1/llm/messages']
    expect((await Promise.all(paths.map(ask))).map(({ status }) => status)).not.toContain(403)
    const calls = seen.length
    await app.request('DELETE', `/v1/accounts/${app.owner.account_id}/members/${creator.user_id}`)
    for (const path of paths) {
      const { status, body: refused } = await ask(path)
      expect([status, refused.error.code, refused.error.message]).toEqual([
        403,
        'forbidden',
        `This session acts for A member, who is no longer a member of the account of this project. A member goes on with it in their own name: svc sessions restart ${sessionId}`,
      ])
    }
    expect((await app.request('GET', '/v1/llm/models', { token })).status).toBe(403)
    expect(seen).toHaveLength(calls)
    await app.request('POST', app.path(sessionId, 'restart'))
    const { sandbox } = await app.reaches(sessionId, 'running')
    const next = app.driver.seen(sandbox!.sandbox_id)!.spec.env.SVC_LLM_API_KEY!
    expect((await complete({}, next)).status).toBe(200)
  })

  test('lists the available models', async () => {
    const list = async (token: string) => (await app.request('GET', '/v1/llm/models', { token })).body
    expect(await list(key)).toEqual({
      object: 'list',
      data: ['big-model', 'another'].map((id) => ({ id, object: 'model', owned_by: 'svc' })),
    })
    const own = await app.running({ model: 'svc/another' })
    expect(await list(own.env.SVC_LLM_API_KEY!)).toMatchObject({
      data: [{ id: 'another' }, { id: 'big-model' }],
    })
  })
})

test('a server that stops refuses the calls of sandboxes that it does not follow, so that they ask the next one', async () => {
  const left = await makeSessionApp({ outlives: true })
  const next = await secondServer(left, {}, { sandboxes: left.deps.sandboxes })
  try {
    const token = (await left.running()).env.SVC_LLM_API_KEY!
    const ask = () => next.request<OpenAiError>('POST', '/v1/llm/chat/completions', { token, body })
    const early = ask()
    await next.deps.sessions.close({ endsSandboxes: false })
    for (const { status, headers, body: refused } of [await early, await ask()])
      expect([status, headers.get('retry-after'), refused.error.message]).toEqual([
        503,
        '2',
        'This server is stopping.',
      ])
  } finally {
    await next.close()
    await left.close()
  }
})

describe('the body of a model request', () => {
  test.each([
    ['{', 400],
    ['', 400],
    ['[]', 400],
    ['{"messages":"x"}', 400],
    ['['.repeat(50_000), 400],
  ])('refuses invalid body %# in the format of the client', async (text, status) => {
    const reply = await complete({ body: text })
    expect(reply.status).toBe(status)
    expect(reply.body.error).toMatchObject({ code: 'invalid', message: expect.any(String) })
    expect(seen).toEqual([])
  })

  test('allows larger bodies than the API, up to a limit', async () => {
    const long = (bytes: number) => JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(bytes) }] })
    expect((await complete({ body: long(4 * 1024 * 1024) })).status).toBe(200)
    const reply = await complete({ body: long(33 * 1024 * 1024) })
    expect([reply.status, reply.body.error.code]).toEqual([413, 'body_too_large'])
    expect(seen).toHaveLength(1)
  })
})

describe('without an upstream', () => {
  test('says that no model is configured, except to the scripted model, which answers itself', async () => {
    const bare = await makeSessionApp({ configure: { model: null } })
    try {
      const plain = await bare.running()
      // The gateway exists anyway, because a model may be set while the sandbox runs.
      expect(plain.env).toMatchObject({ SVC_LLM_API_KEY: expect.any(String), SVC_LLM_BASE_URL: expect.any(String) })
      expect(plain.env.SVC_RUNTIME_MODEL).toBeUndefined()
      const scripted = await bare.running({ model: scriptedModelName })
      expect(scripted.env.SVC_LLM_BASE_URL).toBeString()
      const reply = await bare.request<{ object?: string; choices?: { message: { role: string } }[] }>(
        'POST',
        '/v1/llm/chat/completions',
        { token: scripted.env.SVC_LLM_API_KEY!, body: { model: scriptedModelName, messages: body.messages } },
      )
      expect([reply.status, reply.body.choices?.[0]?.message.role]).toEqual([200, 'assistant'])
      await bare.deps.db
        .updateTable('project_sessions')
        .set({ model: null })
        .where('session_id', '=', scripted.session_id)
        .execute()
      const none = await bare.request<OpenAiError>('POST', '/v1/llm/chat/completions', {
        token: scripted.env.SVC_LLM_API_KEY!,
        body,
      })
      expect([none.status, none.body.error.code]).toEqual([503, 'model_not_configured'])
      expect(none.headers.get('retry-after')).toBeString()
    } finally {
      await bare.close()
    }
  })
})

/** Cut in the middle of the content. */
const cut = (bytes: Uint8Array) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes.slice(0, -20))
      controller.enqueue(bytes.slice(-20))
      controller.close()
    },
  })
