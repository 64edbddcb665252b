/** `svc self-host`: a server of one's own in the background, from the first start to its end. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { appendFile, mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { keys, Screen } from '../../packages/cli/src/testing/screen.ts'
import { program, root, run, until } from './harness.ts'

let home: string
let env: Record<string, string>
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-self-host-'))
  env = { PATH: process.env.PATH ?? '', HOME: home, SVC_SANDBOX_DRIVER: 'none' }
})
afterAll(async () => {
  await svc('self-host', 'stop')
  await rm(home, { recursive: true, force: true })
})

const svc = (...args: string[]) => run([program, ...args], { env, cwd: home })
const file = (name: string) => join(home, '.config/svc', name)

interface State {
  pid: number
  url: string
  started: boolean
  owner_link: string | null
}

test('svc self-host sets settings, starts, refuses a second start, shows status and logs, stops, and starts again', async () => {
  const port = await freePort()
  const set = await svc('self-host', 'env', 'set', `SVC_PORT=${port}`, 'SVC_LLM_UPSTREAM_KEY=a-long-secret-value')
  expect([set.code, set.stdout]).toEqual([0, expect.stringContaining('SVC_LLM_UPSTREAM_KEY=••••alue')])
  expect((await stat(file('self-host.env'))).mode & 0o777).toBe(0o600)
  const listed = await svc('self-host', 'env', 'ls')
  expect(listed.stdout).toContain(`SVC_PORT\t${port}`)
  expect(listed.stderr).toContain(`Saved in ${file('self-host.env')}`)
  expect(listed.stdout + set.stdout).not.toContain('a-long-secret-value')

  const first = await svc('self-host', 'start')
  const began = `A new, empty server began in ${join(home, '.local/share/svc')}: its database was made just now.`
  expect([first.code, first.stderr]).toEqual([0, expect.stringContaining(began)])
  const url = `http://127.0.0.1:${port}`
  expect(first.stdout).toContain(`The server is running: ${url}`)
  expect(first.stdout).toMatch(/http:\/\/127\.0\.0\.1:\d+\/sign-in#[0-9A-Za-z]{32}/)
  // The host is registered and the client signed in.
  const who = await svc('whoami', '--json')
  expect(JSON.parse(who.stdout)).toMatchObject({ host: 'selfhost', url, kind: 'user' })

  const second = JSON.parse((await svc('self-host', 'start', '--json')).stdout) as State
  expect(second).toMatchObject({ started: false, url })
  const status = JSON.parse((await svc('self-host', 'status', '--json')).stdout) as object
  expect(status).toMatchObject({ running: true, ready: true, server: { pid: second.pid, url } })
  // It has left this terminal: it has another process group and no parent here.
  const { stdout: group } = await run(['ps', '-o', 'pgid=', '-p', String(second.pid)])
  expect(Number(group)).toBe(second.pid)

  const logs = await svc('self-host', 'logs')
  expect([logs.code, logs.stdout]).toEqual([0, expect.stringContaining('svc is ready.')])
  expect(logs.stdout).toContain(`Data         ${join(home, '.local/share/svc')}`)
  expect(logs.stdout).toContain(`Master key   ${join(home, '.config/svc/master.key')}`)
  expect((await svc('self-host', 'logs', 'nonsense')).code).toBe(2)
  const none = await svc('self-host', 'logs', 'postgres')
  expect(none).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('SVC_LOG_LEVEL=debug') })
  expect((await stat(join(home, '.local/share/svc/log/server.log'))).mode & 0o077).toBe(0)

  const stopped = await svc('self-host', 'stop')
  expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringContaining('Stopped')])
  expect(stopped.stderr).toContain('No session, app or check was running.')
  const log = await readFile(join(home, '.local/share/svc/log/server.log'), 'utf8')
  expect(JSON.parse(log.trimEnd().split('\n').at(-1)!)).toMatchObject({ msg: 'stopped' })
  expect(log).not.toContain('a database connection was lost')
  expect(await fetch(`${url}/v1/health`).catch(() => null)).toBeNull()
  expect((await svc('self-host', 'stop')).code).toBe(0)

  const again = JSON.parse((await svc('self-host', 'start', '--json')).stdout) as State
  expect(again.started).toBe(true)
  expect((await svc('projects', 'ls')).code).toBe(0)
  process.kill(again.pid, 'SIGKILL')
  await until('its end to be seen', async () => (await svc('self-host', 'status')).stdout.includes('it ended without'))
  expect((JSON.parse((await svc('self-host', 'start', '--json')).stdout) as State).started).toBe(true)
}, 180_000)

test('a start without the data folder leaves its path free for it', async () => {
  const data = join(home, '.local/share/svc')
  await svc('self-host', 'stop')
  await rename(data, `${data}-away`)
  const away = await svc('self-host', 'start')
  expect([away.code, away.stderr]).toEqual([1, expect.stringContaining(`${data} is empty, and a server ran in it`)])
  expect(away.stderr).toContain('put the folder back where it was moved')
  await svc('self-host', 'doctor')
  await symlink(`${home}/not-mounted`, data)
  const unmounted = await svc('self-host', 'start')
  expect([unmounted.code, unmounted.stderr]).toEqual([1, expect.stringContaining(`${data} leads to a folder that`)])
  await rm(data)
  await rename(`${data}-away`, data)
  expect(await svc('self-host', 'start')).toMatchObject({ code: 0 })
}, 180_000)

test('a start with another version of the program names both', async () => {
  const fromSource = [process.execPath, join(root, 'packages/svc/src/main.ts')]
  const went = async (command: string[]) => {
    const started = await run([...command, 'self-host', 'start'], { env, cwd: home })
    expect([started.code, started.stderr]).toEqual([0, expect.any(String)])
    await svc('self-host', 'stop')
    return /went from svc (\S+) to (\S+)/.exec(started.stdout)?.slice(1) ?? null
  }
  await svc('self-host', 'stop')
  const [own, sources] = (await went(fromSource)) ?? []
  expect(sources).toEndWith('-dev')
  expect(await went([program])).toEqual([sources!, own!])
  expect(await went([program])).toBeNull()
}, 180_000)

test('a server beside the one of this client says how to add it as a host, in a command that works', async () => {
  expect((await svc('self-host', 'start')).code).toBe(0)
  const dir = await mkdtemp(join(tmpdir(), 'svc-self-host-'))
  const port = await freePort()
  const files = { SVC_DATA_DIR: join(dir, 'data'), SVC_MASTER_KEY_FILE: join(dir, 'master.key') }
  const own = { ...env, ...files, SVC_PORT: String(port) }
  const beside = (args: string[], input?: string) =>
    run([program, ...args], { env: own, cwd: dir, ...(input === undefined ? {} : { input }) })
  try {
    const { stderr } = await beside(['self-host', 'start'])
    const [, added = ''] = /To use this one: svc (login .*)$/m.exec(stderr) ?? []
    const { tokens } = JSON.parse(await readFile(file('config.json'), 'utf8')) as {
      tokens: Record<string, { token: string }>
    }
    const token = tokens[`http://127.0.0.1:${port}`]?.token ?? ''
    const signedIn = await beside([...added.split(' '), '--token', '-'], token)
    expect([signedIn.code, signedIn.stdout]).toEqual([0, expect.stringContaining('Signed in to')])
  } finally {
    await beside(['self-host', 'stop'])
    await rm(dir, { recursive: true, force: true })
  }
}, 120_000)

test('a start where sessions cannot start says why', async () => {
  const dir = join(home, 'without-sandboxes')
  const settings = {
    ...{ SVC_DATA_DIR: join(dir, 'data'), SVC_CONFIG_FILE: join(dir, 'config.json'), SVC_PORT: `${await freePort()}` },
    ...{ SVC_SANDBOX_DRIVER: 'container', DOCKER_HOST: 'unix:///nowhere/docker.sock' },
  }
  const server = (...args: string[]) =>
    run([program, 'self-host', ...args], { env: { ...env, ...settings }, cwd: home })
  try {
    const { code, stderr } = await server('start', '--yes')
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('Sessions cannot start yet: No container engine answers'),
    ])
    expect(stderr).toMatch(/To see what to install: (\S+=\S+ )*svc self-host doctor/)
  } finally {
    await server('stop')
  }
})

test('a start and a check without git say what to do, and a start names a full disk', async () => {
  await svc('self-host', 'stop')
  const without = { ...env, PATH: home }
  const withoutGit = (more: object, ...words: string[]) =>
    run([program, 'self-host', ...words], { env: { ...without, ...more }, cwd: home })
  const started = await withoutGit({ SVC_DISK_FREE_MIN: '400TiB' }, 'start', '--yes')
  expect([started.code, started.stderr]).toEqual([0, expect.stringContaining('git: cannot be run')])
  expect(started.stderr).toContain('Install git 2.38 or later')
  expect(started.stderr).toMatch(/disk: .* below 400 TiB no new work starts/)
  expect(started.stderr).toContain('svc self-host storage')
  const checked = await withoutGit({}, 'check')
  expect([checked.code, checked.stderr]).toEqual([1, expect.stringContaining('Install git 2.38 or later')])
  expect((await svc('self-host', 'stop')).code).toBe(0)
}, 120_000)

test('refuses what is no setting', async () => {
  for (const [words, said] of [
    [['SVC_PORTS=1'], 'Did you mean SVC_PORT?'],
    [['SVC_PORT'], 'Not KEY=VALUE'],
    [['SVC_PORT=1\n2'], 'must be one line'],
  ] as [string[], string][]) {
    const { code, stderr } = await svc('self-host', 'env', 'set', ...words)
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
  }
}, 120_000)

test('saves only settings that the server accepts, and says what to set instead', async () => {
  const before = await readFile(file('self-host.env'), 'utf8')
  const one = await svc('self-host', 'env', 'set', 'SVC_BACKUP_DIR=/mnt/backups', 'SVC_BACKUP_EVERY=often')
  expect([one.code, one.stderr]).toEqual([
    2,
    expect.stringContaining(
      'SVC_BACKUP_EVERY must be a duration of at least a minute, such as 6h or 1d, but is "often".',
    ),
  ])
  expect(one.stderr).toContain('Nothing was saved.')
  expect(one.stderr).toContain('svc self-host env set SVC_BACKUP_DIR=/mnt/backups SVC_BACKUP_EVERY=24h')
  const several = await svc('self-host', 'env', 'set', 'SVC_PORT=84210', 'SVC_ROLES=nonsense')
  expect(several.stderr).toContain('SVC_PORT must be a whole number from 0 to 65535')
  expect(several.stderr).toContain('SVC_ROLES must be api, worker or both')
  // Someone means a month by it.
  const month = await svc('self-host', 'env', 'set', 'SVC_BACKUP_DIR=/mnt/backups', 'SVC_BACKUP_KEEP=1m')
  expect([month.code, month.stderr]).toEqual([
    2,
    expect.stringContaining(
      'SVC_BACKUP_KEEP must be a count of backups such as 30, or an age of at least a day such as 14d or 8w, but is "1m".',
    ),
  ])
  const setBackups = (place: string) =>
    svc('self-host', 'env', 'set', `SVC_BACKUP_DIR=${place}`, `SVC_DATA_DIR=${file('data')}`)
  const inside = await setBackups(file('data/backups'))
  expect([inside.code, inside.stderr]).toEqual([
    2,
    expect.stringContaining(
      `SVC_BACKUP_DIR must not be inside the data folder ${file('data')}, with which the backups would be lost, but is ${file('data/backups')}.`,
    ),
  ])
  await mkdir(file('data'), { recursive: true })
  await symlink(file('data'), file('link'))
  const linked = await setBackups(file('link/backups'))
  expect([linked.code, linked.stderr]).toEqual([
    2,
    expect.stringContaining(`${file('link/backups')}, which leads there.`),
  ])
  const disk = await svc('self-host', 'env', 'set', 'SVC_DISK_FREE_MIN=5', 'SVC_EGRESS=none,github.com')
  expect([disk.code, disk.stderr]).toEqual([
    2,
    expect.stringContaining(
      'SVC_DISK_FREE_MIN must be a size of at least 1MiB, like "5GB", or 0 for no minimum, but is "5".',
    ),
  ])
  expect(disk.stderr).toContain('but "none" stands beside others.')
  // One without the other.
  const half = await svc('self-host', 'env', 'set', 'SVC_GIT_HOST=github.com')
  expect([half.code, half.stderr]).toEqual([2, expect.stringContaining('go together')])
  expect(half.stderr).toContain('svc self-host env set SVC_GIT_HOST=github.com SVC_GIT_HOST_TOKEN=-')
  expect(await readFile(file('self-host.env'), 'utf8')).toBe(before)
  expect(
    (await svc('self-host', 'env', 'set', 'SVC_LLM_UPSTREAM_URL=http://127.0.0.1:9/v1', 'SVC_LLM_MODEL=m')).code,
  ).toBe(0)
  const needed = await svc('self-host', 'env', 'unset', 'SVC_LLM_MODEL')
  expect([needed.code, needed.stderr]).toEqual([2, expect.stringContaining('SVC_LLM_MODEL must name the model')])
  const unset = await svc('self-host', 'env', 'unset', 'SVC_LLM_MODEL', 'SVC_LLM_UPSTREAM_URL', 'SVC_LOG')
  expect([unset.code, unset.stdout]).toEqual([0, '✓ SVC_LLM_MODEL removed\n✓ SVC_LLM_UPSTREAM_URL removed\n'])
  expect(unset.stderr).toContain('SVC_LOG was not set.')
  expect(await readFile(file('self-host.env'), 'utf8')).toBe(before)
  const unknown = await svc('self-host', 'env', 'unset', 'SVC_PORTS')
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('Did you mean SVC_PORT?')])
}, 120_000)

test('every command names the file of a saved setting that the server refuses, and how to change it', async () => {
  await svc('self-host', 'stop')
  const before = await readFile(file('self-host.env'), 'utf8')
  await appendFile(file('self-host.env'), 'SVC_ROLES="nonsense"\n')
  for (const words of [
    ['start'],
    ['check'],
    ['backup', join(home, 'backups')],
    ['backups', join(home, 'backups')],
    ['restore', join(home, 'backups')],
    ['resume'],
    ['rotate-key'],
  ]) {
    const { code, stderr } = await svc('self-host', ...words)
    expect([words, code, stderr]).toEqual([
      words,
      1,
      expect.stringContaining('A saved setting is invalid: SVC_ROLES must be api, worker or both, but has "nonsense".'),
    ])
    expect(stderr).toContain(`SVC_ROLES is saved in ${file('self-host.env')}.`)
    for (const fix of ['set SVC_ROLES=api,worker', 'unset SVC_ROLES'])
      expect(stderr).toContain(`svc self-host env ${fix}`)
  }
  expect((await svc('self-host', 'env', 'ls')).stderr).toContain('The server would not start: SVC_ROLES')
  // Commands that need no valid settings go on.
  const doctor = await svc('self-host', 'doctor')
  expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining('✗ SVC_ROLES: The next start fails: ')])
  expect(doctor.stdout).toContain(`SVC_ROLES is saved in ${file('self-host.env')}. svc self-host env set SVC_ROLES=`)
  expect(doctor.stdout).toContain('✓ disk: ')
  // Another setting can be saved meanwhile.
  const other = await svc('self-host', 'env', 'set', 'SVC_LOG=json')
  expect([other.code, other.stderr]).toEqual([0, expect.stringContaining('The server does not start yet: SVC_ROLES')])
  expect((await svc('self-host', 'env', 'unset', 'SVC_ROLES', 'SVC_LOG')).code).toBe(0)
  expect(await readFile(file('self-host.env'), 'utf8')).toBe(before)
  const shell = await run([program, 'self-host', 'check'], { env: { ...env, SVC_ROLES: 'nonsense' }, cwd: home })
  expect([shell.code, shell.stderr]).toEqual([1, expect.stringContaining('SVC_ROLES is set in this shell.')])
}, 120_000)

test('a saved setting that was made invalid beside a running server is named, and a stop needs no settings', async () => {
  const before = await readFile(file('self-host.env'), 'utf8')
  expect((await svc('self-host', 'start', '--yes')).code).toBe(0)
  await appendFile(file('self-host.env'), 'SVC_ROLES="nonsense"\n')
  for (const words of [['status'], ['upgrade', '--check'], ['start']]) {
    const { code, stderr } = await svc('self-host', ...words)
    expect([words, code, stderr]).toEqual([
      words,
      0,
      expect.stringContaining('The next start fails. A saved setting is'),
    ])
    expect(stderr).toContain('svc self-host env unset SVC_ROLES')
  }
  const doctor = await svc('self-host', 'doctor')
  expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining('✗ SVC_ROLES: The next start fails: ')])
  expect(doctor.stdout).toContain('✓ database: ')
  await writeFile(file('self-host.env'), `${before}no setting\n`)
  const line = `line ${before.split('\n').length} is not NAME="value"`
  const running = await svc('self-host', 'status')
  expect([running.code, running.stdout]).toEqual([0, expect.stringMatching(/server: +running\n/)])
  expect(running.stderr).toContain(`The next start fails. The settings of the server are unusable: ${line}`)
  expect(running.stderr).toContain(`Fix or move ${file('self-host.env')}.`)
  const again = await svc('self-host', 'start', '--yes')
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('The server is already running')])
  expect(again.stderr).toContain(`The next start fails. The settings of the server are unusable: ${line}`)
  const examined = await svc('self-host', 'doctor')
  expect([examined.code, examined.stdout]).toEqual([1, expect.stringContaining(`unusable: ${line}`)])
  expect(examined.stdout).toContain('✓ database: ')
  const stopped = await svc('self-host', 'stop')
  expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringContaining('Stopped')])
  const unread = await svc('self-host', 'status')
  expect([unread.code, unread.stdout]).toEqual([0, expect.stringContaining('not running')])
  expect(unread.stderr).toContain(`The next start fails. The settings of the server are unusable: ${line}`)
  const failed = await svc('self-host', 'start', '--yes')
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining(`unusable: ${line}`)])
  await writeFile(file('self-host.env'), `${before}SVC_ROLES="nonsense"\n`)
  const status = await svc('self-host', 'status')
  expect([status.code, status.stderr]).toEqual([0, expect.stringContaining('The next start fails. A saved setting is')])
  const { invalid_settings: named } = JSON.parse((await svc('self-host', 'status', '--json')).stdout) as {
    invalid_settings: string[]
  }
  expect(named).toEqual(['SVC_ROLES must be api, worker or both, but has "nonsense".'])
  await writeFile(file('self-host.env'), before)
}, 120_000)

test('status names why the last start failed, until one succeeds', async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as AddressInfo
  const failed = await run([program, 'self-host', 'start'], { env: { ...env, SVC_PORT: String(port) }, cwd: home })
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining(String(port))])
  await new Promise((resolve) => taken.close(resolve))
  const status = await svc('self-host', 'status')
  expect(status.stdout).toMatch(new RegExp(`last error: +.*${port}`))
  expect(status.stdout).toContain(join(home, '.local/share/svc/log/server.log'))
  expect(status.stderr).toContain('svc self-host logs')
  expect((await svc('self-host', 'start', '--yes')).code).toBe(0)
  expect((await svc('self-host', 'stop')).code).toBe(0)
  expect((await svc('self-host', 'status')).stdout).not.toContain('last error')
}, 120_000)

test('the systemd service runs the same program with the same settings', async () => {
  const { stdout, stderr } = await svc('self-host', 'unit')
  expect(stderr).toContain('systemctl --user enable --now svc')
  expect(stdout).toContain(`ExecStart="${program}" "server"`)
  expect(stdout).toContain(`EnvironmentFile=-${file('self-host.env')}`)
  expect(stdout).toContain(`\nRequiresMountsFor="${join(home, '.local/share/svc')}"\n`)
  // The user is that of the process, whatever the environment says.
  const ofSystem = await run([program, 'self-host', 'unit', '--system'], {
    env: { ...env, USER: 'another' },
    cwd: home,
  })
  const name = (await run(['id', '-un'], { env, cwd: home })).stdout.trim()
  expect(ofSystem.stderr).toContain('sudo systemctl enable --now svc')
  const shell = {
    ...env,
    SVC_MIRRORS_MAX_MB: '100',
    SVC_CONFIG_FILE: file('config.json'),
    NODE_EXTRA_CA_CERTS: 'a.pem',
  }
  const ofShell = await run([program, 'self-host', 'unit'], { env: shell, cwd: home })
  expect(ofShell.stderr).toContain(
    '! SVC_SANDBOX_DRIVER, SVC_MIRRORS_MAX_MB are set only in this shell. For the service: svc self-host env set SVC_SANDBOX_DRIVER=none SVC_MIRRORS_MAX_MB=100',
  )
  for (const kept of [`SVC_CONFIG_FILE=${file('config.json')}`, `NODE_EXTRA_CA_CERTS=${join(home, 'a.pem')}`])
    expect(ofShell.stdout).toContain(`\nEnvironment="${kept}"\n`)
  // The manager of a user has no target of the network.
  expect([stdout.includes('network'), ofSystem.stdout.includes('\nAfter=network-online.target\n')]).toEqual([
    false,
    true,
  ])
  const lines = (text: string) => text.split('\n')
  // The same service, with the user it runs as, and protected.
  expect(lines(stdout).filter((line) => !lines(ofSystem.stdout).includes(line))).toEqual(['WantedBy=default.target'])
  expect(ofSystem.stdout).toContain(`\nUser=${name}\nExecStart="${program}"`)
  expect(ofSystem.stdout).toContain('\nProtectSystem=full\n')
})

test('svc self-host configure needs a terminal', async () => {
  const { code, stderr } = await svc('self-host', 'configure')
  expect([code, stderr]).toEqual([2, expect.stringContaining('svc self-host env set SVC_APP_PROVIDER=local')])
})

test('the first start on a terminal asks for a model until the answer works, and never again', async () => {
  await using upstream = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) =>
      request.headers.get('authorization') === 'Bearer the-right-key'
        ? Response.json({ choices: [] })
        : Response.json({ error: { message: 'Wrong key' } }, { status: 401 }),
  })
  const port = await freePort()
  const dir = await mkdtemp(join(home, 'terminal-'))
  const own = {
    ...{ SVC_PORT: String(port), SVC_SANDBOX_DRIVER: 'none', SVC_DATA_DIR: join(dir, 'data'), HOME: dir },
  }
  const start = () => Screen.run([program, 'self-host', 'start'], { env: own, columns: 160 })
  const enter = async (screen: Screen, question: string | RegExp, answer = '') => {
    await screen.waitFor(question)
    screen.type(`${answer}${keys.enter}`)
  }
  const url = `http://127.0.0.1:${upstream.port}/v1`
  try {
    {
      await using screen = await start()
      await enter(screen, '1/3  Where should apps be deployed')
      await enter(screen, '2/3  Which git credential')
      await enter(screen, '3/3  How do agents connect')
      await enter(screen, 'Which model server do agents use?', url)
      await enter(screen, 'Name of the model', 'large')
      await enter(screen, 'API key, or Enter if it needs none', 'the-wrong-key')
      await screen.waitFor('Wrong key')
      await enter(screen, /Wrong key[^]*Which model server/, url)
      await enter(screen, /Wrong key[^]*Name of the model/, 'large')
      await enter(screen, /Wrong key[^]*API key, or Enter/, 'the-right-key')
      expect(await screen.exited()).toBe(0)
      expect(await screen.all()).toContain('Agents use large')
      expect(screen.raw).not.toContain('the-right-key')
    }
    const models = await run([program, 'models', 'ls', '--json'], { env: { ...env, ...own }, cwd: dir })
    expect(JSON.parse(models.stdout)).toMatchObject({ models: [{ id: 'large', default: true }] })
    expect((await run([program, 'models', 'rm', '--yes'], { env: { ...env, ...own }, cwd: dir })).code).toBe(0)
    await run([program, 'self-host', 'stop'], { env: { ...env, ...own }, cwd: dir })
    await using again = await start()
    expect(await again.exited()).toBe(0)
    expect(await again.all()).toContain('The server is running')
    expect(again.raw).not.toContain('Which model server')
  } finally {
    await run([program, 'self-host', 'stop'], { env: { ...env, ...own }, cwd: dir })
  }
}, 180_000)

test('stop --sessions while a plain stop is under way ends what that leaves', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-self-host-'))
  const own = { ...env, HOME: dir, SVC_PORT: String(await freePort()) }
  const here = (...args: string[]) => run([program, ...args], { env: own, cwd: dir })
  try {
    const { pid, url } = JSON.parse((await here('self-host', 'start', '--json')).stdout) as State
    // A server waits for the rest of a request while it stops.
    const half = connect(Number(new URL(url).port), '127.0.0.1')
    half.on('error', () => half.destroy())
    await new Promise<void>((resolve) =>
      half.write('POST /v1/projects HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{', () => resolve()),
    )
    process.kill(pid, 'SIGTERM')
    const stopped = await here('self-host', 'stop', '--sessions')
    half.destroy()
    expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringContaining(`Stopped (process ${pid})`)])
    // It looked for what the plain stop left.
    expect(stopped.stderr).toContain('No session, app or check was running.')
  } finally {
    await here('self-host', 'stop')
    await rm(dir, { recursive: true, force: true })
  }
}, 120_000)

test('the doctor says without a server what sessions would get and what is missing', async () => {
  const well = await run([program, 'self-host', 'doctor', '--json'], {
    env: { ...env, SVC_SANDBOX_DRIVER: 'local' },
    cwd: home,
  })
  expect(well.stderr).toBe('')
  expect(well.code).toBe(0)
  const report = JSON.parse(well.stdout) as {
    driver: string
    ready: boolean
    drivers: { name: string; findings: { name: string }[] }[]
  }
  expect(report).toMatchObject({ driver: 'local', ready: true })
  expect(report.drivers.map(({ name }) => name)).toEqual(['local', 'container'])
  expect(report.drivers[0]!.findings.map(({ name }) => name)).toContain('limits')

  const unreachable = { ...env, SVC_SANDBOX_DRIVER: 'local', DATABASE_URL: 'postgresql://svc@127.0.0.1:9/svc' }
  const halfIll = await run([program, 'self-host', 'doctor'], { env: unreachable, cwd: home })
  expect(halfIll.code).toBe(1)
  expect(halfIll.stdout).toContain('✗ database: cannot be used: ')
  expect(halfIll.stderr).toContain('Sandboxes can start on this machine, but')
  expect(halfIll.stderr).not.toContain('Sessions can start here.')

  const without = { ...env, SVC_SANDBOX_DRIVER: 'container', DOCKER_HOST: `unix://${home}/nobody.sock` }
  const ill = await run([program, 'self-host', 'doctor'], { env: without, cwd: home })
  expect(ill.code).toBe(1)
  expect(ill.stdout).toContain(`✗ engine: No container engine answers at ${home}/nobody.sock.`)
  expect(ill.stdout).toContain('apt-get install -y docker.io')
})
