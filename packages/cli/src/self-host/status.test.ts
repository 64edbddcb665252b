/** `svc self-host` next to a server that it did not start, and next to one with other settings. */
import { expect, test } from 'bun:test'
import { chown, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { ownerSocketName, serverInfoPath } from '@svc/contract/daemon/owner-socket'
import { makeCertificate } from '@svc/git/testing'
import { startService, svc, temporaryFolder } from '../testing.ts'
import { fingerprints } from './settings.ts'
import { bornAt, isAlive, isPaused, isZombie } from './state.ts'

/** Answers at the socket of a data folder as a server does. */
async function serverOf(dataDir: string, url: string, more: object = {}) {
  const server = createServer(({ method, url: path }, response) => {
    response.statusCode = method === 'GET' && path === serverInfoPath ? 200 : 404
    response.end(JSON.stringify({ pid: 4242, url, data_dir: dataDir, ...more }))
  })
  await new Promise<void>((resolve) => server.listen(join(dataDir, ownerSocketName), resolve))
  return { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

test('self-host status finds a server of the same data folder, however it was started', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  const env = { SVC_DATA_DIR: folder.path }
  expect((await svc(['self-host', 'status'], { env })).stdout).toContain('not running')
  {
    await using _server = await serverOf(folder.path, service.url)
    const shown = await svc(['self-host', 'status'], { env })
    expect(shown.stdout).toMatch(/server: +running\n/)
    for (const fact of [service.url, '4242', folder.path]) expect(shown.stdout).toContain(fact)
    const asJson = (await svc(['self-host', 'status', '--json'], { env })).json()
    expect(asJson).toMatchObject({ running: true, ready: true, started_by_self_host: false, server: { pid: 4242 } })
    const start = await svc(['self-host', 'start', '--yes'], { env })
    expect([start.code, start.stderr]).toEqual([1, expect.stringContaining(`uses ${folder.path} already`)])
  }
  expect((await svc(['self-host', 'status'], { env })).stdout).toContain('not running')
})

test('self-host tells the server of another program from one in a container, whose number is that of another process here', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  const env = { SVC_DATA_DIR: folder.path }
  const lock = join(folder.path, 'server.lock')
  await writeFile(lock, '')
  await using _server = await serverOf(folder.path, service.url, { pid: process.pid })
  const says = async () => {
    const status = await svc(['self-host', 'status'], { env: { ...env, SVC_PORT: '8421' } })
    const [stop, start] = [await svc(['self-host', 'stop'], { env }), await svc(['self-host', 'start'], { env })]
    expect([stop.code, start.code]).toEqual([1, 1])
    for (const { stderr } of [status, stop, start]) expect(stderr).not.toContain('another user')
    return { status: `${status.stdout}${status.stderr}`, stop: stop.stderr, start: start.stderr }
  }
  const inContainer = await says()
  expect(inContainer.status).toMatch(/started: +in another container of this machine\n/)
  expect(inContainer.status).not.toContain('would change settings')
  expect(inContainer.stop).toContain('It runs in another container of this machine')
  expect(inContainer.stop).toContain('Stop it there, or stop the container.')
  expect(inContainer.start).toContain('It runs in another container of this machine. Stop it there')
  const held = await open(lock)
  const ofOther = await says()
  await held.close()
  expect(ofOther.status).toContain('not started by svc self-host')
  expect(ofOther.stop).toContain('Another program started it')
  expect(ofOther.start).toContain('Another program started it')
})

test.if(process.getuid?.() === 0)(
  'self-host status, start and stop by root name the user whose server it is, and the command for that user',
  async () => {
    await using service = startService()
    await using folder = await temporaryFolder()
    const nobody = '65534'
    const theirs = Bun.spawn(['setpriv', '--reuid', nobody, '--regid', nobody, '--clear-groups', 'sleep', '600'])
    try {
      while ((await stat(`/proc/${theirs.pid}`)).uid !== Number(nobody)) await Bun.sleep(5)
      await using _server = await serverOf(folder.path, service.url, { pid: theirs.pid })
      await chown(join(folder.path, ownerSocketName), Number(nobody), Number(nobody))
      const env = { SVC_DATA_DIR: folder.path, SVC_PORT: '8421' }
      const main = join(import.meta.dir, '../../../svc/src/main.ts')
      const command = `sudo -Hu nobody env SVC_DATA_DIR=${folder.path} ${process.execPath} ${main} self-host`
      const shown = await svc(['self-host', 'status'], { env })
      expect(shown.stdout).toMatch(/started: +by another user \(nobody, 65534\)\n/)
      expect(shown.stderr).toContain(`${command} status\n`)
      expect(shown.stderr).not.toContain('only set in a shell')
      const stop = await svc(['self-host', 'stop'], { env })
      expect([stop.code, stop.stderr]).toEqual([
        1,
        expect.stringContaining('It is the server of another user (nobody, 65534)'),
      ])
      expect(stop.stderr).toContain(`Stop it as that user: ${command} stop\n`)
      const start = await svc(['self-host', 'start', '--yes'], { env })
      expect(start.stderr).toContain('It is the server of another user (nobody, 65534).')
    } finally {
      theirs.kill('SIGKILL')
      await theirs.exited
    }
  },
)

test('self-host status tells a public address without an answer from a server without one', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  const env = { SVC_DATA_DIR: folder.path }
  const away = 'http://127.0.0.1:1'
  for (const [own, says] of [
    [service.url, 'running, but its public address does not answer'],
    ['http://127.0.0.1:2', 'running, but not responding'],
    [null, 'running, but not responding'],
  ] as const) {
    await using _server = await serverOf(folder.path, away, { own_url: own })
    const shown = await svc(['self-host', 'status'], { env })
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining(`${says}\n`)])
    const isUp = own === service.url
    expect(shown.stderr.includes(`The server answers at ${own}, its own port.`)).toBe(isUp)
    const asJson = (await svc(['self-host', 'status', '--json'], { env })).json()
    expect(asJson).toMatchObject({ running: true, ready: false, answers_at: isUp ? own : null })
  }
})

test('self-host status says what to set where the certificate of the public address is not trusted', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  await using proxy = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, tls: makeCertificate('localhost') },
    fetch: () => Response.json({}),
  })
  const url = `https://127.0.0.1:${proxy.port}`
  await using _server = await serverOf(folder.path, url, { own_url: service.url })
  const shown = await svc(['self-host', 'status'], { env: { SVC_DATA_DIR: folder.path } })
  expect([shown.code, shown.stdout]).toEqual([
    0,
    expect.stringContaining('running, and the certificate of its public address is not trusted here\n'),
  ])
  expect(shown.stderr).toContain(`The certificate of ${url} is not trusted by this client: `)
  expect(shown.stderr).toContain('export NODE_EXTRA_CA_CERTS=<file>.pem')
})

test('self-host status names the database, and says why it cannot be used', async () => {
  await using service = startService({ getReady: () => new Response('{}', { status: 503 }) })
  await using folder = await temporaryFolder()
  const env = { SVC_DATA_DIR: folder.path }
  const status = async (database: object) => {
    await using _server = await serverOf(folder.path, service.url, { database })
    const shown = await svc(['self-host', 'status'], { env })
    const json = (await svc(['self-host', 'status', '--json'], { env })).json<{ server: { database: unknown } }>()
    expect(json.server.database).toEqual(database)
    return shown
  }
  const address = 'svc@db.example.com:5432/svc'
  const away = await status({ kind: 'external', address, problem: 'connect ECONNREFUSED' })
  expect(away.stdout).toMatch(/server: +running, but its database does not answer\n/)
  expect(away.stdout).toMatch(/database: +PostgreSQL svc@db.example.com:5432\/svc {2}connect ECONNREFUSED\n/)
  expect(away.stderr).toContain('refuses requests (503). To examine it: ')
  const own = await status({ kind: 'embedded', address: null, problem: null })
  expect(own.stdout).toMatch(/database: +embedded PostgreSQL\n/)
  expect([own.stdout, own.stderr]).toEqual([
    expect.stringContaining('not responding'),
    expect.not.stringContaining('503'),
  ])
})

test('self-host status says that the database is read-only', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  const database = { kind: 'external', address: 'svc@db.example.com:5432/svc', problem: null, read_only: true }
  await using _server = await serverOf(folder.path, service.url, { database })
  const shown = await svc(['self-host', 'status'], { env: { SVC_DATA_DIR: folder.path } })
  expect(shown.stdout).toMatch(/server: +running, but its database is read-only\n/)
  expect(shown.stdout).toMatch(/database: +PostgreSQL svc@db.example.com:5432\/svc {2}read-only\n/)
  expect(shown.stderr).toContain('Its database accepts no changes')
})

test('self-host status says that the disk is almost full', async () => {
  const problem = 'The disk is almost full, so no new work is accepted.'
  const disk = { ready: false, problem }
  await using service = startService({
    getReady: () => ({
      ...{ status: 'ready', version: '0.1.0', model: 'none', disk, providers: { apps: 'none', connectors: 'none' } },
      sandbox: { driver: 'fake', ready: true, problem: null, install: null, missing_limits: [] },
    }),
  })
  await using folder = await temporaryFolder()
  await using _server = await serverOf(folder.path, service.url)
  const shown = await svc(['self-host', 'status'], { env: { SVC_DATA_DIR: folder.path } })
  expect(shown.stdout).toContain(`${problem}\n`)
})

test('self-host env set says when the running server does not read what it saves', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  const env = { SVC_DATA_DIR: folder.path, SVC_CONFIG_FILE: join(folder.path, 'config.json') }
  const set = () => svc(['self-host', 'env', 'set', 'SVC_LOG=json'], { env })
  {
    await using _server = await serverOf(folder.path, service.url)
    const shown = await set()
    expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining('does not read these settings')])
    expect(shown.stderr).toContain(`${service.url}, process 4242`)
    expect(shown.stderr).not.toContain('Applies at the next start')
  }
  expect((await set()).stderr).not.toContain('does not read')
  const authority = await svc(['self-host', 'env', 'set', 'NODE_EXTRA_CA_CERTS=/etc/ssl/ca.pem'], { env })
  expect([authority.code, authority.stderr]).toEqual([
    2,
    expect.stringContaining('Set it where the server is started: in the shell of svc self-host start'),
  ])
}, 120_000)

/** A process that is paused. It ends with the test. */
async function pausedProcess() {
  const child = Bun.spawn(['sleep', '600'])
  child.kill('SIGSTOP')
  while (!(await isPaused(child.pid))) await Bun.sleep(5)
  return { pid: child.pid, [Symbol.asyncDispose]: async () => (child.kill('SIGKILL'), void (await child.exited)) }
}

test('self-host status says within seconds that a server is paused, however it was started', async () => {
  await using folder = await temporaryFolder()
  await using paused = await pausedProcess()
  // The kernel accepts connections for a paused process.
  const silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(join(folder.path, ownerSocketName), resolve))
  await writeFile(join(folder.path, 'server.lock'), `${paused.pid} 77777777-7777-4777-8777-777777777777\n`)
  const env = { SVC_DATA_DIR: folder.path }
  const began = performance.now()
  const shown = await svc(['self-host', 'status'], { env })
  expect(performance.now() - began).toBeLessThan(6_000)
  expect(shown.stdout).toMatch(new RegExp(`server: +paused by a signal\n.*process: +${paused.pid}\n`))
  expect(shown.stderr).toContain(`kill -CONT ${paused.pid}`)
  const { pid } = paused
  const asJson = (await svc(['self-host', 'status', '--json'], { env })).json()
  expect(asJson).toMatchObject({ running: true, ready: false, paused: true, server: { pid, data_dir: folder.path } })
  await writeFile(join(folder.path, 'server.lock'), `${process.pid} 77777777-7777-4777-8777-777777777777\n`)
  expect((await svc(['self-host', 'status'], { env })).stdout).toMatch(/server: +running, but not responding\n/)

  const config = join(folder.path, 'config')
  await mkdir(config)
  const state = {
    ...{ pid, born: await bornAt(pid), program: 'svc', url: 'http://127.0.0.1:9', log: 'x' },
    ...{ data_dir: folder.path, started_at: '2026-11-21T11:00:00.000Z' },
  }
  await writeFile(join(config, 'self-host.json'), JSON.stringify(state))
  const ours = await svc(['self-host', 'status'], { env: { SVC_CONFIG_FILE: join(config, 'config.json') } })
  expect([ours.stdout, ours.stderr]).toEqual([
    expect.stringMatching(/server: +paused by a signal\n/),
    expect.stringContaining(`kill -CONT ${pid}`),
  ])
  await new Promise<void>((resolve) => silent.close(() => resolve()))
}, 120_000)

test('self-host status lists settings that differ from those of the running server', async () => {
  await using service = startService()
  await using folder = await temporaryFolder()
  const config = join(folder.path, 'config')
  await mkdir(config)
  const env = { SVC_CONFIG_FILE: join(config, 'config.json'), SVC_PORT: '8421', SVC_LLM_MODEL: 'large' }
  const state = {
    ...{ pid: process.pid, born: await bornAt(process.pid), program: 'svc', url: service.url, log: 'x' },
    ...{ data_dir: folder.path, started_at: '2026-11-21T11:00:00.000Z', settings: fingerprints(env) },
  }
  await writeFile(join(config, 'self-host.json'), JSON.stringify(state))
  expect((await svc(['self-host', 'status'], { env })).stderr).not.toContain('other settings')
  const changed = { ...env, SVC_PORT: null, SVC_LLM_MODEL: 'small', SVC_LLM_UPSTREAM_KEY: 'a-long-secret-value' }
  for (const verb of ['status', 'start']) {
    const { stderr } = await svc(['self-host', verb], { env: changed })
    for (const line of [
      'The next svc self-host start would change settings of the running server:',
      'SVC_LLM_MODEL: another value now, small after the next start (only set in a shell)',
      'SVC_LLM_UPSTREAM_KEY: the default now, ••••alue after the next start (only set in a shell)',
      'SVC_PORT: another value now, the default after the next start (only set in a shell)',
    ])
      expect(stderr).toContain(line)
  }
  await writeFile(join(config, 'self-host.json'), JSON.stringify({ ...state, from_file: ['SVC_PORT'] }))
  const { stderr } = await svc(['self-host', 'status'], { env: { ...env, SVC_PORT: null } })
  // It was removed from the settings file, so nothing is lost with a shell.
  expect(stderr).toContain('SVC_PORT: another value now, the default after the next start\n')
  expect(stderr).not.toContain('env set saves a value')
  const shown = (await svc(['self-host', 'status', '--json'], { env: changed })).json()
  expect(shown).toMatchObject({ changed_settings: ['SVC_LLM_MODEL', 'SVC_LLM_UPSTREAM_KEY', 'SVC_PORT'] })
})

test('self-host start beside a running server says what status says is wrong with it', async () => {
  const sandbox = { driver: 'local', ready: false, problem: 'bwrap is missing' }
  const providers = { apps: 'none', connectors: 'none' }
  const ready = { status: 'ready', version: '1.0.0', model: 'demo', providers, sandbox }
  await using service = startService({ getReady: () => Response.json(ready) })
  await using folder = await temporaryFolder()
  const env = { SVC_CONFIG_FILE: join(folder.path, 'config.json'), SVC_DATA_DIR: folder.path }
  const startBeside = async (url: string, more: object) => {
    await using _server = await serverOf(folder.path, url, { pid: process.pid, ...more })
    const state = {
      ...{ pid: process.pid, born: await bornAt(process.pid), program: 'svc', url, log: 'x' },
      ...{ data_dir: folder.path, started_at: '2026-11-21T11:00:00.000Z' },
    }
    await writeFile(join(folder.path, 'self-host.json'), JSON.stringify(state))
    const { code, stdout, stderr } = await svc(['self-host', 'start'], { env })
    expect([code, stdout]).toEqual([0, expect.stringContaining('The server is already running')])
    return stderr
  }
  const first = await startBeside(service.url, {})
  expect(first).toContain('Sessions cannot start yet: bwrap is missing')
  expect(first).toContain('This client is not signed in to the server. To sign in there: svc login --host selfhost')
  expect(first).toContain(' | svc login --host selfhost --link -\n')
  const away = 'http://127.0.0.1:1'
  const unreached = await startBeside(away, { own_url: service.url })
  expect(unreached).toContain('The host selfhost of this client has a new address. To sign in there: ')
  expect(unreached).toContain('The server is running, but its public address does not answer')
  expect(unreached).toContain(`The server answers at ${service.url}, its own port.`)
  const database = { kind: 'external', address: 'svc@db.example.com:5432/svc', problem: 'connect ECONNREFUSED' }
  const withoutDatabase = await startBeside(away, { database })
  expect(withoutDatabase).toContain('its database does not answer')
  expect(withoutDatabase).toContain('refuses requests (503). To examine it: ')
})

test('self-host status takes the end of a server for a stop, also when the command was interrupted', async () => {
  await using folder = await temporaryFolder()
  await using paused = await pausedProcess()
  const { pid } = paused
  const config = { SVC_CONFIG_FILE: join(folder.path, 'config.json') }
  const file = join(folder.path, 'self-host.json')
  const state = {
    ...{ pid, born: await bornAt(pid), program: 'svc', url: 'http://127.0.0.1:1', log: '/the/log' },
    ...{ data_dir: folder.path, started_at: '2026-11-21T11:00:00.000Z' },
  }
  await writeFile(file, JSON.stringify(state))
  const main = join(import.meta.dir, '../../../svc/src/main.ts')
  const stop = Bun.spawn([process.execPath, main, 'self-host', 'stop'], {
    ...{ stdin: 'ignore', stdout: 'ignore', stderr: 'ignore', env: { PATH: process.env.PATH, ...config } },
  })
  const until = Date.now() + 60_000
  while (!(await readFile(file, 'utf8')).includes('stop_asked') && Date.now() < until) await Bun.sleep(20)
  stop.kill('SIGINT')
  await stop.exited
  process.kill(pid, 'SIGKILL')
  // Between its pause and its end it is an ordinary process for a moment.
  while (isAlive(pid) && !(await isZombie(pid)) && Date.now() < until) await Bun.sleep(5)
  const status = await svc(['self-host', 'status'], { env: config })
  expect(status.stdout).toMatch(/server: +not running\n/)
})

test('self-host says of a server that ended by itself where its log is and how long its sandboxes go on', async () => {
  await using folder = await temporaryFolder()
  const config = join(folder.path, 'config')
  await mkdir(config)
  const env = {
    ...{ SVC_CONFIG_FILE: join(config, 'config.json'), SVC_DATA_DIR: folder.path, SVC_SANDBOX_LEASE_SECONDS: '1800' },
  }
  // This process runs, but began at another time.
  const state = {
    ...{ pid: process.pid, born: '1', program: 'svc', url: 'http://127.0.0.1:1', log: '/the/log' },
    ...{ data_dir: folder.path, started_at: '2026-11-21T11:00:00.000Z' },
  }
  await writeFile(join(config, 'self-host.json'), JSON.stringify(state))
  const status = await svc(['self-host', 'status'], { env })
  expect(status.stdout).toContain('not running: it ended without svc self-host stop')
  expect(status.stdout).toContain('/the/log')
  expect(status.stderr).toContain('go on for 30 min after its end')
  expect(status.stdout).not.toContain('does not exist')
  const moved = `${folder.path}-moved`
  await writeFile(join(config, 'self-host.json'), JSON.stringify({ ...state, data_dir: moved }))
  const gone = await svc(['self-host', 'status'], { env: { ...env, SVC_DATA_DIR: moved } })
  expect(gone.stdout).toContain(`${moved}  does not exist\n`)
  await writeFile(join(config, 'self-host.json'), JSON.stringify(state))
  const alone = await svc(['self-host', 'status'], { env: { ...env, SVC_SANDBOX_LEASE_SECONDS: '0' } })
  expect(alone.stderr).toContain('Its sessions, apps and checks ended with it.')
  const stop = await svc(['self-host', 'stop'], { env })
  expect([stop.code, stop.stderr]).toEqual([0, expect.stringContaining(`Process ${process.pid} ended without`)])
  expect(stop.stderr).toContain('Its log is /the/log.')
})
