/** The daemon of an app, spoken to as the server does: over its socket, with files as a tar. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { type AppLine, type AppSpec, type AppWatchReply, userContextHeader } from '@svc/contract/daemon/control'

import { freePort, signed, testToken, until } from '../testing.ts'
import { durationText } from './run.ts'
import { startAppDaemon } from './serve.ts'

const closers: (() => void)[] = []
afterAll(() => {
  for (const close of closers) close()
})

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

interface AppUnderTest {
  port: number
  lines: AppLine[]
  deploy(files: Record<string, string>, spec: Partial<AppSpec>): Promise<Answer>
  watch(): Promise<AppWatchReply>
  /** The first state of these that it reaches. */
  reaches(...states: AppWatchReply['state'][]): Promise<AppWatchReply>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  ask(
    method: string,
    path: string,
    options?: { body?: Buffer | string; headers?: Record<string, string> },
  ): Promise<Answer>
}

const bearer = { authorization: `Bearer ${testToken}` }

async function startApp(pausesMs = [10, 10], kind: 'app' | 'check' = 'app'): Promise<AppUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-app-'))
  const socketPath = join(folder, 'd.sock')
  const port = await freePort()
  const daemon = await startAppDaemon({
    kind,
    env: { SVC_TOKEN: testToken, SVC_SESSION_ID: 'session-1', SVC_SANDBOX_GENERATION: '2' },
    identity: { uid: null, processesMax: null },
    paths: { workspace: join(folder, 'workspace'), home: join(folder, 'home') },
    program: [process.execPath, join(import.meta.dir, '../testing-agent.ts')],
    socketPath,
    egress: null,
    pausesMs,
    log: () => {},
  })
  closers.push(() => {
    daemon.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const lines: AppLine[] = []
  const ask: AppUnderTest['ask'] = (method, path, { body, headers } = {}) =>
    new Promise((resolve, reject) => {
      const out = request({ socketPath, method, path, headers: headers ?? {}, agent: false }, (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => (text += chunk))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
      })
      out.on('error', reject)
      out.end(body)
    })
  async function watch(): Promise<AppWatchReply> {
    const body = JSON.stringify({ after: lines.at(-1)?.seq ?? 0, state: null, wait_ms: 0 })
    const reply = JSON.parse((await ask('POST', '/svc/app/watch', { body, headers: bearer })).text) as AppWatchReply
    lines.push(...reply.lines)
    return reply
  }
  return {
    port,
    lines,
    ask,
    watch,
    reaches: (...states) =>
      until(`it is ${states.join(' or ')}`, async () => {
        const found = await watch()
        return states.includes(found.state) ? found : null
      }),
    async deploy(files, spec) {
      const whole: AppSpec = {
        ...{ slug: 'site', commit: 'c'.repeat(40), build: null, command: null, static_dir: null, port },
        ...{ env: {}, build_ms_max: 30_000, start_ms_max: 30_000, ...spec },
      }
      const body = Buffer.concat([Buffer.from(`${JSON.stringify(whole)}\n`), tarOf(folder, files)])
      return ask('POST', '/svc/app', { body, headers: bearer })
    },
    async get(path, headers = {}) {
      const at = `/proxy/${port}${path}`
      return ask('GET', at, { headers: { ...headers, [userContextHeader]: await signed(at) } })
    },
  }
}

function tarOf(folder: string, files: Record<string, string>): Buffer {
  const source = mkdtempSync(join(folder, 'source-'))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(source, path)), { recursive: true })
    if (content.startsWith('-> ')) symlinkSync(content.slice(3), join(source, path))
    else writeFileSync(join(source, path), content)
  }
  return Buffer.from(Bun.spawnSync(['tar', '-c', '-C', source, '.']).stdout)
}

const server = (answer: string) =>
  `require('http').createServer((q, s) => { ${answer} }).listen(process.env.PORT, '127.0.0.1')`

describe('running an app', () => {
  test('builds and runs an app with its own environment and no variable of the platform', async () => {
    const app = await startApp()
    const files = { 'server.js': server(`s.end(JSON.stringify(process.env))`) }
    const spec = { build: 'echo building here && cat server.js > built.js', command: 'node built.js', env: { A: 'b' } }
    expect((await app.deploy(files, spec)).status).toBe(200)
    await app.reaches('ready')
    const env = JSON.parse((await app.get('/')).text) as Record<string, string>
    expect(env).toMatchObject({ A: 'b', PORT: String(app.port), SVC_APP: 'site', SVC_COMMIT: 'c'.repeat(40) })
    expect(
      Object.keys(env)
        .filter((name) => name.startsWith('SVC_'))
        .sort(),
    ).toEqual(['SVC_APP', 'SVC_COMMIT'])
    expect(app.lines.filter(({ stream }) => stream === 'build').map(({ text }) => text)).toEqual(['building here'])
    // One sandbox, one app.
    expect((await app.deploy(files, spec)).status).toBe(409)
  })

  test('serves a folder with types, index pages, ranges and its own 404 page, but no hidden files', async () => {
    const app = await startApp()
    const files = {
      'public/index.html': '<h1>home</h1>',
      'public/a.css': 'a{}',
      'public/about/index.html': 'about',
      'public/404.html': 'lost',
      'public/.env': 'hidden',
      'other.txt': 'outside',
    }
    await app.deploy(files, { static_dir: 'public' })
    await app.reaches('ready')
    expect(await app.get('/')).toMatchObject({ status: 200, text: '<h1>home</h1>' })
    expect((await app.get('/a.css')).headers['content-type']).toMatch(/^text\/css/)
    expect((await app.get('/about/')).text).toBe('about')
    expect(await app.get('/', { range: 'bytes=4-7' })).toMatchObject({ status: 206, text: 'home' })
    expect(await app.get('/none', { accept: 'text/html' })).toMatchObject({ status: 404, text: 'lost' })
    for (const path of ['/.env', '/../other.txt', '/%2e%2e/other.txt', '/..%2fother.txt'])
      expect(await app.get(path)).toMatchObject({ status: 404 })
    const etag = String((await app.get('/')).headers.etag)
    expect((await app.get('/', { 'if-none-match': etag })).status).toBe(304)
  })

  test('fails an app whose build fails, with its last lines, and runs nothing', async () => {
    const app = await startApp()
    await app.deploy({}, { build: 'echo no such module; exit 3', command: 'touch ran' })
    expect(await app.reaches('failed', 'ready')).toMatchObject({
      state: 'failed',
      error: 'The build ended with exit code 3. Its last lines: no such module',
      starts: 0,
    })
  })

  test('fails an app that exits at once, answers with errors, or never answers, and says which', async () => {
    const [dies, mute, nowhere] = [await startApp(), await startApp(), await startApp()]
    await dies.deploy({}, { command: 'echo cannot start >&2; exit 7' })
    await mute.deploy({}, { command: 'sleep 60', start_ms_max: 500 })
    await nowhere.deploy({}, { static_dir: 'dist' })
    expect((await dies.reaches('failed', 'ready')).error).toBe(
      `The app ended with exit code 7 before it answered on port ${dies.port}. Its last lines: cannot start`,
    )
    expect((await mute.reaches('failed', 'ready')).error).toContain('nothing listens on the port')
    expect((await nowhere.reaches('failed', 'ready')).error).toContain('The folder dist does not exist')
    const errs = async (ms: number) => {
      const app = await startApp()
      await app.deploy({ 's.js': server('s.writeHead(500).end()') }, { command: 'node s.js', start_ms_max: ms })
      return (await app.reaches('failed', 'ready')).error
    }
    let error = await errs(1_500)
    // On a busy machine it may not listen by then: it gets more time.
    if (error?.includes('nothing listens') === true) error = await errs(20_000)
    expect(error).toContain('GET / answers 500')
  })

  test('restarts an app that exits later, and gives up after repeated failures', async () => {
    const app = await startApp([10, 10])
    const dies = server(`if (q.url === '/die') process.exit(9); s.end('ok ' + process.pid)`)
    await app.deploy({ 's.js': dies }, { command: 'node s.js' })
    await app.reaches('ready')
    const first = (await app.get('/')).text
    await app.get('/die')
    const again = await until('another answers', async () => {
      const { status, text } = await app.get('/')
      return status === 200 && text !== first ? text : null
    })
    expect(again).toStartWith('ok ')
    for (const starts of [2, 3]) {
      await until('it is ready', async () => {
        const now = await app.watch()
        return now.state === 'ready' && now.starts === starts
      })
      await app.get('/die')
    }
    const end = await app.reaches('failed')
    expect(end).toMatchObject({ starts: 3 })
    expect(end.error).toContain('The app ended with exit code 9.')
    expect(end.error).toContain('will not be restarted')
  })
})

describe('the limits of an app', () => {
  test('refuses deploys and status without the key, and requests to other ports and paths', async () => {
    const app = await startApp()
    await app.deploy({ 's.js': server(`s.end('in')`) }, { command: 'node s.js' })
    await app.reaches('ready')
    expect((await app.ask('POST', '/svc/app', { body: '{}' })).status).toBe(401)
    expect((await app.ask('POST', '/svc/app/watch', { body: '{}' })).status).toBe(401)
    expect((await app.ask('GET', `/proxy/${app.port}/`)).status).toBe(401)
    const other = `/proxy/${app.port === 65_535 ? app.port - 1 : app.port + 1}/`
    expect((await app.ask('GET', other, { headers: { [userContextHeader]: await signed(other) } })).status).toBe(400)
    expect((await app.ask('GET', '/x', { headers: { [userContextHeader]: await signed('/x') } })).status).toBe(400)
    expect((await app.ask('GET', '/svc/health')).text).toContain('"status":"ready"')
  })

  test('keeps only the newest lines when an app floods its log', async () => {
    const app = await startApp()
    await app.deploy({ 'index.html': 'in' }, { build: 'seq 1 400000', static_dir: '.' })
    // No reader follows here; a reader that is quick enough would get every line.
    await until('it serves', async () => (await app.get('/')).status === 200)
    await until('all is read', async () => (await app.watch()).lines.length === 0)
    const numbers = app.lines.filter(({ stream }) => stream === 'build').map(({ text }) => Number(text))
    expect(numbers.at(-1)).toBe(400_000)
    expect(numbers.length).toBeLessThan(400_000)
  })
})

describe('running a check', () => {
  const startCheck = () => startApp([], 'check')

  test('runs a check once on the files, returns its output, and passes', async () => {
    const check = await startCheck()
    const line = 'cat a.txt && echo out && echo err >&2 && env && pwd && [ ! -e .git ]'
    await check.deploy({ 'a.txt': 'of the file\n' }, { slug: 'unit', build: line, port: 0 })
    const reply = await check.reaches('done', 'failed')
    expect([reply.state, reply.exit_code, reply.error]).toEqual(['done', 0, null])
    const said = check.lines.filter(({ stream }) => stream === 'run').map(({ text }) => text)
    expect(said).toContain('of the file')
    expect(said).toContain('out')
    expect(said).toContain('err')
    expect(said.filter((text) => text.startsWith('SVC_')).toSorted()).toEqual([
      'SVC_CHECK=unit',
      `SVC_TREE=${'c'.repeat(40)}`,
    ])
    expect(said).toContain('CI=true')
  })

  test.each([
    [0, '0 ms'],
    [40.4, '40 ms'],
    [1_530, '1.5 s'],
    [12_400, '12 s'],
  ])('says that %p ms are %s', (ms, text) => {
    expect(durationText(ms)).toBe(text)
  })

  test('fails a check by its exit code or its time limit', async () => {
    const check = await startCheck()
    await check.deploy({}, { build: 'exit 7', port: 0 })
    const reply = await check.reaches('done', 'failed')
    expect(reply).toMatchObject({ state: 'failed', exit_code: 7, error: expect.stringContaining('exit code 7') })
    const slow = await startCheck()
    await slow.deploy({}, { build: 'sleep 600 & sleep 600', port: 0, build_ms_max: 200 })
    const late = await slow.reaches('done', 'failed')
    expect(late).toMatchObject({ state: 'failed', exit_code: null, error: expect.stringContaining('200 ms') })
  })

  test('exposes no port of a check', async () => {
    const check = await startCheck()
    await check.deploy({}, { build: 'sleep 600', port: 0 })
    await check.reaches('building')
    expect((await check.get('/')).status).toBe(400)
  })
})
