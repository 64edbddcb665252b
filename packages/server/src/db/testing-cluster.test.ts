import { expect, test } from 'bun:test'
import pg from 'pg'
import { createTestDatabase } from './testing-cluster.ts'

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

test('test databases are isolated clones of a template that is prepared once', async () => {
  let prepared = 0
  const template = {
    name: 'cluster_test',
    prepare: async (url: string) => {
      prepared++
      await withClient(url, (client) => client.query('create table t (n int)'))
    },
  }
  const [one, two] = await Promise.all([createTestDatabase(template), createTestDatabase(template)])
  expect(prepared).toBe(1)
  await withClient(one.url, (client) => client.query('insert into t values (1)'))
  const rows = await withClient(two.url, async (client) => (await client.query('select * from t')).rows)
  expect(rows).toEqual([])
  await Promise.all([one.drop(), two.drop()])
  await expect(withClient(one.url, (client) => client.query('select 1'))).rejects.toThrow(/does not exist/)
}, 120_000)
