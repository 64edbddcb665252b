/**
 * Agents at work while their server stops, is killed, is upgraded and comes back: in the middle of a model's answer, of
 * a command, of a page that a person looks at, of a question. None of them loses its turn. An app and checks go on, too.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFile, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { App, AppLogLine, ChangeRequestChecks, CheckLogLine, Question, Session } from '@svc/contract'
import { completion } from '../../packages/server/src/models/scripted/chat-format.ts'
import { type ChatRequest, nextMove } from '../../packages/server/src/models/scripted/scripted.ts'
import { processesWith } from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { look } from '../torture/apps/ingress.ts'
import { gatewayOf, git, program, removeFolder, root, Server, until } from './harness.ts'

setDefaultTimeout(900_000)

/** In the command line of the check that ends while no server is there. */
const briefly = `10.${process.pid}`
const ticksMax = 160
const manifest = `[[apps]]
slug = "site"
command = "BUN_BE_BUN=1 exec svc app.mjs"

[[checks]]
name = "ticks"
command = "for tick in $(seq ${ticksMax}); do echo tick-$tick; sleep 0.5; done"

[[checks]]
name = "brief"
command = "echo brief-began; sleep ${briefly}; echo brief-ended; exit 7"
`
/** Answers with an id of its process, and logs each path once. */
const app = `const id = crypto.randomUUID()
Bun.serve({ port: Number(process.env.PORT), hostname: '127.0.0.1', fetch(request) {
  const { pathname } = new URL(request.url)
  if (pathname !== '/') console.log('asked for ' + pathname)
  return new Response(id)
} })
`

const files = {
  'svc.toml': manifest,
  'app.mjs': app,
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

const appOf = () => read<App>('/apps/site')

/** Opens the app as a member's browser does. Its answer names its process. */
async function askApp(path: string): Promise<string> {
  const { url } = await server.send<{ url: string }>('GET', `/v1/projects/${project}/apps/site/open`)
  const { cookie } = await look(url, null)
  return until(`the app to answer ${path}`, async () => {
    const { status, text } = await look(new URL(path, (await appOf()).url).href, cookie)
    return status === 200 ? text : null
  })
}

async function checkOf(name: string) {
  const { checks } = await read<ChangeRequestChecks>(`/change-requests/${changeRequest}/checks`)
  const check = checks.find((each) => each.name === name)
  if (check?.run_id == null) return null
  const path = `/change-requests/${changeRequest}/checks/${check.run_id}/log`
  const { lines } = await read<{ lines: CheckLogLine[] }>(path)
  const output = lines.filter(({ stream }) => stream === 'output').map(({ text }) => text)
  return { ...check, output, starts: lines.filter(({ text }) => text.startsWith('attempt ')).length }
}

const checkWrites = (name: string, line: string) =>
  until(`the check ${name} to write ${line}`, async () => (await checkOf(name))?.output.includes(line))

let changeRequest: string
let appProcess: string

test('an app and checks begin', async () => {
  await until('the app', async () => (await appOf()).state === 'running')
  appProcess = await askApp('/first')
  const tree = join(server.dir, 'tree')
  await git(tree, 'checkout', '--quiet', '-b', 'proposed')
  await Bun.write(join(tree, 'proposed.txt'), 'proposed\n')
  await git(tree, 'add', '.')
  await git(tree, 'commit', '--quiet', '-m', 'Propose')
  await git(tree, 'push', '--quiet', gatewayOf(server, { project_id: project }), 'proposed')
  await git(tree, 'checkout', '--quiet', 'main')
  const cr = await server.json<{ cr_id: string }>([
    ...['cr', 'open', '--title', 'Proposed', '--head', 'proposed', '--project', project],
  ])
  changeRequest = cr.cr_id
  await checkWrites('ticks', 'tick-1')
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
  expect(await askApp('/')).toBe(appProcess)
  const check = await checkOf('ticks')
  expect([check?.starts, check?.reason]).toEqual([1, null])
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
  expect(server.output).toMatch(/10 sessions, 1 app, and [12] checks? go on without the server/)
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
  await until('the brief check to end', async () => (await checkOf('brief'))?.status === 'failed')
  await server.send('POST', `/v1/projects/${project}/change-requests/${changeRequest}/checks/rerun`, { name: 'brief' })
  await checkWrites('brief', 'brief-began')
  await askApp('/second')
  expect(await server.kill('SIGTERM')).toBe(0)
  // A file of its own, as every build is; the packages that come along are found beside it.
  const upgraded = join(server.dir, 'upgraded')
  await mkdir(join(upgraded, 'dist'), { recursive: true })
  await copyFile(program, join(upgraded, 'dist/svc'))
  await symlink(join(root, 'node_modules'), join(upgraded, 'node_modules'))
  await until('the brief check to end without a server', () => processesWith(briefly).length === 0)
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

test('an app and checks have every line of their logs once, and a check that ended alone its result', async () => {
  const brief = await until('the result', async () => {
    const found = await checkOf('brief')
    return found?.status === 'failed' ? found : null
  })
  expect([brief.attempt, brief.exit_code, brief.output, brief.starts]).toEqual([
    ...[2, 7, ['brief-began', 'brief-ended'], 1],
  ])
  const ticks = await until('all ticks', async () => {
    const found = await checkOf('ticks')
    return found?.status === 'passed' ? found : null
  })
  expect(ticks.output).toEqual(Array.from({ length: ticksMax }, (_, index) => `tick-${index + 1}`))
  expect(ticks.starts).toBe(1)
  await askApp('/third')
  const asked = await until('the last line of the app', async () => {
    const { lines } = await read<{ lines: AppLogLine[] }>('/apps/site/logs')
    const asked = lines.filter(({ text }) => text.startsWith('asked for')).map(({ text }) => text)
    return asked.includes('asked for /third') ? asked : null
  })
  expect(asked).toEqual(['asked for /first', 'asked for /second', 'asked for /third'])
})

test('a stop with its sessions ends every sandbox, also of the app', async () => {
  const ran = await server.svc(['self-host', 'stop', '--sessions'], { env: server.env })
  expect(ran.stdout).toContain('stops with its sessions, apps and checks')
  await server.exited
  expect(processesWith(server.dir)).toEqual([])
})
