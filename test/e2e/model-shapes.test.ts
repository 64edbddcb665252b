/** The real runtime in a real sandbox, with a model whose upstream speaks the messages API of Anthropic. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  asChat,
  messagesAnswer,
  type MessagesRequest,
} from '../../packages/server/src/models/scripted/anthropic-format.ts'
import { nextMove } from '../../packages/server/src/models/scripted/scripted.ts'
import { makeFirstCommit, Server, until } from './harness.ts'

setDefaultTimeout(300_000)
const perCall = { in: 1000, out: 10 }

interface Asked {
  path: string
  key: string | null
  version: string | null
  body: MessagesRequest & { max_tokens?: number }
}
const asked: Asked[] = []
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const body = (await request.json()) as Asked['body']
    const { headers, url } = request
    asked.push({
      path: new URL(url).pathname,
      key: headers.get('x-api-key'),
      version: headers.get('anthropic-version'),
      body,
    })
    const reply = messagesAnswer(
      { ...nextMove(asChat(body)), model: 'claude-test', stream: body.stream === true },
      perCall,
    )
    return body.stream === true ? new Response(inPieces(await reply.text()), reply) : reply
  },
})

/** As a network brings it: the ends of pieces are not the ends of events. */
function inPieces(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, (at += 97)))
    },
  })
}

let server: Server
let folder: string
let project: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-shapes-'))
  const upstreams = [
    { name: 'other', url: 'http://127.0.0.1:9/v1', keys: ['never-asked'], models: ['gpt-*'] },
    {
      name: 'claude',
      url: `http://127.0.0.1:${upstream.port}/v1`,
      shape: 'anthropic',
      keys: ['key-of-the-operator'],
      models: ['claude-test', 'claude-*'],
    },
  ]
  const file = join(folder, 'upstreams.json')
  await writeFile(file, JSON.stringify({ upstreams }), { mode: 0o600 })
  server = await Server.start({ SVC_LLM_UPSTREAMS_FILE: file })
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'shapes'])).project_id
  await makeFirstCommit(server, project)
})
afterAll(async () => {
  await server?.end()
  await upstream.stop(true)
  await rm(folder, { recursive: true, force: true })
})

const script = [
  'Do this.',
  '',
  '```svc-script',
  'echo "key is ${SVC_LLM_API_KEY:0:4}, shape is $SVC_LLM_SHAPE"',
  '@read {"filePath": "/workspace/a.txt"}',
  'echo b > b.txt && git add . && git commit -qm "Add b" && git push -q origin HEAD',
  'svc cr open --title "Add b"',
  '```',
].join('\n')

test('the runtime uses the API format of its model: it streams, calls tools, and its usage is counted', async () => {
  const of = ['--project', project]
  const args = ['sessions', 'new', '--no-wait', '--prompt', script, ...of]
  const { session_id: session } = await server.json<{ session_id: string }>(args)
  const said = await until('the script to end', async () => {
    const { messages } = (await (
      await server.api(`/v1/projects/${project}/sessions/${session}/transcript`)
    ).json()) as {
      messages: { role: string; parts: object[] }[]
    }
    const info = await server.json<{ session: { error: string | null } }>(['sessions', 'info', session, ...of])
    if (info.session.error !== null) throw new Error(info.session.error)
    const text = JSON.stringify(messages.filter(({ role }) => role === 'assistant'))
    if (text.includes('I stop here')) throw new Error(text)
    return text.includes('All 4 commands of the script ran') && text
  })
  expect(said).toContain('shape is anthropic')
  const crs = await server.json<object>(['cr', 'ls', ...of])
  expect(crs).toMatchObject({ change_requests: [{ title: 'Add b', status: 'open', origin_session_id: session }] })

  const turns = asked.filter(({ body }) => (body.tools ?? []).length > 0)
  expect(turns.length).toBe(5)
  for (const { path, key, version, body } of turns) {
    expect([path, key, version]).toEqual(['/v1/messages', 'key-of-the-operator', '2023-06-01'])
    expect(body).toMatchObject({ model: 'claude-test', stream: true, max_tokens: expect.any(Number) })
    // Tools of the runtime and of the service, in the words of that shape.
    expect(body.tools!.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['bash', 'read', 'svc_list_change_requests']),
    )
  }
  // The answers of tools came back as their results, including the last one, of a call that no shell made.
  const results = JSON.stringify(turns.at(-1)!.body.messages)
  expect(results).toContain('tool_result')
  expect(results).toContain('key is svc_')
  // Nothing of the sandbox's own keys went out.
  expect(JSON.stringify(asked.map(({ key }) => key))).not.toContain('svc_')

  const usage = await until('all calls to be counted', async () => {
    const found = (await (await server.api(`/v1/projects/${project}/sessions/${session}/usage`)).json()) as {
      models?: object
    }
    return JSON.stringify(found).includes(`"calls":${asked.length}`) && found
  })
  expect(JSON.stringify(usage)).toContain(`"tokens_in":${asked.length * perCall.in}`)
  expect(JSON.stringify(usage)).toContain(`"tokens_out":${asked.length * perCall.out}`)
})
