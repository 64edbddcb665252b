/** The data of every released version with today's program, and today's data with a program that does not know them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startIn } from '../../packages/server/src/startup/embedded-end.ts'
import { type Facts, factsOf, fixtures, masterKey, ownerToken, releaseNames } from '../releases/fixtures.ts'
import { document } from './document.ts'
import { git, program, removeFolder, root, run, ServerProcess, until } from './harness.ts'

setDefaultTimeout(400_000)

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-releases-'))
})
afterAll(() => removeFolder(dir))

/** An empty place with the master key of the fixtures. */
async function placeFor(name: string): Promise<Record<string, string>> {
  const place = join(dir, name)
  await mkdir(place)
  await writeFile(join(place, 'master.key'), masterKey, { mode: 0o600 })
  return {
    ...{ PATH: process.env.PATH ?? '', HOME: place, SVC_PORT: '0', SVC_LOG: 'json', SVC_SANDBOX_DRIVER: 'none' },
    // A kept release grows older with every day.
    SVC_KEEP_TRANSCRIPTS: 'forever',
    ...{ SVC_DATA_DIR: join(place, 'data'), SVC_MASTER_KEY_FILE: join(place, 'master.key') },
    ...{ SVC_CONFIG_FILE: join(place, 'config.json') },
  }
}

const selfHost = (args: string[], env: Record<string, string>) =>
  run([program, 'self-host', ...args], { env, cwd: dir })

class Restored extends ServerProcess {
  async boot(env: Record<string, string>): Promise<void> {
    if (!(await this.launch([program, 'server'], env))) throw new Error(this.output)
  }
}

interface ChangeRequest {
  cr_id: string
  number: number
  status: string
  merge_commit_sha: string | null
}

const releases = await releaseNames()

describe('released versions', () => {
  test('the version under development, or the release before it, is kept', async () => {
    const { version } = (await Bun.file(join(root, 'package.json')).json()) as { version: string }
    expect(releases.length).toBeGreaterThan(0)
    expect(releases.every((name) => Bun.semver.order(name, version) <= 0)).toBe(true)
    for (const name of releases) expect((await factsOf(name)).version).toBe(name)
  })

  test.each(releases)('the data of %s are restored, agree, and work on', async (release) => {
    const facts = await factsOf(release)
    const env = await placeFor(release)
    const folder = join(fixtures, release, 'backup')
    await document(selfHost(['restore', folder, '--json'], env))
    expect(await document(selfHost(['check', '--json'], env))).toEqual({
      ...{ projects: 1, repositories: 1, disagreements: [], elsewhere: { projects: 0, homes: [] } },
    })
    const server = new Restored(join(dir, release))
    await server.boot(env)
    server.token = ownerToken
    try {
      await worksOn(server, env, facts)
    } finally {
      await server.kill('SIGTERM')
    }
    expect(await document(selfHost(['check', '--json'], env))).toMatchObject({ disagreements: [] })
  })
})

async function worksOn(server: Restored, env: Record<string, string>, facts: Facts): Promise<void> {
  const at = (path: string) => `/v1/projects/${facts.project}${path}`
  const list = async () =>
    (await server.send<{ change_requests: ChangeRequest[] }>('GET', at('/change-requests?limit=50'))).change_requests
  const open = (await list()).find(({ number }) => number === facts.open)!
  await server.send('POST', at(`/change-requests/${open.cr_id}/merge`), undefined, 503)
  expect(await document(selfHost(['resume', '--json'], env))).toMatchObject({ resumed: true })
  await until('the server to act', async () => {
    return (await server.send<{ held: object | null }>('GET', '/v1/ready')).held === null
  })
  await server.send('POST', at(`/change-requests/${open.cr_id}/merge`))
  const merged = await list()
  expect(merged.map(({ number, status }) => [number, status]).toSorted()).toEqual([
    [facts.merged, 'merged'],
    [facts.open, 'merged'],
  ])
  const store = join(env.SVC_DATA_DIR!, 'repositories', `${facts.project}.git`)
  const history = (await git(store, 'rev-list', 'main')).split('\n')
  for (const { merge_commit_sha: sha } of merged) expect(history).toContain(sha!)
  const { items: secrets } = await server.send<{ items: { name: string }[] }>('GET', at('/secrets'))
  expect(secrets.map(({ name }) => name)).toEqual([facts.secret])
  const { triggers } = await server.send<{ triggers: { slug: string }[] }>('GET', at('/triggers'))
  expect(triggers.map(({ slug }) => slug)).toEqual([facts.trigger])
  const transcript = await server.send('GET', at(`/sessions/${facts.session}/transcript`))
  expect(JSON.stringify(transcript)).toContain(facts.said)
  expect(await server.send<object>('GET', at(`/sessions/${facts.session}/wip`))).toMatchObject({ files: 1 })
}

/** Every file of the data folder but those of PostgreSQL, which its own start changes, and what a start leaves beside. */
async function filesOf(dataDir: string): Promise<Record<string, string>> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const paths = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  const beside = /^(postgres|postgres-programs|log|run)\/|^(server\.lock|run-folder)$/
  const found: Record<string, string> = {}
  for (const path of paths) {
    const name = path.slice(dataDir.length + 1)
    if (!beside.test(name))
      found[name] = createHash('sha256')
        .update(await readFile(path))
        .digest('hex')
  }
  return found
}

/** A checksum of every row of every table. */
async function rowsOf(dataDir: string, change = ''): Promise<Record<string, string>> {
  const end = await startIn(join(dataDir, 'postgres'))
  try {
    if (change !== '') await end.client.query(change)
    const tables = await end.client.query<{ name: string }>(
      `select quote_ident(relname) as name from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname`,
    )
    const found: Record<string, string> = {}
    for (const { name } of tables.rows) {
      const { rows } = await end.client.query<{ sum: string }>(
        `select count(*) || ' ' || coalesce(md5(string_agg(t::text, ',' order by t::text)), '') as sum from ${name} t`,
      )
      found[name] = rows[0]!.sum
    }
    return found
  } finally {
    await end.close()
  }
}

test('data that a newer version has migrated are refused, and nothing of them is touched', async () => {
  const env = await placeFor('newer')
  const release = releases.at(-1)!
  const facts = await factsOf(release)
  await document(selfHost(['restore', join(fixtures, release, 'backup'), '--json'], env))
  const dataDir = env.SVC_DATA_DIR!
  const rows = await rowsOf(
    dataDir,
    `create table of_the_future (id integer);
      insert into schema_migrations (version, name, svc_version) values (9999, 'of the future', '99.1.0')`,
  )
  const before = await filesOf(dataDir)
  expect(Object.keys(before).some((name) => name.includes(facts.project))).toBe(true)
  const says = /written by a newer svc, 99\.1\.0 \(.*Nothing was changed\. Use svc 99\.1\.0 or newer/
  for (const args of [['start', '--yes'], ['check'], ['resume'], ['rotate-key'], ['backup', join(dir, 'none')]]) {
    const { code, stderr } = await selfHost(args, env)
    expect([args, code, stderr]).toEqual([args, 1, expect.stringMatching(says)])
  }
  const inForeground = await run([program, 'server'], { env, cwd: dir })
  expect([inForeground.code, inForeground.stderr]).toEqual([1, expect.stringMatching(says)])
  expect(await filesOf(dataDir)).toEqual(before)
  expect(await rowsOf(dataDir)).toEqual(rows)
  expect(await readFile(env.SVC_MASTER_KEY_FILE!, 'utf8')).toBe(masterKey)
  expect(await readdir(dir)).not.toContain('none')
})
