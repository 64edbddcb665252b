/** Moves between PostgreSQL databases: what arrives, what is refused, and what an interruption leaves. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { migrate } from '../db/migrate.ts'
import { listTables, readContent, readSequences } from '../db/move/tables.ts'
import { createTestDatabase, withClient } from '../db/testing-cluster.ts'
import { pointsOf } from '../../../../test/torture/scenarios.ts'
import { until } from '../testing-until.ts'
import { createOwnedDatabase, fillTemplate, runMove, testPassword } from './testing-move.ts'
import { bootServer } from './testing-server.ts'

setDefaultTimeout(300_000)

let dir: string
beforeAll(async () => void (dir = await mkdtemp(join(tmpdir(), 'svc-move-'))))
afterAll(() => rm(dir, { recursive: true, force: true }))

const made: { drop(): Promise<void> }[] = []
afterEach(async () => {
  for (const database of made.splice(0)) await database.drop()
})

async function remember<T extends { drop(): Promise<void> }>(making: Promise<T>): Promise<T> {
  const database = await making
  made.push(database)
  return database
}

const filled = () => remember(createTestDatabase({ name: 'moved', prepare: fillTemplate }))
const target = (make?: string) => remember(createOwnedDatabase(make))
const run = (from: string, to: string, env: Record<string, string> = {}) =>
  runMove(to, { SVC_DATA_DIR: join(dir, 'data'), HOME: dir, DATABASE_URL: from, SVC_LOG: 'json', ...env })
const admin = (url: string, text: string) => withClient(url, (client) => client.query(text))

/** Everything but the marks of moves. */
function contentOf(url: string): Promise<unknown> {
  return withClient(url, async (client) => {
    await client.query(`set timezone = 'UTC'`)
    const tables = await listTables(client)
    const contents: unknown[] = []
    for (const table of tables) contents.push([table.name, await readContent(client, table)])
    return [contents, await readSequences(client)]
  })
}

/** What a copy takes off and puts back. */
function rulesOf(url: string): Promise<unknown> {
  return withClient(url, async (client) => {
    const keys = `select conrelid::regclass::text as owner, conname, pg_get_constraintdef(oid) as text, convalidated
      from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2`
    const triggers = `select tgrelid::regclass::text as owner, tgname, tgenabled, pg_get_triggerdef(oid) as text
      from pg_trigger where not tgisinternal order by 1, 2`
    // Keys with the same columns fire in the order in which they were made.
    const order = `select conname from pg_constraint where contype = 'f' order by oid`
    return [
      (await client.query(keys)).rows,
      (await client.query(triggers)).rows,
      (await client.query(order)).rows,
      (await client.query('select version, name from schema_migrations order by version')).rows,
    ]
  })
}

/** Why a server would not start on it, or null. */
function refusalOf(url: string): Promise<string | null> {
  return migrate(url).then(
    () => null,
    (error: Error) => error.message,
  )
}

test('an ordinary role gets every row, key, trigger and counter, and the source keeps its own', async () => {
  const [from, to] = [await filled(), await target()]
  const before = await contentOf(from.url)
  const listener = new pg.Client({ connectionString: to.url })
  listener.on('error', () => {})
  await listener.connect()
  const heard: string[] = []
  listener.on('notification', ({ channel }) => void heard.push(channel))
  for (const channel of ['svc_project_events', 'svc_jobs', 'svc_homes']) await listener.query(`listen ${channel}`)

  const { code, report, stderr } = await run(from.url, to.url)
  expect([code, report?.finished_earlier]).toEqual([0, false])
  expect(report!.tables).toBeGreaterThan(60)
  expect(report!.rows).toBeGreaterThan(10)
  expect(report!.to).toContain(`${to.role}@`)
  expect(JSON.stringify(report) + stderr).not.toMatch(/pass(\/|%2F)word/)
  const phases = stderr
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { phase: string }).phase)
  expect([...new Set(phases)]).toEqual(['reading', 'copying', 'comparing'])

  expect(await contentOf(from.url)).toEqual(before)
  expect(await contentOf(to.url)).toEqual(before)
  const fresh = await remember(createTestDatabase({ name: 'server', prepare: migrate }))
  expect(await rulesOf(to.url)).toEqual(await rulesOf(fresh.url))
  // Rows that were copied are no news.
  await listener.query('select 1')
  await listener.end()
  expect(heard).toEqual([])

  expect(await refusalOf(to.url)).toBeNull()
  expect(await refusalOf(from.url)).toMatch(/^The data moved from this database to mover_.* on 20\d\d-/)
  // The server of the source says it in one line.
  const { url, errors } = await bootServer({ dir: join(dir, 'late'), databaseUrl: from.url, token: '' }, () => {})
  expect([url, await errors()]).toEqual([
    null,
    expect.stringContaining('svc server: The data moved from this database'),
  ])

  const again = await run(from.url, to.url)
  expect([again.code, again.report?.finished_earlier, again.report?.move_id]).toEqual([0, true, report!.move_id])
  const third = await target()
  const elsewhere = await run(from.url, third.url)
  expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining('Move from that one')])
  const back = await run(to.url, from.url)
  expect([back.code, back.stderr]).toEqual([1, expect.stringContaining('is not empty: it has the data that moved to')])
})

test.each(pointsOf('databases'))('a move that is killed at %s is finished by the same command', async (point) => {
  const [from, to] = [await filled(), await target()]
  const before = await contentOf(from.url)
  const killed = await run(from.url, to.url, { SVC_FAILPOINTS: `${point}=kill` })
  expect([killed.code, killed.report]).toEqual([null, null])

  expect(await contentOf(from.url)).toEqual(before)
  const hasMark = point === 'database.after_mark'
  // Of the two, a server may start on the source or on none, so that nobody runs both.
  expect(await refusalOf(from.url)).toEqual(hasMark ? expect.stringContaining('The data moved') : null)
  expect(await refusalOf(to.url)).toContain('has an unfinished copy of the data in')

  const repeated = await run(from.url, to.url)
  expect([repeated.code, repeated.report?.finished_earlier]).toEqual([0, hasMark])
  expect([await refusalOf(to.url), await contentOf(to.url)]).toEqual([null, before])
})

test('a connection that breaks while rows are copied leaves the source as it was', async () => {
  const [from, to] = [await filled(), await target()]
  const file = join(dir, 'reached')
  const moving = run(from.url, to.url, { SVC_FAILPOINTS: `database.before_commit=pause:${file}` })
  await until('the rows are copied', () => Bun.file(file).exists())
  // While it runs, nothing else may touch either database.
  const second = await run(from.url, to.url, { SVC_DATA_DIR: join(dir, 'second') })
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('Another move of the data')])
  expect(await refusalOf(from.url)).toContain('moves the data of this database right now')
  await admin(to.adminUrl, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '${to.role}'`)
  await rm(file)
  const { code, stderr } = await moving
  expect([code, stderr]).toEqual([1, expect.stringContaining('Nothing is lost: run the command again')])
  expect(await refusalOf(from.url)).toBeNull()
  expect((await run(from.url, to.url)).code).toBe(0)
})

test('a source with a server, an earlier schema, or tables of others is refused', async () => {
  const [from, to] = [await filled(), await target()]
  const refused = async (why: RegExp) => {
    const { code, stderr } = await run(from.url, to.url)
    expect([code, stderr]).toEqual([1, expect.stringMatching(why)])
    expect(stderr).not.toContain(testPassword)
  }
  const server = new pg.Client({ connectionString: from.url, application_name: `svc ${randomUUID()}` })
  await server.connect()
  await refused(/A server is connected to .*svc self-host stop/)
  await server.end()

  await admin(from.url, 'create table of_others (n int)')
  await refused(/tables of .* are not as svc makes them: of_others/)
  await admin(from.url, 'drop table of_others')

  await admin(from.url, 'create table kept as select * from schema_migrations where version >= 40')
  await admin(from.url, 'delete from schema_migrations where version >= 40')
  await refused(/written by an earlier svc \(its tables are at version 39/)
  await admin(from.url, 'insert into schema_migrations select * from kept')
  await admin(from.url, `insert into schema_migrations (version, name) values (999, 'from the future')`)
  await refused(/written by a newer svc/)

  const unused = await remember(createTestDatabase({ name: 'server', prepare: migrate }))
  const { stderr } = await run(unused.url, to.url)
  expect(stderr).toContain('so there is nothing to move')
  const { stderr: same } = await run(from.url, `${from.url}&keepalives=1`)
  expect(same).toContain('newer svc')
})

test('a target that cannot take the data is refused before anything is changed, with what to do', async () => {
  const from = await filled()
  const refused = async (to: { url: string }, why: RegExp) => {
    const { code, stderr } = await run(from.url, to.url)
    expect([code, stderr]).toEqual([1, expect.stringMatching(why)])
    expect(stderr).toContain('Nothing was changed')
    expect(stderr).not.toMatch(/pass(\/|%2F)word/)
  }
  const to = await target()
  const { role } = to
  await admin(to.adminUrl, `alter role ${role} connection limit 5`)
  await refused(to, /it allows 5 connections, and a server needs 33/)
  await admin(to.adminUrl, `alter role ${role} connection limit -1`)
  await admin(to.adminUrl, `alter database ${role} set default_transaction_read_only = on`)
  await refused(to, /it is read-only/)
  await admin(from.url, `alter database ${role} reset all`)
  await admin(to.adminUrl, `alter database ${role} owner to svc`)
  await refused(to, /may not create tables in the schema public.*ALTER DATABASE "mover_.*" OWNER TO/)
  await admin(to.adminUrl, `alter database ${role} owner to ${role}`)
  await admin(to.url, `create table theirs (n int)`)
  await refused(to, /is not empty: it has tables of something else \(theirs\)/)
  await admin(to.url, `drop table theirs`)

  await migrate(to.adminUrl)
  await refused(to, /its table account_members belongs to another role/)
  await admin(to.adminUrl, `drop schema public cascade; create schema public authorization ${role}`)
  await migrate(to.url)
  await admin(to.url, `insert into accounts (account_id, name, plan) values ('${randomUUID()}', 'theirs', 'free')`)
  await refused(to, /is not empty: it has data of svc already \(in "accounts"\)/)
  const server = new pg.Client({ connectionString: to.url, application_name: `svc ${randomUUID()}` })
  await server.connect()
  await refused(to, /A server is connected to mover_/)
  await server.end()

  const other = await target(`encoding 'SQL_ASCII' template template0 locale 'C' locale_provider libc`)
  await refused(other, /its encoding is SQL_ASCII/)
  const at = (change: (url: URL) => void) => {
    const url = new URL(to.url)
    change(url)
    return { url: url.href }
  }
  const closed = new URL(`postgresql://svc:${encodeURIComponent(testPassword)}@127.0.0.1:9/none`)
  await refused({ url: closed.href }, /Cannot connect to svc@127\.0\.0\.1:9\/none.*that PostgreSQL listens there/)
  await refused(
    at((url) => (url.pathname = '/missing')),
    /does not exist.*CREATE DATABASE "missing" OWNER "mover_/,
  )
  await refused(
    at((url) => (url.username = 'nowhere')),
    /Create the role there: CREATE ROLE "nowhere" LOGIN/,
  )
  await refused({ url: `${closed.href}?sslrootcert=${dir}/missing.crt` }, /a file that it names cannot be read: ENOENT/)
  expect(await refusalOf(from.url)).toBeNull()
})
