import { afterEach, describe, expect, test } from 'bun:test'
import pg from 'pg'
import { migrate, NewerDatabaseError } from './migrate.ts'
import { createTestDatabase, type TestDatabase } from './testing-cluster.ts'

const made: TestDatabase[] = []
afterEach(async () => {
  for (const database of made.splice(0)) await database.drop()
})

async function emptyDatabase(): Promise<string> {
  const database = await createTestDatabase({ name: 'empty', prepare: async () => {} })
  made.push(database)
  return database.url
}

async function query<T extends pg.QueryResultRow>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<T>(text)).rows
  } finally {
    await client.end()
  }
}

/** Every column of every table and the applied migrations, which must not change. */
async function fingerprint(url: string): Promise<unknown> {
  return [
    await query(
      url,
      `select table_name, column_name from information_schema.columns where table_schema = 'public' order by 1, 2`,
    ),
    await query(url, 'select * from schema_migrations order by version'),
  ]
}

describe('migrations', () => {
  test('five concurrent servers apply each migration once', async () => {
    const url = await emptyDatabase()
    await Promise.all(Array.from({ length: 5 }, () => migrate(url)))
    const versions = await query<{ version: number }>(url, 'select version from schema_migrations order by version')
    const applied = versions.map(({ version }) => version)
    expect(applied.length).toBeGreaterThan(27)
    expect(applied).toEqual([...new Set(applied)])
    expect(await query(url, 'select * from audit_events')).toEqual([])
  }, 120_000)

  test('a second run changes nothing', async () => {
    const url = await emptyDatabase()
    await migrate(url)
    const before = await fingerprint(url)
    await migrate(url)
    expect(await fingerprint(url)).toEqual(before)
  }, 120_000)

  test('refuses data of a newer program and leaves it unchanged', async () => {
    const url = await emptyDatabase()
    await migrate(url)
    await query(
      url,
      `insert into schema_migrations (version, name, svc_version) values (999, 'from the future', '9.9.0')`,
    )
    const before = await fingerprint(url)
    const refusal = await migrate(url).then(
      () => null,
      (error: unknown) => error,
    )
    expect(refusal).toBeInstanceOf(NewerDatabaseError)
    expect((refusal as Error).message).toMatch(
      /newer svc, 9\.9\.0 .*version 999.*Nothing was changed\. Use svc 9\.9\.0 or newer/,
    )
    expect(await fingerprint(url)).toEqual(before)
  }, 120_000)

  test('names no version where the tables of a newer program do not', async () => {
    const url = await emptyDatabase()
    await migrate(url)
    await query(url, `insert into schema_migrations (version, name) values (999, 'from the future')`)
    await query(url, 'alter table schema_migrations drop column svc_version')
    await expect(migrate(url)).rejects.toThrow(/by a newer svc \(.*Use a newer svc, or/)
  }, 120_000)

  test('a server that dies during a migration leaves no lock', async () => {
    const url = await emptyDatabase()
    const dying = new pg.Client({ connectionString: url })
    dying.on('error', () => {})
    await dying.connect()
    const [{ pid }] = (await dying.query<{ pid: number }>('select pg_backend_pid() as pid')).rows as [{ pid: number }]
    await dying.query('select pg_advisory_lock(7346201)')
    const waiting = migrate(url)
    await query(url, `select pg_terminate_backend(${pid}, 5000)`)
    await waiting
    expect(await query(url, 'select version from schema_migrations where version = 1')).toHaveLength(1)
  }, 120_000)
})
