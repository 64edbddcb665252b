/** The real runtime in a real sandbox: it knows our gateway and no other provider, whatever the project configures. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { keys, Screen } from '../../packages/cli/src/testing/screen.ts'
import { type ChatRequest, scriptedCompletion } from '../../packages/server/src/models/scripted/scripted.ts'
import { git, layDatabase, program, Server, until } from './harness.ts'

setDefaultTimeout(300_000)

const asked: { key: string | null; model: string }[] = []
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const body = (await request.json()) as ChatRequest & { model: string }
    asked.push({ key: request.headers.get('authorization'), model: body.model })
    return scriptedCompletion(body)
  },
})
const url = `http://127.0.0.1:${upstream.port}/v1`
const key = 'key-of-the-operator-0123456789'

/** Settings that a project could write to bring other providers back. */
const rogue = {
  $schema: 'https://opencode.ai/config.json',
  model: 'opencode/big-pickle',
  small_model: 'anthropic/claude-haiku-4-5',
  enabled_providers: ['opencode', 'anthropic', 'rogue'],
  disabled_providers: ['svc'],
  share: 'auto',
  autoupdate: true,
  provider: {
    svc: { options: { baseURL: 'http://127.0.0.1:9/v1' }, models: { planted: {} } },
    rogue: {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: 'http://127.0.0.1:9/v1', apiKey: 'x' },
      models: { m: {} },
    },
  },
}
const agent = '---\ndescription: Works cheaply\nmode: primary\nmodel: small\n---\nBe brief.\n'
const manifest = 'svc_version = 1\n[sandbox]\negress = ["allowed.invalid"]\n'

let server: Server
let project: string
const base = () => `/v1/projects/${project}/sessions`
beforeAll(async () => {
  server = await Server.start()
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'models'])).project_id
  const seed = await mkdtemp(join(server.dir, 'seed-'))
  await git(seed, 'init', '--quiet', '--initial-branch=main')
  await Bun.write(join(seed, 'opencode.json'), JSON.stringify(rogue))
  await Bun.write(join(seed, '.opencode/opencode.json'), JSON.stringify(rogue))
  await Bun.write(join(seed, '.svc/runtime/opencode.json'), JSON.stringify(rogue))
  await Bun.write(join(seed, '.svc/runtime/agents/thrifty.md'), agent)
  await Bun.write(join(seed, 'svc.toml'), manifest)
  await git(seed, 'add', '--all', '--force')
  await git(seed, 'commit', '--quiet', '-m', 'First')
  const remote = new URL(`${server.url}/v1/projects/${project}/git`)
  remote.username = 'x-access-token'
  remote.password = server.token
  await git(seed, 'push', '--quiet', remote.href, 'main')
  // The runtime would open a provider that comes with it by this alone.
  await server.json(['secrets', 'set', 'ANTHROPIC_API_KEY=sk-a-key-of-the-project', '--project', project])
})
afterAll(async () => {
  await server?.end()
  await upstream.stop(true)
})

/** The providers and the configuration that the runtime reports. */
interface Told {
  providers?: { id: string; models: object }[]
  all?: { id: string }[]
  connected?: string[]
}

const script = (...lines: string[]) => ['Do this.', '', '```svc-script', ...lines, '```'].join('\n')
const of = () => ['--project', project]
const prompt = (session: string, text: string) =>
  server.api(`${base()}/${session}/prompt`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
  })
const transcriptWith = (session: string, end: string) =>
  until(`${end} in the transcript`, async () => {
    const text = await (await server.api(`${base()}/${session}/transcript`)).text()
    const shown = await server.json<{ session: { error: string | null } }>(['sessions', 'info', session, ...of()])
    if (shown.session.error !== null) throw new Error(shown.session.error)
    if (text.includes('I stop here')) throw new Error(text)
    return text.includes(end) && text
  })

test('a session starts without a model, refuses work, and works after an owner sets one', async () => {
  const refused = await server.svc(['sessions', 'new', '--prompt', 'Fix it.', '--json', ...of()])
  expect([refused.code, JSON.parse(refused.stderr)]).toMatchObject([1, { code: 'no_model' }])
  const { session_id: session } = await server.json<{ session_id: string }>(['sessions', 'new', '--wait', ...of()])
  expect((await prompt(session, 'Fix it.')).status).toBe(409)

  const set = ['models', 'set', url, '--model', 'large,small', '--key', '-']
  expect(await server.json<object>(set, { input: `${key}\n` })).toMatchObject({ source: 'saved', has_key: true })
  asked.length = 0
  const commands = ['config/providers', 'provider', 'config'].map(
    (path) => `curl -s http://127.0.0.1:4096/${path}; echo`,
  )
  expect((await prompt(session, script(...commands))).status).toBe(202)
  const text = await transcriptWith(session, 'All 3 commands of the script ran')
  const { messages } = JSON.parse(text) as { messages: { parts: { output?: string }[] }[] }
  const outputs = messages.flatMap(({ parts }) => parts.flatMap(({ output }) => output ?? []))
  const [loaded, known, config] = outputs.map((output) => JSON.parse(output.split('\n')[0]!) as Told)
  expect(loaded!.providers!.map(({ id, models }) => [id, Object.keys(models).toSorted()])).toEqual([
    ['svc', ['default']],
  ])
  expect([known!.all!.map(({ id }) => id), known!.connected]).toEqual([['svc'], ['svc']])
  expect(config).toMatchObject({
    ...{ model: 'svc/default', small_model: 'svc/default', enabled_providers: ['svc'], share: 'disabled' },
    provider: { svc: { options: { baseURL: 'http://127.0.0.1:61080/v1/llm' } } },
  })
  expect(new Set(asked.map((each) => `${each.key} ${each.model}`))).toEqual(new Set([`Bearer ${key} large`]))

  // Each try to leave by the proxy of the sandbox is in the log.
  const tried = [...server.output.matchAll(/"host":"([^"]+)"[^\n]*a sandbox may not reach a host/g)].map(
    ([, host]) => host,
  )
  expect(tried.filter((host) => !host!.endsWith('npmjs.org'))).toEqual([])
})

test('an agent and a session choose another model', async () => {
  const start = (...more: string[]) =>
    server.json<{ session_id: string; model: string }>(['sessions', 'new', '--no-wait', ...more, ...of()])
  asked.length = 0
  const thrifty = await start('--agent', 'thrifty', '--prompt', script('echo THRIFTY'))
  expect(thrifty.model).toBe('small')
  await until('the agent to ask its model', async () => asked.length > 0)
  expect(new Set(asked.map(({ model }) => model))).toEqual(new Set(['small']))
  const unknown = await server.svc(['sessions', 'new', '--model', 'huge', '--json', ...of()])
  expect(JSON.parse(unknown.stderr)).toMatchObject({ code: 'model_not_found', models: ['large', 'small'] })
  expect((await server.svc(['models', 'ls', '--json'])).stdout).toContain('"large"')
})

test('the first start on a terminal asks for a model once, and Enter skips it for good', async () => {
  const dir = await mkdtemp(join(server.dir, 'terminal-'))
  await layDatabase(join(dir, 'data'))
  const env = {
    ...{ SVC_PORT: '0', SVC_DATA_DIR: join(dir, 'data'), SVC_MASTER_KEY_FILE: join(dir, 'master.key') },
    ...{ SVC_CONFIG_FILE: join(dir, 'config.json'), SVC_SANDBOX_DRIVER: 'none', SVC_LOG: 'json' },
  }
  const question = 'Which model server do agents use?'
  const start = () => Screen.run([program, 'server'], { env, columns: 160 })
  {
    await using screen = await start()
    await screen.waitFor(question)
    screen.type(keys.enter)
    await until('the answer to be kept', () => Bun.file(join(dir, 'data/model-question')).exists())
    screen.type(keys.ctrlC)
    await screen.exited()
  }
  await using again = await start()
  await again.waitFor('svc is ready')
  await until('the server to answer', async () => {
    const at = /Dashboard\s+(http:\/\/\S+)/.exec(again.raw)?.[1]
    return at !== undefined && (await fetch(`${at}/v1/ready`).catch(() => null))?.ok === true
  })
  expect(again.raw).not.toContain(question)
})
