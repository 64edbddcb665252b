import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createGzip } from 'node:zlib'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { createTestDatabase, type TestDatabase } from '../testing-cluster.ts'
import { readRows } from './table-stream.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createTestDatabase({ name: 'table_stream', prepare: async () => {} })
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
}, 120_000)
afterAll(async () => {
  await client.end()
  await database.drop()
})

const table = (name: string) => ({ name, columns: [{ name: 'content', type: 'text' }] })

test('reads one table after another, also when one ends with rows that fill the stream', async () => {
  await client.query('create table large (content text); create table small (content text)')
  await client.query("insert into large select repeat('a', 4000000) from generate_series(1, 2)")
  await client.query("insert into small values ('b')")
  let rows = 0
  for (let round = 0; round < 10; round++) {
    // The reader is behind, as one that compresses and writes to a disk.
    const zipped = Readable.from(readRows(client, table('large'), () => rows++)).pipe(createGzip())
    for await (const _piece of zipped);
    expect(await text(readRows(client, table('small'), () => rows++))).toBe('b\n')
  }
  expect(rows).toBe(30)
}, 120_000)
