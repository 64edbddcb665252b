/** The doctor's findings about a server at work, as its page and its command show them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ExaminedGroup } from '@svc/contract'
import type { Finding } from '@svc/sandbox'
import { randomUUID } from 'node:crypto'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { freePort, makeCertificate } from '@svc/git/testing'
import { sql } from 'kysely'
import { markRestore } from '../backup/restore-mark.ts'
import { keepServerName } from '../fleet/server-name.ts'
import { makeSessionApp, type SessionApp } from '../sessions/testing.ts'
import { lockDataFolder } from '../startup/folder-lock.ts'
import { examineCertificate } from './examine-reach.ts'
import { examineService, group } from './examine-service.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterAll(() => app.close())

const findingsIn = (groups: ExaminedGroup[]) =>
  new Map<string, Finding>(
    groups.flatMap(({ name, findings }) => findings.map((each) => [`${name} ${each.name}`, each] as const)),
  )

async function examined() {
  const { status, body } = await app.request<{ server: string | null; groups: ExaminedGroup[] }>('GET', '/v1/doctor')
  expect(status).toBe(200)
  return findingsIn(body.groups)
}

test('a healthy server has a good finding for each part', async () => {
  const found = await examined()
  for (const name of ['machine git', 'machine version', 'database connections', 'database clock', 'database queues'])
    expect([name, found.get(name)?.state]).toEqual([name, 'good'])
  expect(found.get('database database')!.says).toMatch(/^PostgreSQL \d+/)
  expect(found.get('machine disk')!.says).toMatch(/free at .*no new work starts$/)
})

test('a model and a host that do not answer are named with what to do', async () => {
  const port = await freePort()
  const { project } = await app.managedProject()
  await sql`update projects set managed = false, repo_url = ${`http://127.0.0.1:${port}/team/website.git`}
    where project_id = ${project.project_id}`.execute(app.deps.db)
  const found = await examined()
  // The test model is at the port of nothing.
  expect(found.get('reach model')).toMatchObject({
    state: 'missing',
    mend: expect.stringContaining('Check the address'),
  })
  expect(found.get(`reach 127.0.0.1:${port}`)).toMatchObject({
    state: 'weak',
    says: expect.stringContaining('ECONNREFUSED'),
  })
})

test('projects whose address the settings refuse are named with the setting', async () => {
  const { project, repo } = await app.externalProject({ 'a.txt': 'a\n' })
  const { config, db } = app.deps
  const addressesWith = async (changes: Partial<typeof config>) =>
    (await examineService({ config: { ...config, ...changes }, db }))
      .flatMap(({ findings }) => findings)
      .filter(({ name }) => name === 'addresses')
  expect(await addressesWith({})).toEqual([])
  const closed = { allowPrivateGitHosts: false, fileRepositories: null }
  expect(await addressesWith(closed)).toMatchObject([{ mend: expect.stringContaining('SVC_ALLOW_PRIVATE_GIT_HOSTS') }])
  await sql`update projects set repo_url = ${pathToFileURL(await realpath(repo.dir)).href}
    where project_id = ${project.project_id}`.execute(db)
  expect(await addressesWith({})).toEqual([])
  const refused = {
    state: 'weak',
    says: expect.stringContaining(project.slug),
    mend: expect.stringContaining('SVC_FILE_REPOSITORY_ROOTS'),
  }
  // As by default with a PostgreSQL of one's own, and with other folders than that of the repository.
  expect(await addressesWith({ fileRepositories: null })).toMatchObject([refused])
  expect(await addressesWith({ fileRepositories: { roots: ['/srv/git'] } })).toMatchObject([refused])
})

test.each([
  [5, '4 days'],
  [2, '1 day'],
])('a certificate of %s days is found before it has ended', async (days, left) => {
  await using server = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, tls: makeCertificate('localhost', { days }) },
    fetch: () => new Response(),
  })
  expect(await examineCertificate({ publicUrl: `https://127.0.0.1:${server.port}` })).toMatchObject({
    ...{ state: 'weak', mend: 'Renew it.', says: `that of 127.0.0.1:${server.port} ends in ${left}` },
  })
  expect(await examineCertificate({ publicUrl: 'http://127.0.0.1:8420' })).toBeNull()
})

test('a part that cannot be examined is a finding, and no credential of an address is shown', async () => {
  const model = { ...app.deps.config.model!, url: 'http://ada:secret-1@127.0.0.1:9/v1?key=secret-2' }
  const groups = await examineService({ config: { ...app.deps.config, model }, db: app.deps.db })
  const found = findingsIn([await group('sandboxes', [Promise.reject(new Error('No engine.'))])])
  expect(found.get('sandboxes sandboxes')).toMatchObject({ state: 'missing', mend: 'No engine.' })
  expect(findingsIn(groups).get('reach model')!.says).toContain('http://127.0.0.1:9/v1 cannot be reached')
  expect(JSON.stringify(groups)).not.toContain('secret-')
})

test('work that waits for long is found', async () => {
  const { db } = app.deps
  const { session_id } = await app.running()
  await app.request('POST', app.path(session_id, 'stop'))
  await app.reaches(session_id, 'stopped')
  await sql`insert into session_prompts (prompt_id, session_id, text, created_at)
    values (gen_random_uuid(), ${session_id}, 'Wait.', now() - interval '1 hour')`.execute(db)
  expect((await examined()).get('database prompts')).toMatchObject({
    state: 'weak',
    says: expect.stringMatching(/^1 waits, the oldest for (59|60) minutes$/),
  })
})

test('a full disk is missing, and without a database the rest is still examined', async () => {
  const { config } = app.deps
  const groups = await examineService({ config: { ...config, diskFreeBytesMin: 2 ** 60 }, db: null })
  const found = findingsIn(groups)
  expect(found.get('machine disk')).toMatchObject({
    state: 'missing',
    mend: expect.stringMatching(/^`svc self-host storage` shows .*`svc projects rm --purge`/),
  })
  expect(groups.map(({ name }) => name)).toEqual(['machine', 'data'])
})

test('the data of a server with a PostgreSQL of its own need its address', async () => {
  const config = { ...app.deps.config, databaseUrl: null, dataDir: await mkdtemp(join(tmpdir(), 'svc-doctor-')) }
  const examined = async () => findingsIn(await examineService({ config, db: null })).get('database database')
  lockDataFolder(config.dataDir, randomUUID).release()
  // The first start was ended before it had a database.
  expect(await examined()).toBeUndefined()
  keepServerName(config, 'here')
  expect(await examined()).toMatchObject({ state: 'missing', says: expect.stringContaining('DATABASE_URL is not set') })
  await markRestore(config.dataDir, { backupId: 'one', moveId: randomUUID() })
  expect(await examined()).toMatchObject({ mend: 'Run svc self-host restore again, which begins anew.' })
  await rm(config.dataDir, { recursive: true })
})

test('a stopped embedded database without all of its parts is named', async () => {
  const config = { ...app.deps.config, databaseUrl: null, dataDir: await mkdtemp(join(tmpdir(), 'svc-doctor-')) }
  const folder = join(config.dataDir, 'postgres')
  const examined = async () => findingsIn(await examineService({ config, db: null })).get('database database')
  for (const name of [
    'PG_VERSION',
    'base/1/PG_VERSION',
    'global/pg_control',
    'pg_xact/0000',
    'pg_wal/000000010000000000000001',
  ])
    await Bun.write(join(folder, name), '18\n')
  expect(await examined()).toBeUndefined()
  await rm(join(folder, 'pg_wal/000000010000000000000001'))
  await rm(join(folder, 'pg_xact'), { recursive: true })
  expect(await examined()).toMatchObject({
    ...{ state: 'missing', says: `${folder} lacks pg_xact, pg_wal` },
    mend: expect.stringContaining('restore a backup into an empty folder'),
  })
  await rm(config.dataDir, { recursive: true })
})

test('tables of a newer svc are named, on which no server of this program starts', async () => {
  await sql`insert into schema_migrations (version, name, svc_version) values (9999, 'later', '9.0.0')`.execute(
    app.deps.db,
  )
  const found = (await examined()).get('database tables')
  await sql`delete from schema_migrations where version = 9999`.execute(app.deps.db)
  expect(found).toMatchObject({ state: 'missing', mend: expect.stringContaining('Use svc 9.0.0 or newer') })
})

test('only an owner of the instance may ask', async () => {
  const other = await app.makeUser('owner', 'own')
  expect(await app.request('GET', '/v1/doctor', { token: other.token })).toMatchObject({ status: 403 })
})
