import { expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { createTestDatabase, withClient } from '../db/testing-cluster.ts'
import { parseConfig } from '../config.ts'
import { endSandboxes } from './end-sandboxes.ts'
import { lockDataFolder } from './folder-lock.ts'
import { type BootedServer, bootServer } from './testing-server.ts'

test('a data folder with a database of its own is refused beside an empty one, which stays empty', async () => {
  const database = await createTestDatabase({ name: 'empty', prepare: async () => {} })
  const dir = await mkdtemp(join(tmpdir(), 'svc-other-'))
  try {
    // As an embedded database that has run leaves it.
    await mkdir(join(dir, 'data/postgres'), { recursive: true })
    await Bun.write(join(dir, 'data/postgres/PG_VERSION'), '18\n')
    const { url, errors } = await bootServer(
      { dir, databaseUrl: database.url, token: makeToken((count) => randomBytes(count)) },
      () => {},
    )
    expect(url).toBeNull()
    expect(await errors()).toContain('has a database of its own, and the one of DATABASE_URL is empty')
    const { rows } = await withClient(database.url, (client) =>
      client.query(`select 1 from information_schema.tables where table_schema = 'public'`),
    )
    expect(rows).toEqual([])
    expect(await readdir(join(dir, 'data/postgres'))).toEqual(['PG_VERSION'])
  } finally {
    await database.drop()
    await rm(dir, { recursive: true, force: true })
  }
}, 120_000)

test('a server whose database is a PostgreSQL of the operator is not started without it', async () => {
  const database = await createTestDatabase({ name: 'external', prepare: async () => {} })
  const dir = await mkdtemp(join(tmpdir(), 'svc-other-'))
  const token = makeToken((count) => randomBytes(count))
  const start = (databaseUrl: string) => bootServer({ dir, databaseUrl, token }, () => {})
  const end = async ({ child }: BootedServer) => {
    child.kill('SIGTERM')
    await child.exited
  }
  try {
    const first = await start(database.url)
    expect(first.url).not.toBeNull()
    await end(first)
    const before = (await readdir(join(dir, 'data'))).toSorted()

    const without = await start('')
    if (without.url !== null) await end(without)
    expect(without.url).toBeNull()
    expect(await without.errors()).toContain('uses a PostgreSQL of yours, and DATABASE_URL is not set')
    expect((await readdir(join(dir, 'data'))).toSorted()).toEqual(before)

    const again = await start(database.url)
    expect(again.url).not.toBeNull()
    await end(again)
  } finally {
    await database.drop()
    await rm(dir, { recursive: true, force: true })
  }
}, 120_000)

test('the sandboxes of a server with another database are not ended without it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-other-'))
  try {
    lockDataFolder(dataDir, randomUUID).release()
    const config = parseConfig({ SVC_DATA_DIR: dataDir, SVC_SANDBOX_DRIVER: 'none' })
    await expect(endSandboxes(config)).rejects.toThrow('DATABASE_URL is not set')
    expect(await readdir(dataDir)).toEqual(['server.lock'])
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})
