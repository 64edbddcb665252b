import { expect, test } from 'bun:test'
import { sql } from 'kysely'
import pino from 'pino'
import { openDatabase } from './pool.ts'
import { createTestDatabase, withClient } from './testing-cluster.ts'

test('values are read alike whatever forms the database has by default', async () => {
  const { url, drop } = await createTestDatabase({ name: 'forms', prepare: async () => {} })
  await withClient(url, async (client) => {
    const name = client.escapeIdentifier(client.database!)
    await client.query(`alter database ${name} set datestyle = 'SQL, DMY'`)
    await client.query(`alter database ${name} set bytea_output = 'escape'`)
    await client.query(`alter database ${name} set timezone = 'Asia/Kolkata'`)
  })
  const database = openDatabase(url, pino({ level: 'silent' }))
  try {
    const values = sql`select timestamptz '2026-02-01 03:04:05Z' as at, '\\x00ff'::bytea as bytes`
    const { rows } = await values.execute(database.db)
    expect(rows).toEqual([{ at: '2026-02-01T03:04:05.000Z', bytes: Buffer.from([0, 255]) }])
  } finally {
    await database.close()
    await drop()
  }
}, 60_000)
