/** The server's side of a sandbox, small enough to read: git over HTTP, the clone credential, and a model that follows a script. */
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { $ } from 'bun'
import { compile } from '../../packages/server/src/startup/testing-program.ts'

const projectId = '00000000-0000-4000-8000-000000000001'
const token = 'svc_sbx_test'
const password = 'clone-credential'

export interface ModelTurn {
  text?: string
  /** A command for the runtime's bash tool. */
  bash?: string
}

export interface Relay {
  folder: string
  socket: string
  /** The bare repository behind the gateway. */
  origin: string
  /** The answers of the model, turn after turn; after the last one it answers "Done." */
  script: ModelTurn[]
  /** Bodies of the model calls, titles left out. */
  asked: { messages: { role: string; content: unknown }[] }[]
  requests: string[]
  bootEnvironment(extra?: Record<string, string>): Record<string, string>
  close(): Promise<void>
}

export async function startRelayServer(files: Record<string, string> = {}): Promise<Relay> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-e2e-'))
  const origin = join(folder, 'origin.git')
  await makeOrigin(folder, origin, { 'README.md': '# hello\n', ...files })
  const socket = join(folder, 'relay', 'relay.sock')
  await mkdir(dirname(socket))
  const relay: Relay = {
    folder,
    socket,
    origin,
    script: [],
    asked: [],
    requests: [],
    bootEnvironment: (extra = {}) => ({
      SVC_PROJECT_ID: projectId,
      SVC_SESSION_ID: 'session-1',
      SVC_BRANCH_NAME: 'session-1',
      SVC_HEAD_REF: 'session-1',
      SVC_REPO_URL: `http://127.0.0.1:61080/v1/projects/${projectId}/git`,
      SVC_DEFAULT_BRANCH: 'main',
      SVC_BASE_REF: 'main',
      SVC_SERVICE_PORT: '8000',
      SVC_API_URL: 'http://127.0.0.1:61080/v1',
      SVC_AGENT_NAME: 'default',
      SVC_RUNTIME_MODEL: 'scripted',
      SVC_PROJECT_AUTO_CLONE: '1',
      SVC_PROJECT_SECRET_NAMES: '',
      SVC_PROJECT_SECRETS_REVISION: '1',
      SVC_TOKEN: token,
      SVC_CLI_TOKEN: 'svc_pat_test',
      SVC_EXECUTOR_TOKEN: 'svc_pat_test',
      SVC_LLM_API_KEY: 'llm-key',
      SVC_LLM_BASE_URL: 'http://127.0.0.1:61080/v1/llm',
      SVC_SANDBOX_GENERATION: '3',
      SVC_CONFIG_DIR: '.svc/runtime',
      ...extra,
    }),
    close: async () => {
      await server.stop(true)
      await rm(folder, { recursive: true, force: true })
    },
  }
  const server = Bun.serve({
    unix: socket,
    async fetch(req) {
      // CONNECT, which one of the attempts to get out tries.
      if (!URL.canParse(req.url)) return new Response('no', { status: 400 })
      const url = new URL(req.url)
      relay.requests.push(`${req.method} ${url.pathname}`)
      const git = `/v1/projects/${projectId}/git`
      if (url.pathname === `${git}/clone-credential`) return cloneCredential(req)
      if (url.pathname.startsWith(`${git}/`)) return gitOverHttp(req, url, url.pathname.slice(git.length), origin)
      if (url.pathname === '/v1/llm/chat/completions') return model(req, relay)
      return Response.json({ error: 'not here', code: 'not_found' }, { status: 404 })
    },
  })
  await chmod(socket, 0o666)
  return relay
}

async function makeOrigin(folder: string, origin: string, files: Record<string, string>): Promise<void> {
  const tree = join(folder, 'seed')
  await $`git init -q -b main ${tree}`
  for (const [path, text] of Object.entries(files)) {
    await $`mkdir -p ${resolve(tree, path, '..')}`
    await writeFile(join(tree, path), text)
  }
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@t.invalid']
  await $`git -C ${tree} add -A && git -C ${tree} ${identity} commit -q -m start && git -C ${tree} branch session-1`
  await $`git clone -q --bare ${tree} ${origin}`
}

function cloneCredential(req: Request): Response {
  if (req.headers.get('authorization') !== `Bearer ${token}`) return Response.json({ error: 'no' }, { status: 401 })
  const auth = { type: 'basic', username: 'x-access-token', token: password }
  return Response.json({ repo_url: '', auth, expires_at: new Date(Date.now() + 900_000).toISOString() })
}

function gitOverHttp(req: Request, url: URL, path: string, origin: string): Response {
  if (req.headers.get('authorization') !== `Basic ${btoa(`x-access-token:${password}`)}`) {
    return new Response('who?', { status: 401, headers: { 'www-authenticate': 'Basic realm="git"' } })
  }
  const advertise = path === '/info/refs'
  const service = advertise ? url.searchParams.get('service') : path.slice(1)
  if (service !== 'git-upload-pack' && service !== 'git-receive-pack') return new Response('no', { status: 404 })
  const args = ['--stateless-rpc', ...(advertise ? ['--http-backend-info-refs'] : []), origin]
  const gzip = req.headers.get('content-encoding') === 'gzip'
  const body = gzip ? req.body?.pipeThrough(new DecompressionStream('gzip')) : req.body
  const child = Bun.spawn(['git', service.slice('git-'.length), ...args], {
    stdin: advertise ? 'ignore' : (body ?? 'ignore'),
    stdout: 'pipe',
    env: { PATH: '/usr/bin:/bin', GIT_PROTOCOL: req.headers.get('git-protocol') ?? '' },
  })
  const type = `application/x-${service}-${advertise ? 'advertisement' : 'result'}`
  const line = `# service=${service}\n`
  const greeting = `${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`
  const answer = advertise ? new Response(prepended(greeting, child.stdout) as unknown as BodyInit).body : child.stdout
  return new Response(answer, { headers: { 'content-type': type, 'cache-control': 'no-cache' } })
}

async function* prepended(text: string, rest: ReadableStream<Uint8Array>) {
  yield new TextEncoder().encode(text)
  yield* rest
}

async function model(req: Request, relay: Relay): Promise<Response> {
  const body = (await req.json()) as Relay['asked'][number] & { tools?: unknown; model: string }
  const base = { id: 'c', object: 'chat.completion.chunk', created: 1, model: body.model }
  const chunk = (delta: unknown, finish: string | null = null) =>
    `data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  // Without tools it is the runtime looking for a title.
  const turn: ModelTurn = body.tools === undefined ? { text: 'A title' } : (relay.script.shift() ?? { text: 'Done.' })
  if (body.tools !== undefined) relay.asked.push(body)
  let text = ''
  if (turn.text !== undefined) text += chunk({ role: 'assistant', content: turn.text })
  if (turn.bash !== undefined) {
    const call = {
      name: 'bash',
      arguments: JSON.stringify({ command: turn.bash, description: 'scripted', timeout: 300_000 }),
    }
    text += chunk({
      role: 'assistant',
      tool_calls: [{ index: 0, id: `call_${relay.asked.length}`, type: 'function', function: call }],
    })
  }
  text += chunk({}, turn.bash === undefined ? 'stop' : 'tool_calls')
  return new Response(`${text}data: [DONE]\n\n`, { headers: { 'content-type': 'text/event-stream' } })
}

/** The compiled program with nothing but the daemon in it: what a sandbox starts, without waiting for the rest of the service. */
export async function buildDaemonProgram(folder: string): Promise<string> {
  const root = resolve(import.meta.dir, '../..')
  const main = join(folder, 'main.ts')
  const daemon = join(root, 'packages/daemon/src')
  await writeFile(
    main,
    `import { basename } from 'node:path'
if (basename(process.argv0) === 'svc-entrypoint') await (await import('${daemon}/entrypoint.ts')).runEntrypoint()
else await (await import('${daemon}/main.ts')).runAgent(process.argv.slice(2))\n`,
  )
  const program = join(folder, 'svc')
  await compile(main, program)
  return program
}

export function runtimeProgram(): string | null {
  const path = resolve(import.meta.dir, `../../node_modules/opencode-linux-${process.arch}/bin/opencode`)
  return existsSync(path) ? path : null
}
