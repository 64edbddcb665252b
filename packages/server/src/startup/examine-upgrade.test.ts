import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { migrate } from '../db/migrate.ts'
import { createTestDatabase, type TestDatabase, withClient } from '../db/testing-cluster.ts'
import { createMasterKey } from '../keyring/master-key.ts'
import { makeTestApp } from '../testing.ts'
import { examineUpgrade } from './examine-upgrade.ts'

let database: TestDatabase
let dataDir: string
let config: Config
beforeAll(async () => {
  database = await createTestDatabase({ name: 'examined', prepare: migrate })
  dataDir = await mkdtemp(join(tmpdir(), 'svc-examined-'))
  const app = await makeTestApp()
  config = { ...app.deps.config, dataDir, databaseUrl: database.url, sandboxDriver: 'none', diskFreeBytesMin: 0 }
  await app.close()
}, 120_000)
afterAll(async () => {
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

test('a program that can run on the data has no problem to report', async () => {
  expect(await examineUpgrade(config)).toMatchObject({ driver: null, migrations: 0, problems: [] })
})

test('migrations that a start would apply are counted and not applied', async () => {
  const versions = 'select version from schema_migrations order by version'
  await withClient(database.url, async (client) => {
    const { rows: before } = await client.query(versions)
    await client.query('begin')
    await client.query('create table kept as select * from schema_migrations where version >= 40')
    await client.query('delete from schema_migrations where version >= 40')
    await client.query('commit')
    const { rows: left } = await client.query(versions)
    expect(await examineUpgrade(config)).toMatchObject({ migrations: before.length - left.length, problems: [] })
    expect((await client.query(versions)).rows).toEqual(left)
    await client.query('insert into schema_migrations select * from kept')
    await client.query('drop table kept')
  })
})

test('a master key that is missing or does not fit is a problem, also on tables from before the root key', async () => {
  const masterKeyFile = join(dataDir, 'master.key')
  const examined = async () => (await examineUpgrade({ ...config, masterKeyFile })).problems
  await withClient(database.url, async (client) => {
    await client.query(`insert into installation (installation_id, master_key_id) values (gen_random_uuid(), 'ours')`)
    await client.query('alter table root_keys rename to later')
    expect(await examined()).toMatchObject([
      { name: 'master key', says: expect.stringContaining(`there is none at ${masterKeyFile}`) },
    ])
    await createMasterKey(masterKeyFile)
    expect(await examined()).toMatchObject([
      {
        says: expect.stringContaining('is not the key of this database (ours), so the next start fails'),
        mend: expect.stringContaining('Restore key ours from its copy'),
      },
    ])
    await client.query('alter table later rename to root_keys')
    await client.query('delete from installation')
  })
})

test('every problem is reported at once: the disk, the database and the runtime', async () => {
  const found = await examineUpgrade({
    ...{ ...config, databaseUrl: 'postgresql://svc@127.0.0.1:9/none', diskFreeBytesMin: Number.MAX_SAFE_INTEGER },
    ...{ sandboxDriver: 'container', containers: { sockets: ['/nonexistent/docker.sock'], buildNetwork: 'none' } },
  })
  expect(found.migrations).toBeNull()
  expect(found.problems.map(({ name, says }) => `${name}: ${says}`)).toEqual([
    expect.stringMatching(
      /^database: The database at DATABASE_URL \(svc@127\.0\.0\.1:9\/none\) cannot be used: .+\. Start PostgreSQL there, or correct DATABASE_URL\.$/,
    ),
    expect.stringContaining('disk: The disk that holds'),
    expect.stringMatching(/sandboxes: (The agent runtime is missing|Sandboxes could not start: No container engine)/),
  ])
})
