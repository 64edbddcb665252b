import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ErrorBody, Project } from '@svc/contract'
import { until } from '../testing-until.ts'
import { type Fleet, type FleetServer, makeFleet, refusedUpgrade } from './testing-fleet.ts'

let fleet: Fleet
let adasLog: () => Promise<string>
let ada: FleetServer
let bob: FleetServer
/** Its home is bob. */
let project: Project
beforeAll(async () => {
  fleet = await makeFleet(['ada', 'bob'], { SVC_TRUSTED_PROXIES: 'loopback' })
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  const booted = await ada.boot()
  adasLog = booted.errors
  for (const { url } of [booted, await bob.boot()]) expect(url).not.toBeNull()
}, 120_000)
afterAll(() => fleet.close())

async function at<Body>(server: FleetServer, method: string, path: string, options?: Parameters<Fleet['request']>[3]) {
  const response = await fleet.request(server, method, path, options)
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body }
}

async function git(args: string[], cwd: string): Promise<string> {
  const credential = Buffer.from(`x-access-token:${fleet.token}`).toString('base64')
  const settings = ['user.name=t', 'user.email=t@t.invalid', `http.extraHeader=Authorization: Basic ${credential}`]
  const child = Bun.spawn(['git', ...settings.flatMap((each) => ['-c', each]), ...args], {
    cwd,
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env.PATH!, HOME: fleet.dir, GIT_TERMINAL_PROMPT: '0' },
  })
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`git ${args.join(' ')}: ${errors}`)
  return output
}

test('new projects get the server with the fewest as their home, whichever server takes the request', async () => {
  for (const name of ['one', 'two', 'three', 'four'])
    expect((await at(ada, 'POST', '/v1/projects', { body: { name } })).status).toBe(201)
  const homes = await fleet.query<{ home: string; count: number }>(
    'select home, count(*)::integer as count from projects group by home order by home',
  )
  expect(homes).toEqual([
    { home: 'ada', count: 2 },
    { home: 'bob', count: 2 },
  ])
  const [row] = await fleet.query<{ project_id: string }>(`select project_id from projects where home = 'bob' limit 1`)
  project = (await at<Project>(ada, 'GET', `/v1/projects/${row!.project_id}`)).body
}, 120_000)

test('an answer names the server that made it, to callers who may know', async () => {
  const nameIn = async (path: string, headers = {}) =>
    (await at(ada, 'GET', path, { headers })).headers.get('x-svc-server')
  expect(await nameIn(`/v1/projects/${project.project_id}`)).toBe('bob')
  expect(await nameIn(`/v1/projects/${project.project_id}/sessions/none`)).toBe('bob')
  expect(await nameIn('/v1/projects')).toBe('ada')
  expect(await nameIn(`/v1/projects/${project.project_id}`, { authorization: 'Bearer none' })).toBeNull()
  expect(await nameIn(`/v1/projects/${crypto.randomUUID()}`)).toBeNull()
}, 120_000)

test('git pushes and clones through a server that is not the home', async () => {
  const work = join(fleet.dir, 'work')
  await mkdir(work)
  await git(['init', '-q', '-b', 'main'], work)
  // Larger than any buffer on the way.
  const bytes = randomBytes(8 * 1024 * 1024)
  await writeFile(join(work, 'large.bin'), bytes)
  await git(['add', '-A'], work)
  await git(['commit', '-q', '-m', 'first'], work)
  const remote = `${ada.url}/v1/projects/${project.project_id}/git`
  await git(['push', '-q', remote, 'HEAD:refs/heads/main'], work)
  await git(['clone', '-q', remote, 'clone'], fleet.dir)
  expect((await readFile(join(fleet.dir, 'clone/large.bin'))).equals(bytes)).toBe(true)
  for (const named of [project.project_id, project.slug])
    for (const server of [ada, bob]) {
      const branches = await at<{ branches: { name: string }[] }>(server, 'GET', `/v1/projects/${named}/branches`)
      expect(branches.status).toBe(200)
      expect(branches.body.branches.map(({ name }) => name)).toEqual(['main'])
    }
}, 120_000)

test.each([
  ['by its length', [`Content-Length: ${2 * 1024 * 1024}`], Buffer.alloc(2 * 1024 * 1024, ' ')],
  [
    'in the middle',
    ['Transfer-Encoding: chunked'],
    Buffer.from(`10000\r\n${' '.repeat(0x10000)}\r\n`.repeat(64) + '0\r\n\r\n'),
  ],
])(
  'a body that its home refuses %s is answered with the refusal, while the client still sends it',
  async (_, framing, body) => {
    const { port, hostname } = new URL(ada.url)
    const send = () =>
      new Promise<string>((resolve, reject) => {
        let answer = ''
        const socket = connect(Number(port), hostname)
        socket.setTimeout(20_000, () => socket.destroy(new Error('No answer.')))
        socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
        // A server that refuses a body may close before all of it is sent.
        socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
        socket.on('close', () => resolve(answer))
        socket.write(
          [
            ...[`PATCH /v1/projects/${project.project_id} HTTP/1.1`, `Host: ${hostname}:${port}`],
            ...[`Authorization: Bearer ${fleet.token}`, 'Content-Type: application/json'],
            ...[...framing, 'Connection: close', '', ''],
          ].join('\r\n'),
        )
        socket.write(body)
      })
    for (let round = 0; round < 10; round++) expect(await send()).toStartWith('HTTP/1.1 413 ')
  },
  120_000,
)

test('an unusual target or no host is answered as by its home', async () => {
  const say = (server: FleetServer, head: string) =>
    new Promise<string>((resolve, reject) => {
      const { port, hostname } = new URL(server.url)
      let answer = ''
      const socket = connect(Number(port), hostname)
      socket.setTimeout(20_000, () => socket.destroy(new Error('No answer.')))
      socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
      socket.on('error', reject)
      socket.on('close', () => resolve(answer.slice(0, 'HTTP/1.1 200'.length)))
      socket.write(`${head}\r\nAuthorization: Bearer ${fleet.token}\r\nConnection: close\r\n\r\n`)
    })
  const path = `/v1/projects/${project.project_id}`
  for (const head of [`GET ${path}#x HTTP/1.1\r\nHost: 127.0.0.1`, `GET ${path} HTTP/1.0`])
    expect([head, await say(ada, head)]).toEqual([head, await say(bob, head)])
}, 120_000)

test('another spelling of the path leads to the same home', async () => {
  const { hostname, port } = new URL(ada.url)
  for (const path of [
    '/v1/%70rojects/ID/branches',
    '/v1/x/../projects/ID/branches',
    `${ada.url}/v1/projects/ID/branches`,
  ]) {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const options = { host: hostname, port, path: path.replace('ID', project.project_id), agent: false }
      const headers = { authorization: `Bearer ${fleet.token}` }
      httpRequest({ ...options, headers }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect([path, status]).toEqual([path, 200])
  }
}, 120_000)

test('an event stream passes through as it is written, and ends at the home when its reader leaves', async () => {
  const reader = new AbortController()
  const path = `/v1/projects/${project.project_id}/events`
  const response = await fleet.request(ada, 'GET', path, {
    headers: { accept: 'text/event-stream' },
    signal: reader.signal,
  })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const opened = await until('the home counts the stream', async () => (await streamsOf(bob)) === 1)
  expect(opened).toBe(true)
  const chunks = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  const body = { title: 'streamed', head_ref: 'topic' }
  const work = join(fleet.dir, 'work')
  await git(['push', '-q', `${bob.url}/v1/projects/${project.project_id}/git`, 'HEAD:refs/heads/topic'], work)
  const made = await at(ada, 'POST', `/v1/projects/${project.project_id}/change-requests`, { body })
  expect(made.status).toBe(201)
  let text = ''
  while (!text.includes('change_request.opened')) text += (await chunks.next()).value
  reader.abort()
  await until('the home has ended the stream', async () => (await streamsOf(bob)) === 0)
}, 120_000)

const streamsOf = (server: FleetServer) => metricOf(server, 'svc_http_connections{kind="stream"}')

async function metricOf(server: FleetServer, series: string): Promise<number> {
  const lines = (await (await fetch(`${server.url}/metrics`)).text()).split('\n')
  return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length) ?? Number.NaN)
}

test('the home records the address of the client, and no client can state one', async () => {
  const path = `/v1/projects/${project.project_id}`
  const forwardedFor = { 'x-forwarded-for': '203.0.113.9' }
  expect((await at(ada, 'PATCH', path, { body: { name: 'renamed' }, headers: forwardedFor })).status).toBe(200)
  const rows = await fleet.query<{ address: string }>(
    `select address from audit_events where action = 'project.update' order by event_id desc limit 1`,
  )
  expect(rows[0]!.address).toBe('203.0.113.9')
  const forged = { 'x-svc-peer': `bob ${Date.now()} 0 198.51.100.7 ${'A'.repeat(43)}` }
  expect((await at(bob, 'PATCH', path, { body: { name: 'again' }, headers: forged })).status).toBe(200)
  const [last] = await fleet.query<{ address: string }>(
    `select address from audit_events where action = 'project.update' order by event_id desc limit 1`,
  )
  expect(last!.address).toBe('127.0.0.1')
}, 120_000)

test('counts what it forwards by server and outcome, and times the answers', async () => {
  const answered = 'svc_forwarded_requests_total{server="bob",outcome="answered"}'
  const before = await metricOf(ada, answered)
  const path = `/v1/projects/${project.project_id}`
  expect((await at(ada, 'GET', path)).status).toBe(200)
  expect((await at(ada, 'PATCH', path, { body: { name: 'counted' } })).status).toBe(200)
  const after = await metricOf(ada, answered)
  expect(after - before).toBe(2)
  expect(await metricOf(ada, 'svc_forwarded_request_duration_seconds_count{server="bob"}')).toBe(after)
  expect(await metricOf(bob, answered)).toBeNaN()
})

test('never forwards a request that names a server as its sender', async () => {
  const path = `/v1/projects/${project.project_id}`
  const headers = { 'x-svc-peer': 'anything' }
  const refused = await at<ErrorBody>(ada, 'GET', path, { headers })
  expect([refused.status, refused.body.code]).toEqual([400, 'invalid'])
  expect(refused.body.error).toContain('x-svc-peer')
  expect(refused.body.hint).toContain('without x-svc-peer')
  expect(refused.headers.get('retry-after')).toBeNull()
  const upgraded = await refusedUpgrade(fleet, ada, `${path}/sessions/${crypto.randomUUID()}/terminal`, headers)
  expect([upgraded.status, upgraded.body.code]).toEqual([400, 'invalid'])
  expect((await at(bob, 'GET', path, { headers })).status).toBe(200)
})

test('a home that does not run is named, while lists and accounts answer, and it goes on when it is back', async () => {
  await bob.kill('SIGKILL')
  const path = `/v1/projects/${project.project_id}`
  const refused = await until('the home is known to be gone', async () => {
    const answer = await at<{ code: string; error: string }>(ada, 'GET', path)
    return answer.status === 503 && answer.body.error.includes('is not running') ? answer : null
  })
  expect(refused.body).toMatchObject({ code: 'unavailable', error: expect.stringContaining('bob') })
  expect(refused.headers.get('retry-after')).not.toBeNull()
  expect(await metricOf(ada, 'svc_forwarded_requests_total{server="bob",outcome="absent"}')).toBeGreaterThan(0)
  expect(await answersToStrangers(project.project_id)).toEqual(await answersToStrangers(crypto.randomUUID()))
  expect(await answersToStrangers(project.slug)).toEqual(await answersToStrangers('no-such-project'))
  const unsigned = await at(ada, 'POST', `${path}/triggers/nightly/webhook`, {
    body: {},
    headers: { authorization: '' },
  })
  expect([unsigned.status, unsigned.headers.get('retry-after')]).toEqual([503, '2'])
  const remote = `${ada.url}/v1/projects/${project.project_id}/git`
  await expect(git(['ls-remote', remote], fleet.dir)).rejects.toThrow(
    /remote: The server that keeps this project, bob, is not running or does not answer\.[^]*503/,
  )
  expect((await at<Project[]>(ada, 'GET', '/v1/projects')).body).toHaveLength(4)
  expect((await at(ada, 'GET', '/v1/accounts/me')).status).toBe(200)
  const asked = refused.headers.get('x-request-id')!
  await ada.kill('SIGTERM')
  const log = (await adasLog()).split('\n')
  expect(log.find((line) => line.includes(asked))).toContain('bob, is not running or does not answer')
  for (const server of [ada, bob]) expect((await server.boot()).url).not.toBeNull()
  await until('the home answers again', async () => (await at(ada, 'GET', path)).status === 200)
}, 120_000)

/** What callers without access see of a project: its status, its error and the headers that are no chance. */
async function answersToStrangers(named: string): Promise<unknown[]> {
  const path = `/v1/projects/${named}`
  const credentials = ['', 'Bearer svc_pat_0', 'Basic eDp5', 'Bearer svc_sbx_x']
  const requests = [
    ['GET', path],
    ['GET', `${path}/sessions`],
    ['POST', `${path}/sessions`],
    ['PUT', `${path}/no/such/route`],
    ['GET', `${path}/git/info/refs?service=git-upload-pack`],
    ['POST', `${path}/git/git-receive-pack`],
    ['POST', '/v1/mcp'],
  ] as const
  const answers: unknown[] = []
  for (const authorization of credentials)
    for (const [method, asked] of requests) {
      const headers = { authorization, 'x-svc-project': named }
      const answer = await at(ada, method, asked, { headers, ...(method === 'GET' ? {} : { body: {} }) })
      answers.push([authorization, method, asked.replace(named, ''), answer.status, answer.body, headersOf(answer)])
    }
  const upgraded = await refusedUpgrade({ ...fleet, token: 'svc_pat_0' }, ada, `${path}/sessions/${named}/terminal`)
  return [...answers, upgraded]
}

function headersOf({ headers }: { headers: Headers }): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'))
}
