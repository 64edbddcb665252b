import { expect, test } from 'bun:test'
import { sql } from 'kysely'
import pino from 'pino'
import { connect } from './move/connect.ts'
import { openDatabase } from './pool.ts'
import { createTestDatabase, withClient } from './testing-cluster.ts'

test('reads times and bytes of a database that has other formats by default', async () => {
  const { url, drop } = await createTestDatabase({ name: 'pool_test', prepare: async () => {} })
  await withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string }>('select current_database() as name')
    for (const setting of ["datestyle = 'SQL, DMY'", "intervalstyle = 'iso_8601'", "bytea_output = 'escape'"])
      await client.query(`alter database "${rows[0]!.name}" set ${setting}`)
  })
  const database = openDatabase(url, pino({ level: 'silent' }))
  const { rows } = await sql`select '2026-11-03 10:00:00+00'::timestamptz as at, '\\x00ff'::bytea as bytes`.execute(
    database.db,
  )
  expect(rows).toEqual([{ at: '2026-11-03T10:00:00.000Z', bytes: Buffer.from([0, 255]) }])
  await database.close()
  await drop()
})

test('no timeout of the database ends a transaction of a move', async () => {
  const { url, drop } = await createTestDatabase({ name: 'pool_test', prepare: async () => {} })
  await withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      "select current_database() as name from pg_settings where name = 'transaction_timeout'",
    )
    // PostgreSQL has it since version 17.
    if (rows[0] !== undefined) await client.query(`alter database "${rows[0].name}" set transaction_timeout = '1min'`)
  })
  const end = await connect(url)
  const { rows } = await end.client.query<{ limit: string }>(
    "select coalesce(current_setting('transaction_timeout', true), '0') as limit",
  )
  expect(rows).toEqual([{ limit: '0' }])
  await end.close()
  await drop()
})
