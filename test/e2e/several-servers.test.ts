/** A server with a project becomes the first of three; then the project's whole story, with each request to a random one. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHmac, randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { migrate } from '../../packages/server/src/db/migrate.ts'
import { createTestDatabase, withClient } from '../../packages/server/src/db/testing-cluster.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { gatewayOf, git, removeFolder, until } from './harness.ts'
import { bytesOf, OneOfSeveral, openStream, sharedSettings } from './one-of-several.ts'

const minute = 60_000

let balancer: Balancer
let database: Awaited<ReturnType<typeof createTestDatabase>>
let dir: string
let servers: OneOfSeveral[]
let token: string
/** What a client sees: one address. */
let front: { url: string; token: string }
let project: string
let session: string

beforeAll(async () => {
  balancer = await startBalancer()
  database = await createTestDatabase({ name: 'three', prepare: migrate })
  dir = await mkdtemp(join(tmpdir(), 'svc-three-'))
  token = makeToken((count) => randomBytes(count))
  const env = {
    ...sharedSettings(dir, database.url),
    SVC_PUBLIC_URL: balancer.url,
    SVC_TRUSTED_PROXIES: 'loopback',
    SVC_BOOTSTRAP_TOKEN: token,
    SVC_WARM_SANDBOXES: '0',
    SVC_SANDBOX_LEASE_SECONDS: '300',
  }
  servers = ['ada', 'bob', 'cyd'].map((name) => new OneOfSeveral(dir, name, env, { isEncrypted: name !== 'cyd' }))
  await servers[0]!.boot({}, { isAlone: true })
  balancer.servers = [servers[0]!.url]
  front = { url: balancer.url, token }
}, 3 * minute)
afterAll(async () => {
  for (const server of servers ?? []) await server.end()
  await balancer?.close()
  await database?.drop()
  await removeFolder(dir)
}, minute)

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${front.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text) as T
}

const inProject = <T>(method: string, path: string, body?: unknown) =>
  ask<T>(method, `/v1/projects/${project}${path}`, body)

function script(...commands: string[]): string {
  return ['Do this.', '', '```svc-script', ...commands, '```'].join('\n')
}

/** The prompts contain a sum; only the shell writes its result. */
function transcriptHas(text: string): Promise<boolean> {
  return until(`the transcript to have ${text}`, async () =>
    JSON.stringify(await inProject('GET', `/sessions/${session}/transcript`)).includes(text),
  )
}

async function startSession(...commands: string[]): Promise<string> {
  const body = { model: 'svc-scripted-demo', initial_prompt: script(...commands) }
  return (await inProject<{ session_id: string }>('POST', '/sessions', body)).session_id
}

/** The names of the servers that are the home of a project, each once. */
function homes(): Promise<string[]> {
  return withClient(database.url, async (client) => {
    const { rows } = await client.query<{ home: string }>('select distinct home from projects order by home')
    return rows.map(({ home }) => home)
  })
}

const hookSecret = 'hook-secret-of-this-test'
const manifest = `svc_version = 1
[[apps]]
slug = "site"
static_dir = "public"
[[triggers]]
slug = "hook"
type = "webhook"
secret_env = "HOOK_SECRET"
model = "svc-scripted-demo"
prompt = "Say hello."
`
const program3000 = `
const answer = ({ url, headers }) => {
  if (url.endsWith('/headers')) return [...headers.keys()].join(' ')
  return url.endsWith('/key') ? process.env.SVC_LLM_API_KEY : 'a page of the session'
}
Bun.serve({ port: 3000, hostname: '127.0.0.1', fetch: (request) => new Response(answer(request)) })
const half = 'HTTP/1.1 200 OK\\r\\nContent-Length: 1000\\r\\n\\r\\nhalf'
Bun.listen({ port: 3001, hostname: '127.0.0.1', socket: { data: (socket) => void socket.end(half) } })
`

test(
  'a server that runs alone has a project with a branch, a secret, a change request and a session',
  async () => {
    project = (await ask<{ project_id: string }>('POST', '/v1/projects', { name: 'one' })).project_id
    const seed = await mkdtemp(join(dir, 'seed-'))
    await git(seed, 'init', '--quiet', '--initial-branch=main')
    await Bun.write(join(seed, 'server.mjs'), program3000)
    await Bun.write(join(seed, 'public/index.html'), 'a page of the app')
    await Bun.write(join(seed, 'svc.toml'), manifest)
    await git(seed, 'add', '.')
    await git(seed, 'commit', '--quiet', '-m', 'First')
    const remote = gatewayOf(front, { project_id: project })
    await git(seed, 'push', '--quiet', remote, 'main')
    await git(seed, 'commit', '--quiet', '--allow-empty', '-m', 'Early')
    await git(seed, 'push', '--quiet', remote, 'HEAD:refs/heads/early')
    await inProject('POST', '/change-requests', { title: 'Early', head_ref: 'early' })
    await inProject('POST', '/secrets', { name: 'HOOK_SECRET', value: hookSecret })
    session = await startSession('echo early > early.txt && echo alone-$((40 + 1))')
    await transcriptHas('alone-41')
  },
  4 * minute,
)

test(
  'it becomes the first of three in place: its session goes on, and every server has its data',
  async () => {
    const [ada] = servers
    const before = await inProject<{ sandbox: object }>('GET', `/sessions/${session}`)
    await ada!.kill('SIGTERM')
    for (const server of servers) await server.boot()
    balancer.servers = servers.map(({ url }) => url)
    await until('the session to be kept', async () => {
      const read = await inProject<{ status: string; sandbox: object }>('GET', `/sessions/${session}`)
      return read.status === 'running' && JSON.stringify(read.sandbox) === JSON.stringify(before.sandbox)
    })
    await inProject('POST', `/sessions/${session}/prompt`, { text: script('cat early.txt && echo three-$((40 + 3))') })
    await transcriptHas('three-43')
    for (const name of ['two', 'three']) await ask('POST', '/v1/projects', { name })
    expect(await homes()).toEqual(['ada', 'bob', 'cyd'])
    for (let i = 0; i < 6; i++) {
      const { branches } = await inProject<{ branches: { name: string }[] }>('GET', '/branches')
      expect(branches.map(({ name }) => name)).toEqual(expect.arrayContaining(['early', 'main']))
      const { change_requests } = await inProject<{ change_requests: object[] }>('GET', '/change-requests')
      expect(change_requests).toHaveLength(1)
      expect(await ask<unknown[]>('GET', '/v1/projects')).toHaveLength(3)
    }
    await inProject('POST', `/sessions/${session}/stop`)
  },
  4 * minute,
)

test(
  'a session starts, its agent works and pushes, and its events arrive',
  async () => {
    const reading = new AbortController()
    const events = await fetch(`${front.url}/v1/projects/${project}/events`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
      signal: reading.signal,
    })
    session = await startSession(
      'BUN_BE_BUN=1 setsid nohup /usr/local/bin/svc server.mjs > /tmp/server.log 2>&1 &',
      'echo work > work.txt && git add work.txt && git commit -q -m Work && git push -q && echo pushed',
      'echo unfinished > left.txt && echo done-$((10 + 2))',
    )
    let seen = ''
    for await (const chunk of events.body!.pipeThrough(new TextDecoderStream())) {
      seen += chunk
      if (seen.includes('session.running')) break
      if (seen.includes('session.failed')) throw new Error(seen)
    }
    reading.abort()
    await transcriptHas('done-12')
  },
  4 * minute,
)

test(
  'six hundred event streams through another server leave it free for everything else',
  async () => {
    const { server: home } = await inProject<{ server: string }>('GET', '/home')
    const other = servers.find(({ name }) => name !== home)!
    const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
    try {
      await Promise.all(
        Array.from({ length: 600 }, (_, n) =>
          until(`stream ${n} to open`, () =>
            openStream(`${other.url}/v1/projects/${project}/events`, n, { agent, token }),
          ),
        ),
      )
      const headers = { authorization: `Bearer ${token}` }
      const answer = await fetch(`${other.url}/v1/projects/${project}`, {
        headers,
        signal: AbortSignal.timeout(20_000),
      })
      expect(answer.status).toBe(200)
    } finally {
      agent.destroy()
    }
  },
  2 * minute,
)

test(
  'the preview of the session answers, as does its daemon',
  async () => {
    const { url } = await inProject<{ url: string }>('GET', `/sessions/${session}/preview?port=3000`)
    const { host, pathname, search } = new URL(url)
    const entered = await fromOrigin(host, `${pathname}${search}`)
    expect(entered.status).toBe(303)
    const page = await until('the program to listen', async () => {
      const answer = await fromOrigin(host, '/', { cookie: entered.cookie })
      return answer.status === 200 ? answer : null
    })
    expect(page.text).toBe('a page of the session')
    // Through each server, the program receives what the browser sent, and no header of the way.
    const answers = await Promise.all(
      servers.map(({ url }) => fromOrigin(host, '/headers', { cookie: entered.cookie }, url)),
    )
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.text).not.toContain('user-agent')
    const modelKey = (await fromOrigin(host, '/key', { cookie: entered.cookie })).text
    for (let i = 0; i < 6; i++) {
      const models = await fetch(`${front.url}/v1/llm/models`, { headers: { authorization: `Bearer ${modelKey}` } })
      expect(models.status).toBe(200)
    }
    const other = new URL((await inProject<{ url: string }>('GET', `/sessions/${session}/preview?port=3001`)).url)
    const { cookie } = await fromOrigin(other.host, `${other.pathname}${other.search}`)
    // A cut answer, and never one that looks complete.
    for (const { url } of servers)
      expect(await bytesOf(url, other.host, cookie)).toMatch(/ 200 .*content-length: 1000\r/is)
    const { sandbox_url } = await inProject<{ sandbox_url: string }>('GET', `/sessions/${session}`)
    for (let i = 0; i < 6; i++) expect((await fetch(`${sandbox_url}/svc/health`)).status).toBe(200)
  },
  2 * minute,
)

test(
  'an app is deployed at its home, and opens through any server',
  async () => {
    await until(
      'the app to run',
      async () => (await inProject<{ state: string }>('GET', '/apps/site')).state === 'running',
    )
    const { url } = await inProject<{ url: string }>('GET', '/apps/site/open')
    const { host, pathname, search } = new URL(url)
    const entered = await fromOrigin(host, `${pathname}${search}`)
    expect(entered.status).toBe(303)
    for (let i = 0; i < 6; i++)
      expect((await fromOrigin(host, '/', { cookie: entered.cookie })).text).toBe('a page of the app')
    for (const path of ['//', '//index.html', '//svc.invalid/?a=//b']) {
      const [first, ...others] = await Promise.all(
        servers.map(({ url }) => fromOrigin(host, path, { cookie: entered.cookie }, url)),
      )
      expect([path, first!.status < 500 && first!.status !== 403]).toEqual([path, true])
      expect(others).toEqual([first!, first!])
    }
  },
  2 * minute,
)

/** Names below localhost do not resolve everywhere, so the balancer, or a server, is dialed by its address. */
function fromOrigin(host: string, path: string, headers: Record<string, string> = {}, at = balancer.url) {
  const { hostname, port } = new URL(at)
  return new Promise<{ status: number; text: string; cookie: string }>((resolve, reject) => {
    const out = httpRequest({ host: hostname, port, path, headers: { host, ...headers }, setHost: false }, (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => void (text += chunk.toString()))
      const [cookie = ''] = (answer.headers['set-cookie'] ?? []).map((line) => line.split(';')[0]!)
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text, cookie }))
    })
    out.on('error', reject)
    out.end()
  })
}

test(
  'a terminal opens and echoes',
  async () => {
    for (let i = 0; i < 4; i++) {
      const path = `/v1/projects/${project}/sessions/${session}/terminal?command=${encodeURIComponent('echo shell-$((40 + 2))')}`
      const socket = new WebSocket(`${front.url.replace('http', 'ws')}${path}`, {
        headers: { authorization: `Bearer ${token}` },
      } as unknown as string[])
      socket.binaryType = 'arraybuffer'
      const output = await new Promise<string>((resolve, reject) => {
        let text = ''
        socket.onmessage = ({ data }) => {
          if (data instanceof ArrayBuffer) text += new TextDecoder().decode(data)
          if (text.includes('shell-42')) resolve(text)
        }
        socket.onerror = () => reject(new Error('The terminal did not open.'))
        socket.onclose = () => reject(new Error(`The terminal closed after: ${text}`))
      })
      expect(output).toContain('shell-42')
      socket.onclose = null
      socket.close()
    }
  },
  2 * minute,
)

test(
  'a further prompt, an abort, and the saving and recovery of work reach the session',
  async () => {
    await inProject('POST', `/sessions/${session}/prompt`, { text: script('echo again-$((20 + 3))') })
    await transcriptHas('again-23')
    await inProject('POST', `/sessions/${session}/abort`)
    const saved = await inProject<{ files: number; paths: string[] }>('POST', `/sessions/${session}/wip`)
    expect(saved.paths).toContain('left.txt')
    const bundle = await fetch(`${front.url}/v1/projects/${project}/sessions/${session}/wip/bundle`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(bundle.status).toBe(200)
    expect(Buffer.from(await bundle.arrayBuffer()).toString('latin1')).toStartWith('# v')
    await inProject('POST', `/sessions/${session}/stop`)
    await inProject('POST', `/sessions/${session}/restart`)
    await until('the session to run again', async () => {
      const { status } = await inProject<{ status: string }>('GET', `/sessions/${session}`)
      return status === 'running'
    })
    await inProject('POST', `/sessions/${session}/wip/recover`)
  },
  2 * minute,
)

test(
  'a session goes on while its server is gone, and the other servers leave it alone',
  async () => {
    interface Running {
      status: string
      sandbox: { sandbox_id: string; generation: number }
    }
    const before = await inProject<Running>('GET', `/sessions/${session}`)
    const [home] = servers as [OneOfSeveral]
    const others = servers.filter((server) => server !== home)
    await home.kill('SIGKILL')
    for (const other of others)
      await until('the home to count as dead', async () => {
        const answer = await fetch(`${other.url}/v1/projects/${project}`, {
          headers: { authorization: `Bearer ${token}` },
        })
        return answer.status === 503 && (await answer.text()).includes('is not running')
      })
    for (const other of others) {
      const runs = await other.runsOf('reconcile sessions')
      await until('two more runs of the reconciler', async () => (await other.runsOf('reconcile sessions')) > runs + 1)
    }
    await home.boot()
    const after = await until('the session to be kept', async () => {
      const read = await inProject<Running>('GET', `/sessions/${session}`).catch(notYet)
      return read !== null && read.status === 'running' ? read : null
    })
    expect(after.sandbox).toEqual(before.sandbox)
    await inProject('POST', `/sessions/${session}/prompt`, { text: script('echo kept-$((30 + 4))') })
    await transcriptHas('kept-34')
  },
  4 * minute,
)

/** Another server still takes the home for dead for a second. */
function notYet(): null {
  return null
}

test(
  'the project moves to another server, where its session goes on with its conversation and its unfinished work',
  async () => {
    interface Running {
      status: string
      sandbox: { generation: number }
    }
    interface Home {
      server: string
      move: { phase: string; error: string | null; waits_for: string | null } | null
    }
    const before = await inProject<Running>('GET', `/sessions/${session}`)
    const { server: home } = await inProject<Home>('GET', '/home')
    const to = servers.find(({ name }) => name !== home)!.name
    const stream = await fetch(`${front.url}/v1/projects/${project}/sessions/${session}/events`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    })
    const streamed = stream.text().catch(cutOff)
    await inProject('POST', '/home', { server: to })
    await until('the project to have moved', async () => {
      const { server, move } = await inProject<Home>('GET', '/home')
      if (move?.phase === 'failed') throw new Error(JSON.stringify(move))
      return server === to && move?.phase === 'done'
    }).catch(async (error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(await inProject<Home>('GET', '/home'))}\n${warnings()}`)
    })
    // Also a prompt that comes before its sandbox finds the work there.
    await inProject('POST', `/sessions/${session}/prompt`, {
      text: script('cat left.txt && echo moved-$((40 + 5))'),
    })
    // Its reader connects again, to the new home.
    await streamed
    const after = await until('the session to run at its new home', async () => {
      const read = await inProject<Running>('GET', `/sessions/${session}`)
      if (read.status !== 'running' && read.status !== 'provisioning') throw new Error(JSON.stringify(read))
      return read.status === 'running' ? read : null
    })
    expect(after.sandbox.generation, warnings()).toBe(before.sandbox.generation + 1)
    await transcriptHas('moved-45')
    const { phases } = await inProject<{ phases: { name: string; error: string | null }[] }>(
      'GET',
      `/sessions/${session}/timeline`,
    )
    expect(phases.filter(({ name }) => name === 'restore')).toMatchObject([{ error: null }])
    // The conversation before the move.
    await transcriptHas('kept-34')
  },
  4 * minute,
)

/** The warnings and errors that the servers have logged so far. */
function warnings(): string {
  const isWarning = (line: string) => /"level":(40|50|60)/.test(line)
  return servers.flatMap(({ output }) => output.split('\n').filter(isWarning)).join('\n')
}

/** A server may also cut the stream. */
function cutOff(): string {
  return ''
}

test(
  'its change request is previewed and merged, and main has the work',
  async () => {
    const cr = await inProject<{ cr_id: string; head_commit_sha: string }>('POST', '/change-requests', {
      title: 'Work',
      head_ref: session,
      session_id: session,
    })
    const preview = await inProject<{ can_merge: boolean }>('GET', `/change-requests/${cr.cr_id}/merge-preview`)
    expect(preview.can_merge).toBe(true)
    const merged = await inProject<{ change_request: { status: string } }>(
      'POST',
      `/change-requests/${cr.cr_id}/merge`,
      { expected_head_sha: cr.head_commit_sha },
    )
    expect(merged.change_request.status).toBe('merged')
    const clone = join(dir, 'clone')
    await git(dir, 'clone', '--quiet', gatewayOf(front, { project_id: project }), clone)
    expect(await Bun.file(join(clone, 'work.txt')).text()).toBe('work\n')
  },
  2 * minute,
)

test(
  'a webhook starts a session, tools are listed over MCP, and every server took part',
  async () => {
    await inProject('POST', `/sessions/${session}/stop`)
    await until('the trigger to be known', async () => {
      const { triggers } = await inProject<{ triggers: { slug: string }[] }>('GET', '/triggers')
      return triggers.length === 1
    })
    const body = JSON.stringify({ hello: true })
    const signature = createHmac('sha256', hookSecret).update(body).digest('hex')
    const fired = await fetch(`${front.url}/v1/projects/${project}/triggers/hook/webhook`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-svc-signature': `sha256=${signature}` },
      body,
    })
    const answer = (await fired.json()) as { session_id: string }
    expect(fired.status).toBe(202)
    await inProject('POST', `/sessions/${answer.session_id}/stop`)
    for (let i = 0; i < 4; i++) {
      const tools = await fetch(`${front.url}/v1/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'x-svc-project': project,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
      expect(tools.status).toBe(200)
      expect(await tools.text()).toContain('"name"')
    }
    expect(balancer.counts.every((count) => count > 0) && balancer.counts.length === 3).toBe(true)
  },
  2 * minute,
)
