/**
 * Agents at work while their server stops, is killed, is upgraded and comes back: in the middle of a model's answer, of
 * a command, of a page that a person looks at, of a question. None of them loses its turn.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFile, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Question, Session } from '@svc/contract'
import { completion } from '../../packages/server/src/models/scripted/chat-format.ts'
import { type ChatRequest, nextMove } from '../../packages/server/src/models/scripted/scripted.ts'
import { processesWith } from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { gatewayOf, git, program, removeFolder, root, Server, until } from './harness.ts'

setDefaultTimeout(900_000)

const files = {
  'opencode.json': JSON.stringify({ permission: { bash: { '*': 'allow', '*ASKED*': 'ask' } } }),
  'server.mjs': `Bun.serve({ port: 3000, hostname: '127.0.0.1', fetch: () => new Response('a page') })`,
}

/** Streams words for as long as the test wants, and follows the script of a prompt otherwise. */
let isReleased = false
let streams = 0
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const chat = (await request.json()) as ChatRequest
    const last = JSON.stringify(chat.messages.findLast(({ role }) => role === 'user') ?? '')
    if (!chat.stream || !last.includes('TALK'))
      return completion({ ...nextMove(chat), model: 'm', stream: chat.stream === true })
    streams++
    return new Response(talk(request.signal), {
      headers: { 'content-type': 'text/event-stream' },
    })
  },
})

function talk(signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const chunk = (content: string, finish: string | null) => {
    const choices = [{ index: 0, delta: { role: 'assistant', content }, finish_reason: finish }]
    return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices })}\n\n`
  }
  let word = 0
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(400)
      const isOver = isReleased || signal.aborted
      const text = isOver ? `${chunk('the-end', 'stop')}data: [DONE]\n\n` : chunk(`word-${++word} `, null)
      controller.enqueue(encoder.encode(text))
      if (isOver) controller.close()
    },
  })
}

let server: Server
let project: string
beforeAll(async () => {
  server = await Server.start({
    SVC_LLM_UPSTREAM_URL: `http://127.0.0.1:${upstream.port}/v1`,
    SVC_LLM_UPSTREAM_KEY: 'key',
    SVC_LLM_MODEL: 'm',
    SVC_SANDBOX_LEASE_SECONDS: '60',
  })
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'restarts'])).project_id
  const tree = join(server.dir, 'tree')
  await git(server.dir, 'init', '--quiet', '--initial-branch=main', tree)
  for (const [path, text] of Object.entries(files)) await Bun.write(join(tree, path), text)
  await git(tree, 'add', '.')
  await git(tree, 'commit', '--quiet', '-m', 'Begin')
  await git(tree, 'push', '--quiet', gatewayOf(server, { project_id: project }), 'main')
})
afterAll(async () => {
  await upstream.stop(true)
  await server?.svc(['self-host', 'stop', '--sessions'], { env: server.env })
  if (server?.isRunning) await server.exited
  if (server !== undefined) await removeFolder(server.dir)
})

const read = async <T>(path: string) => (await (await server.api(`/v1/projects/${project}${path}`)).json()) as T
const sessionOf = (id: string) => read<Session>(`/sessions/${id}`)
const transcriptOf = async (id: string) => JSON.stringify(await read(`/sessions/${id}/transcript`))
const script = (...lines: string[]) => ['Do this.', '', '```svc-script', ...lines, '```'].join('\n')

async function begin(prompt: string): Promise<string> {
  const args = ['--no-wait', '--prompt', prompt, '--project', project]
  return (await server.json<{ session_id: string }>(['sessions', 'new', ...args])).session_id
}

async function comesTo(id: string, mark: string): Promise<void> {
  await until(
    `session ${id} to come to ${mark}`,
    async () => {
      const { status, error } = await sessionOf(id)
      if (status === 'failed' || status === 'stopped') throw new Error(`The session is ${status}: ${error}`)
      return (await transcriptOf(id)).includes(mark)
    },
    240_000,
  )
}

interface Agents {
  talking: string[]
  running: string[]
  serving: string
  asking: string
  quiet: string
}
let agents: Agents
let sandboxes: Map<string, string | null>
const all = () => [...agents.talking, ...agents.running, agents.serving, agents.asking, agents.quiet]

test('ten agents begin', async () => {
  const serve = 'BUN_BE_BUN=1 setsid nohup /usr/local/bin/svc server.mjs > /tmp/server.log 2>&1 &'
  const wait =
    'for i in $(seq 300); do curl -s -o /dev/null http://127.0.0.1:3000/ && break; sleep 0.1; done; echo "SERVES $((4*10))"'
  const long = script(
    'echo "BEGUN $((10+1))"',
    'until git ls-remote --exit-code origin go > /dev/null 2>&1; do sleep 0.5; done; echo "ENDED $((20+2))"',
  )
  agents = {
    talking: [await begin('TALK to me'), await begin('TALK more'), await begin('TALK on')],
    running: [await begin(long), await begin(long), await begin(long), await begin(long)],
    serving: await begin(script(serve, wait)),
    asking: await begin(script('echo "ASKED $((50+5))"')),
    quiet: await begin(script('echo "QUIET $((60+6))"')),
  }
  for (const id of agents.talking) await comesTo(id, 'word-5')
  for (const id of agents.running) await comesTo(id, 'BEGUN 11')
  await comesTo(agents.serving, 'SERVES 40')
  await comesTo(agents.quiet, 'QUIET 66')
  await until('the question', async () => (await openQuestion()) !== undefined)
  sandboxes = new Map()
  for (const id of all()) sandboxes.set(id, (await sessionOf(id)).sandbox_url)
})

const openQuestion = async () =>
  (await read<{ questions: Question[] }>(`/sessions/${agents.asking}/questions`)).questions.find(
    ({ status }) => status === 'open',
  )

/** Everything goes on in the same sandboxes, and what an agent does reaches a reader again. */
async function expectAllGoOn(streamsBefore: number): Promise<void> {
  for (const id of all()) {
    const session = await until(`session ${id} to run`, async () => {
      const session = await sessionOf(id)
      if (session.status !== 'running') throw new Error(`The session is ${session.status}: ${session.error}`)
      return session
    })
    expect([session.sandbox_url, session.last_turn_error]).toEqual([sandboxes.get(id) ?? null, null])
  }
  await until('the model to be asked again', () => streams >= streamsBefore + agents.talking.length)
  const page = `${sandboxes.get(agents.serving)}/proxy/3000/`
  await until('the page', async () => {
    const reply = await fetch(page, { headers: { authorization: `Bearer ${server.token}` } })
    return (await reply.text()) === 'a page'
  })
  expect(await openQuestion()).toBeDefined()
}

/** Reads the events of a session as a page does, and connects again whenever its stream ends. Answers the longest silence. */
function readEvents(id: string, signal: AbortSignal): () => number {
  let heardAt = performance.now()
  let longest = 0
  const heard = () => {
    longest = Math.max(longest, performance.now() - heardAt)
    heardAt = performance.now()
  }
  void (async () => {
    while (!signal.aborted)
      try {
        const reply = await server.api(`/v1/projects/${project}/sessions/${id}/events`, { signal })
        for await (const _ of reply.body!) heard()
      } catch {
        await Bun.sleep(100)
      }
  })()
  return () => {
    heard()
    return longest
  }
}

test('a graceful stop leaves them at work, and the next start goes on', async () => {
  const before = streams
  const reading = new AbortController()
  const longest = readEvents(agents.talking[0]!, reading.signal)
  expect(await server.kill('SIGTERM')).toBe(0)
  expect(server.output).toContain('10 sessions go on without the server')
  await server.boot()
  await expectAllGoOn(before)
  console.log(`the longest silence of a conversation: ${Math.round(longest())} ms`)
  reading.abort()
})

test('a kill -9 does, too', async () => {
  const before = streams
  await server.kill('SIGKILL')
  await server.boot()
  await expectAllGoOn(before)
})

test('so does an upgrade to another build, in place', async () => {
  const before = streams
  expect(await server.kill('SIGTERM')).toBe(0)
  // A file of its own, as every build is; the packages that come along are found beside it.
  const upgraded = join(server.dir, 'upgraded')
  await mkdir(join(upgraded, 'dist'), { recursive: true })
  await copyFile(program, join(upgraded, 'dist/svc'))
  await symlink(join(root, 'node_modules'), join(upgraded, 'node_modules'))
  await server.boot(join(upgraded, 'dist/svc'))
  await expectAllGoOn(before)
})

test('every turn ends as if nothing had happened', async () => {
  isReleased = true
  const question = (await openQuestion())!
  await server.send(
    'POST',
    `/v1/projects/${project}/sessions/${agents.asking}/questions/${question.question_id}/answer`,
    { answer: 'once' },
  )
  for (const id of agents.running) {
    const prompt = script('echo "PROMPTED $((70+7))"')
    await server.send('POST', `/v1/projects/${project}/sessions/${id}/prompt`, { text: prompt })
  }
  // The agents wait for this branch, over a gateway that was away three times.
  await git(join(server.dir, 'tree'), 'push', '--quiet', gatewayOf(server, { project_id: project }), 'main:go')
  for (const id of agents.talking) await comesTo(id, 'the-end')
  for (const id of agents.running) await comesTo(id, 'ENDED 22')
  for (const id of agents.running) await comesTo(id, 'PROMPTED 77')
  await comesTo(agents.asking, 'ASKED 55')
  for (const id of all()) {
    const session = await until('the turn to end', async () => {
      const found = await read<Session & { is_busy: boolean }>(`/sessions/${id}?include=activity`)
      return found.is_busy ? null : found
    })
    expect([session.status, session.last_turn_error]).toEqual(['running', null])
  }
})

test('a stop with its sessions ends every sandbox', async () => {
  const ran = await server.svc(['self-host', 'stop', '--sessions'], { env: server.env })
  expect(ran.stdout).toContain('stops with its sessions')
  await server.exited
  expect(processesWith(server.dir)).toEqual([])
})
