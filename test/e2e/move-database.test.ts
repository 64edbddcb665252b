/** A server with the embedded database moves to another PostgreSQL, becomes the first of two, and moves back. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import {
  createOwnedDatabase,
  type OwnedDatabase,
  testPassword,
} from '../../packages/server/src/startup/testing-move.ts'
import { Screen } from '../../packages/cli/src/testing/screen.ts'
import { programOf } from '../../packages/server/src/startup/testing-program.ts'
import { gatewayOf, git, makeFirstCommit, program, type Ran, run, Server, ServerProcess, until } from './harness.ts'
import { below, isAlive } from './processes.ts'

setDefaultTimeout(300_000)

class Second extends ServerProcess {
  async boot(env: Record<string, string>): Promise<void> {
    if (!(await this.launch([program, 'server'], env))) throw new Error(this.output)
  }
}

let server: Server
let second: Second | null = null
let target: OwnedDatabase
let project: string
let session: string
let readerToken: string
let before: unknown
beforeAll(async () => {
  target = await createOwnedDatabase()
  server = await Server.start()
})
afterAll(async () => {
  await second?.kill('SIGTERM')
  await server?.end()
  await target?.drop()
})

/** As the operator runs it: on the server's machine, with the server's settings. */
function moveTo(to: string, env: Record<string, string> = server.env, ...flags: string[]): Promise<Ran> {
  return run([program, 'self-host', 'move-database', '-', ...flags], { env, cwd: server.dir, input: `${to}\n` })
}

const inProject = <T>(path: string) => server.send<T>('GET', `/v1/projects/${project}${path}`)

/** What a user has. */
async function story(): Promise<unknown> {
  const events = await server.json<object[]>(['events', '--project', project, '--after', '0'])
  return {
    transcript: await inProject(`/sessions/${session}/transcript`),
    session: await inProject(`/sessions/${session}`),
    changes: await inProject('/change-requests'),
    secrets: await inProject('/secrets'),
    events,
    members: await server.json(['members', 'ls']),
  }
}

test('a server has a project, a secret, a token, and a session whose work is merged', async () => {
  project = (await server.json<{ project_id: string }>(['projects', 'create', '--name', 'moving'])).project_id
  await makeFirstCommit(server, project)
  await server.send('POST', `/v1/projects/${project}/secrets`, { name: 'KEY', value: 'a-value-that-moves' })
  readerToken = (await server.svc(['tokens', 'create', '--name', 'reader'])).stdout.trim()
  const prompt = [
    'Do this.',
    '',
    '```svc-script',
    'echo work > work.txt && git add . && git commit -q -m Work && git push -q && echo "key has ${#KEY}, done-$((40 + 2))"',
    '```',
  ].join('\n')
  session = (
    await server.send<{ session_id: string }>('POST', `/v1/projects/${project}/sessions`, {
      model: 'svc-scripted-demo',
      initial_prompt: prompt,
    })
  ).session_id
  await until('the agent to end its turn', async () => {
    return JSON.stringify(await inProject(`/sessions/${session}/transcript`)).includes('key has 18, done-42')
  })
  const { branch_name: branch } = await inProject<{ branch_name: string }>(`/sessions/${session}`)
  await server.json(['cr', 'open', '--head', branch, '--title', 'Work', '--project', project])
  await server.json(['cr', 'merge', branch, '--project', project])
  await server.send('POST', `/v1/projects/${project}/sessions/${session}/stop`)
  await until(
    'the session to stop',
    async () => (await inProject<{ status: string }>(`/sessions/${session}`)).status === 'stopped',
  )
  // A job of its own reports the merge, and nothing happens after that.
  await until('the merge to be an event', async () => JSON.stringify(await story()).includes('default_branch.moved'))
  before = await story()
})

test('the data of a running server do not move', async () => {
  const { code, stderr } = await moveTo(target.url)
  expect([code, stderr]).toEqual([1, expect.stringContaining('Another program started it')])
  await server.kill('SIGTERM')
})

test('a move that is killed in the middle leaves the server able to start, and moves when it is repeated', async () => {
  const reached = join(server.dir, 'reached')
  const client = Bun.spawn([...(await programOf('svc')), 'self-host', 'move-database', '-'], {
    env: { ...server.env, SVC_FAILPOINTS: `database.before_commit=pause:${reached}` },
    cwd: server.dir,
    stdin: new TextEncoder().encode(`${target.url}\n`),
    stdout: 'ignore',
    stderr: 'ignore',
  })
  await until('the rows to be copied', () => Bun.file(reached).exists())
  const [mover] = below(client.pid, '--move-database')
  client.kill('SIGKILL')
  await client.exited
  await until('the move to end with its command', () => !isAlive(mover!))
  await rm(reached)
  await server.boot()
  expect(await story()).toEqual(before)
  await server.kill('SIGTERM')

  const moved = await moveTo(target.url, server.env, '--json')
  expect([moved.code, moved.stderr]).toEqual([0, ''])
  const report = JSON.parse(moved.stdout) as Record<string, unknown>
  expect(report).toMatchObject({ moved: true, finished_earlier: false, set_aside: null, saved_in: null })
  expect(report.from).toContain(join(server.dir, 'data/postgres'))
  for (const secret of [testPassword, encodeURIComponent(testPassword)]) expect(moved.stdout).not.toContain(secret)
  const again = await moveTo(target.url)
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('The data had moved already')])
  expect(again.stderr).toContain('Before the next start, the server needs DATABASE_URL')
})

test('no server starts on the database before, and one on the other has everything', async () => {
  await expect(server.boot()).rejects.toThrow(/svc server: The data moved from this database to mover_/)
  const rotate = await run([program, 'self-host', 'rotate-key'], { env: server.env, cwd: server.dir })
  expect([rotate.code, rotate.stderr]).toEqual([1, expect.stringContaining('The data moved from this database')])

  server.env.DATABASE_URL = target.url
  await server.boot()
  expect(await story()).toEqual(before)
  const asReader = await server.api('/v1/projects', { token: readerToken })
  expect([asReader.status, await asReader.json()]).toEqual([200, [expect.objectContaining({ project_id: project })]])
  // Its counters go on after those of the copy.
  await server.send('POST', `/v1/projects/${project}/secrets`, { name: 'LATER', value: 'set-after-the-move' })
  await server.send('POST', `/v1/projects/${project}/sessions/${session}/restart`)
  await until(
    'the session to run',
    async () => (await inProject<{ status: string }>(`/sessions/${session}`)).status === 'running',
  )
  await server.send('POST', `/v1/projects/${project}/sessions/${session}/stop`)
  await until(
    'the session to stop',
    async () => (await inProject<{ status: string }>(`/sessions/${session}`)).status === 'stopped',
  )
  await server.kill('SIGTERM')
})

test('it becomes the first of two servers', async () => {
  const ports = [Number(server.env.SVC_PORT), await freePort()]
  const envs = ports.map((port) => ({
    ...server.env,
    SVC_PORT: String(port),
    SVC_PEER_URL: `http://127.0.0.1:${port}`,
    SVC_PUBLIC_URL: `http://127.0.0.1:${ports[0]}`,
    SVC_ALLOW_PRIVATE_GIT_HOSTS: '1',
  }))
  Object.assign(server.env, envs[0])
  await server.boot()
  second = new Second(server.dir)
  await second.boot({
    ...envs[1]!,
    SVC_DATA_DIR: join(server.dir, 'data-2'),
    SVC_CONFIG_FILE: join(server.dir, 'second.json'),
  })
  second.url = `http://127.0.0.1:${ports[1]}`
  second.token = server.token
  const { servers } = await server.send<{ servers: { running: boolean; projects: number }[] }>('GET', '/v1/servers')
  expect(servers.map(({ running, projects }) => [running, projects]).toSorted()).toEqual([
    [true, 0],
    [true, 1],
  ])
  const { change_requests } = await second.send<{ change_requests: { status: string }[] }>(
    'GET',
    `/v1/projects/${project}/change-requests`,
  )
  expect(change_requests.map(({ status }) => status)).toEqual(['merged'])
  // A push to the home through the other, which keeps a copy.
  const clone = join(server.dir, 'clone')
  await git(server.dir, 'clone', '--quiet', gatewayOf(second, { project_id: project }), clone)
  expect(await Bun.file(join(clone, 'work.txt')).text()).toBe('work\n')
  await git(clone, 'commit', '--quiet', '--allow-empty', '-m', 'Through the second')
  await git(clone, 'push', '--quiet', 'origin', 'HEAD:refs/heads/second')

  // The first one alone is stopped: the other still uses the database.
  await server.kill('SIGTERM')
  delete server.env.SVC_PEER_URL
  const { code, stderr } = await moveTo('embedded')
  expect([code, stderr]).toEqual([1, expect.stringContaining('A server is connected to mover_')])
  const folders = await readdir(server.env.SVC_DATA_DIR!)
  expect(folders.filter((name) => /^postgres-(left|arriving)/.test(name))).toEqual([])
  await second.kill('SIGTERM')
})

test('the data move back into the embedded database, and the settings follow', async () => {
  const settings = (...args: string[]) =>
    run([program, 'self-host', 'env', ...args], { env: server.env, cwd: server.dir, input: `${target.url}\n` })
  expect((await settings('set', `SVC_DATA_DIR=${server.env.SVC_DATA_DIR}`, 'DATABASE_URL=-')).code).toBe(0)
  const { DATABASE_URL: _, SVC_DATA_DIR: __, ...shell } = server.env
  {
    await using screen = await Screen.run([program, 'self-host', 'move-database', 'embedded'], {
      env: shell,
      // The printed command is one word after the other, and none of them is broken.
      columns: 400,
    })
    expect(await screen.exited()).toBe(0)
    expect(screen.raw).toMatch(/Reading \w+ \(\d+ of \d+ tables\)[^]*Copying \w+ \(\d+ of \d+ rows\)[^]*Comparing/)
    // Progress is one line, which is gone at the end.
    const shown = await screen.all()
    expect(shown).toMatch(/✓ Moved [\d,]+ rows of \d+ tables, all compared: the embedded database in/)
    expect(shown).not.toContain('Comparing')
    expect(shown).toMatch(/self-host.env. Next: (\S+=\S+ )*svc self-host start/)
  }
  const listed = JSON.parse((await settings('ls', '--json')).stdout) as { name: string; value: string | null }[]
  expect(listed.find(({ name }) => name === 'DATABASE_URL')).toMatchObject({ value: null })
  // The database of before the first move stays, under another name.
  const kept = (await readdir(server.env.SVC_DATA_DIR!)).filter((name) => name.startsWith('postgres-left-'))
  expect(kept).toHaveLength(1)
  expect(existsSync(join(server.env.SVC_DATA_DIR!, kept[0]!, 'PG_VERSION'))).toBe(true)

  await expect(server.boot()).rejects.toThrow(/The data moved from this database to the embedded database in/)
  delete server.env.DATABASE_URL
  await server.boot()
  const { items } = await inProject<{ items: { name: string }[] }>('/secrets')
  expect(items.map(({ name }) => name)).toEqual(['KEY', 'LATER'])
  const { branches } = await inProject<{ branches: { name: string }[] }>('/branches')
  expect(branches.map(({ name }) => name)).toContain('second')
  expect(JSON.stringify(await inProject(`/sessions/${session}/transcript`))).toContain('key has 18, done-42')
})
