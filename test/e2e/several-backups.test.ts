/** Each of two servers backs up what it has, and the backups of both restore the whole installation. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { cp, mkdtemp, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { migrate } from '../../packages/server/src/db/migrate.ts'
import { createTestDatabase, withClient } from '../../packages/server/src/db/testing-cluster.ts'
import { document } from './document.ts'
import { gatewayOf, git, makeFirstCommit, program, removeFolder, run, ServerProcess, until } from './harness.ts'
import { OneOfSeveral, sharedSettings } from './one-of-several.ts'

setDefaultTimeout(120_000)

class Restored extends ServerProcess {
  async boot(env: Record<string, string>): Promise<void> {
    if (!(await this.launch([program, 'server'], env))) throw new Error(this.output)
  }
}

let database: Awaited<ReturnType<typeof createTestDatabase>>
let dir: string
let ada: OneOfSeveral
let bob: OneOfSeveral
/** By the name of its home. */
const projects = new Map<string, string>()

beforeAll(async () => {
  database = await createTestDatabase({ name: 'backups', prepare: migrate })
  dir = await mkdtemp(join(tmpdir(), 'svc-backups-'))
  const env = {
    ...sharedSettings(dir, database.url),
    SVC_PUBLIC_URL: 'http://127.0.0.1:8420',
    SVC_BOOTSTRAP_TOKEN: makeToken((count) => randomBytes(count)),
    SVC_SANDBOX_DRIVER: 'none',
    SVC_REPLICA: 'none',
  }
  ada = new OneOfSeveral(dir, 'ada', { ...env, HOME: join(dir, 'home-ada') })
  bob = new OneOfSeveral(dir, 'bob', { ...env, HOME: join(dir, 'home-bob') })
  await ada.boot()
  await bob.boot()
})
afterAll(async () => {
  for (const server of [ada, bob]) await server?.kill('SIGTERM')
  await database?.drop()
  await removeFolder(dir)
})

interface BackedUp {
  backup_id: string
  repositories: number
  missing: { slug: string; home?: string }[]
}

const placeOf = (server: OneOfSeveral) => join(dir, `backups-${server.name}`)
const keyOf = (server: OneOfSeveral) => join(dir, `${server.name}.key`)

async function homeOf(project: string): Promise<string> {
  const { projects: placed } = await ada.send<{ projects: { project_id: string; home: string }[] }>(
    'GET',
    '/v1/servers?include=projects',
  )
  return placed.find(({ project_id }) => project_id === project)!.home
}

test('the backup of one of two servers has its own repositories, names those of the other, and succeeds', async () => {
  for (const name of ['one', 'two']) {
    const { project_id } = await ada.send<{ project_id: string }>('POST', '/v1/projects', { name })
    await makeFirstCommit(ada, project_id, { 'name.txt': `${name}\n` })
    projects.set(await homeOf(project_id), project_id)
  }
  expect([...projects.keys()].toSorted()).toEqual(['ada', 'bob'])
  // A repository that is being made may be missing for two minutes.
  await withClient(database.url, (client) => client.query(`update projects set created_at = now() - interval '1 hour'`))
  for (const [server, other] of [
    [ada, bob],
    [bob, ada],
  ] as const) {
    const { code, stdout, stderr } = await server.selfHost([
      'backup',
      placeOf(server),
      '--encrypt',
      keyOf(server),
      '--json',
    ])
    const done = JSON.parse(stdout) as BackedUp
    expect([code, stderr, done.repositories]).toEqual([0, '', 1])
    expect(done.missing).toMatchObject([{ project_id: projects.get(other.name), home: other.name }])
  }
  const shown = await bob.selfHost(['backup', placeOf(bob), '--encrypt', keyOf(bob)])
  expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining('Back up on ada, too')])
})

test('a server does not back up into the place of another one of its installation', async () => {
  const { code, stderr } = await bob.selfHost(['backup', placeOf(ada), '--encrypt', keyOf(ada)])
  expect([code, stderr]).toEqual([1, expect.stringContaining(`${placeOf(ada)} has the backups of the server ada, `)])
  expect(stderr).toContain(`svc self-host backup ${placeOf(ada)} --encrypt ${keyOf(ada)} --claim`)
})

interface Doctor {
  groups: { name: string; findings: { name: string; state: string; says: string }[] }[]
}

/** It examines the settings of the next start, since a running server answers for itself, and these make no backups. */
async function backupsOf(server: OneOfSeveral, settings: Record<string, string>) {
  const { stdout } = await server.selfHost(['doctor', '--json'], settings)
  const { groups } = JSON.parse(stdout) as Doctor
  return groups.find(({ name }) => name === 'data')!.findings.find(({ name }) => name === 'backups')
}

test('the doctor says what the backups of a server do not include', async () => {
  await ada.kill('SIGTERM')
  try {
    expect(await backupsOf(ada, { SVC_BACKUP_DIR: placeOf(ada) })).toMatchObject({
      state: 'weak',
      says: expect.stringContaining('It does not include 1 project at home on other servers'),
    })
  } finally {
    await ada.boot()
  }
})

async function placeFor(name: string): Promise<Record<string, string>> {
  const place = join(dir, name)
  await cp(join(dir, 'master.key'), join(place, 'master.key'))
  return {
    ...{ PATH: process.env.PATH ?? '', HOME: place, SVC_PORT: '0', SVC_SANDBOX_DRIVER: 'none' },
    ...{ SVC_DATA_DIR: join(place, 'data'), SVC_MASTER_KEY_FILE: join(place, 'master.key') },
    SVC_CONFIG_FILE: join(place, 'config.json'),
  }
}

const restore = (env: Record<string, string>, ...args: string[]) =>
  run([program, 'self-host', 'restore', ...args], { env, cwd: dir })

test('a check says how many projects are at home on the other server', async () => {
  const { code, stdout, stderr } = await ada.selfHost(['check'])
  expect([code, stdout]).toEqual([0, expect.stringContaining('1 project and 1 repository agree')])
  expect(stderr).toContain('1 project has its home on other servers (bob): run this command there')
})

test('restores nothing from the backup of one server alone, unless the loss is accepted', async () => {
  const env = await placeFor('alone')
  const refused = await restore(env, placeOf(ada), '--key', keyOf(ada))
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('Its home is bob.')])
  expect(refused.stderr).toContain('Nothing was restored: the backup is without 1 repository')
  expect(refused.stderr).toContain('Add the places with the backups of bob')
  const inJson = await restore(env, placeOf(ada), '--key', keyOf(ada), '--json')
  expect(inJson.code).toBe(1)
  expect(JSON.parse(inJson.stderr)).toMatchObject({ missing: [{ project_id: projects.get('bob'), home: 'bob' }] })

  const accepted = await restore(env, placeOf(ada), '--key', keyOf(ada), '--accept-loss')
  expect([accepted.code, accepted.stderr]).toEqual([0, expect.stringContaining('Its home is bob.')])
  const checked = await run([program, 'self-host', 'check', '--json'], { env, cwd: dir })
  const { disagreements } = JSON.parse(checked.stdout) as { disagreements: object[] }
  expect(disagreements).toMatchObject([{ kind: 'missing_repository', project_id: projects.get('bob') }])
})

test('restores the whole installation from the backups of both servers', async () => {
  const env = await placeFor('whole')
  const done = await document<{ repositories: number; missing: object[]; others: object[] }>(
    restore(env, placeOf(ada), placeOf(bob), '--key', keyOf(ada), '--key', keyOf(bob), '--json'),
  )
  expect(done).toMatchObject({ repositories: 2, missing: [], others: [{ place: placeOf(bob), repositories: 1 }] })
  expect(await document(run([program, 'self-host', 'check', '--json'], { env, cwd: dir }))).toMatchObject({
    projects: 2,
    repositories: 2,
    disagreements: [],
  })
  const copy = new Restored(join(dir, 'whole'))
  copy.token = ada.token
  try {
    await copy.boot(env)
    for (const project_id of projects.values())
      expect(await git(dir, 'ls-remote', gatewayOf(copy, { project_id }), 'main')).toContain('refs/heads/main')
  } finally {
    await copy.kill('SIGTERM')
  }
})

test('refuses the backups of another installation beside the first', async () => {
  const other = join(dir, 'other')
  await cp(placeOf(bob), other, { recursive: true })
  for await (const name of new Bun.Glob('backups/*.json').scan(other)) {
    const { sha256: _, ...manifest } = await Bun.file(join(other, name)).json()
    await Bun.write(join(other, name), JSON.stringify({ ...manifest, installation_id: crypto.randomUUID() }))
  }
  const refused = await restore(
    await placeFor('foreign'),
    placeOf(ada),
    other,
    '--key',
    keyOf(ada),
    '--key',
    keyOf(bob),
  )
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('another installation')])
})

test('a check of a lost repository names the server that has a copy', async () => {
  const copied = { SVC_REPLICA: 'sync' }
  for (const server of [ada, bob]) await server.kill('SIGTERM')
  for (const server of [ada, bob]) await server.boot(copied)
  await until('the copies', async () => (await ada.send<{ count: number }>('GET', '/v1/copies')).count === 0)
  await ada.kill('SIGTERM')
  const repository = join(dir, `ada/repositories/${projects.get('ada')}.git`)
  await rename(repository, join(dir, 'aside.git'))
  const { code, stdout } = await ada.selfHost(['check'])
  expect([code, stdout]).toEqual([1, expect.stringContaining('svc self-host take-over ada')])
  expect(stdout).toContain('The server bob has a copy.')
  await rename(join(dir, 'aside.git'), repository)
})

test('a repository from a later backup comes back as of the moment of the database', async () => {
  await ada.boot({ SVC_REPLICA: 'sync' })
  const untilCopied = () =>
    until('the copies', async () => (await ada.send<{ count: number }>('GET', '/v1/copies')).count === 0)
  await untilCopied()
  const project = { project_id: projects.get('bob')! }
  const clone = join(dir, 'moments')
  await git(dir, 'clone', '--quiet', gatewayOf(ada, project), clone)
  const push = async (text: string) => {
    await Bun.write(join(clone, 'name.txt'), text)
    await git(clone, 'commit', '--quiet', '--all', '-m', text)
    await git(clone, 'push', '--quiet', 'origin', 'HEAD:refs/heads/topic')
    return (await git(clone, 'rev-parse', 'HEAD')).trim()
  }
  const first = await push('first')
  // Ada has no copy of it, as with three servers.
  await removeFolder(join(dir, `ada/replicas/${project.project_id}.git`))
  const [early, late] = [join(dir, 'early'), join(dir, 'late')]
  expect((await document<BackedUp>(ada.selfHost(['backup', early, '--json']))).missing).toHaveLength(1)
  await untilCopied()
  await push('second')
  await document(bob.selfHost(['backup', late, '--json']))
  await ada.kill('SIGTERM')

  const env = await placeFor('moments')
  await document(restore(env, early, late, '--json'))
  expect(await document(run([program, 'self-host', 'check', '--json'], { env, cwd: dir }))).toMatchObject({
    repositories: 2,
    disagreements: [],
  })
  const repository = join(env.SVC_DATA_DIR!, `repositories/${project.project_id}.git`)
  expect((await git(repository, 'rev-parse', 'topic')).trim()).toBe(first)
})

test('a backup without a repository of its server counts neither for the doctor nor for the metric', async () => {
  const settings = { SVC_BACKUP_DIR: placeOf(ada), SVC_BACKUP_KEY_FILE: keyOf(ada), SVC_BACKUP_EVERY: '6h' }
  const { backups: before } = await document<{ backups: { created_at: string }[] }>(
    ada.selfHost(['backups', placeOf(ada), '--json']),
  )
  await ada.kill('SIGTERM')
  await removeFolder(join(dir, `ada/repositories/${projects.get('ada')}.git`))
  const { code, stdout } = await ada.selfHost(['backup', placeOf(ada), '--encrypt', keyOf(ada)])
  expect([code, stdout]).toEqual([1, expect.stringContaining('This machine does not have its repository.')])
  expect(await backupsOf(ada, settings)).toMatchObject({
    state: 'weak',
    says: expect.stringMatching(/is incomplete, and the last complete one is (less than a minute|\d+ min) old/),
  })
  await ada.boot(settings)
  const [, complete] = await until('the metric', async () => {
    const text = await (await ada.api('/metrics', { token: null })).text()
    return /^svc_backup_incomplete 1$/m.test(text) ? /^svc_backup_last_timestamp_seconds (\S+)$/m.exec(text) : null
  })
  expect(Number(complete)).toBe(Math.floor(Date.parse(before[0]!.created_at) / 1000))
})

test('the repositories of one server come back from its backup, beside the database of all', async () => {
  const { backups } = await document<{ backups: { backup_id: string; missing: number }[] }>(
    ada.selfHost(['backups', placeOf(ada), '--json']),
  )
  const { backup_id } = backups.at(-1)!
  const env = await placeFor('one-disk')
  const of = ['--backup', backup_id, '--key', keyOf(ada), '--accept-loss']
  expect((await restore(env, placeOf(ada), ...of)).code).toBe(0)
  await ada.kill('SIGTERM')
  const name = `repositories/${projects.get('ada')}.git`
  await cp(join(env.SVC_DATA_DIR!, name), join(dir, 'ada', name), { recursive: true })
  const { code, stdout } = await ada.selfHost(['check'])
  expect([code, stdout]).toEqual([0, expect.stringContaining('1 project and 1 repository agree')])
  await ada.boot({ SVC_REPLICA: 'sync' })
  const remote = gatewayOf(bob, { project_id: projects.get('ada')! })
  expect(await git(dir, 'ls-remote', remote, 'main')).toContain('refs/heads/main')
})
