import { expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { cp, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeToken } from '@svc/contract'
import { createTestDatabase, type TestDatabase, withClient } from '../db/testing-cluster.ts'
import { parseConfig } from '../config.ts'
import { backUp } from '../backup/back-up.ts'
import { check } from '../backup/check/check.ts'
import { restore } from '../backup/restore.ts'
import { resume } from '../backup/resume.ts'
import { examineService } from '../doctor/examine-service.ts'
import { rotateKeyOf } from '../keyring/rotate-command.ts'
import { endSandboxes } from './end-sandboxes.ts'
import { lockDataFolder } from './folder-lock.ts'
import { fillWithServer, runMove } from './testing-move.ts'
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

test('a server is not started on a database without the data of its folder, and is wherever they are', async () => {
  const database = await createTestDatabase({ name: 'external', prepare: async () => {} })
  const [empty, foreign] = await Promise.all(
    ['empty', 'foreign'].map((name) => createTestDatabase({ name, prepare: async () => {} })),
  )
  const dir = await mkdtemp(join(tmpdir(), 'svc-other-'))
  const token = makeToken((count) => randomBytes(count))
  const start = (databaseUrl: string, folder = 'data') =>
    bootServer({ dir, databaseUrl, token, env: { SVC_DATA_DIR: join(dir, folder) } }, () => {})
  const end = async ({ child, url }: BootedServer) => {
    child.kill('SIGTERM')
    await child.exited
    return url
  }
  const dataDir = join(dir, 'data')
  const mark = () => Bun.file(join(dataDir, 'database-elsewhere')).text()
  const name = (of: TestDatabase) => new URL(of.url).pathname
  try {
    expect(await end(await start(database.url))).not.toBeNull()
    expect(await end(await start(foreign!.url, 'foreign'))).not.toBeNull()
    const [before, marked] = [(await readdir(dataDir)).toSorted(), await mark()]
    expect(marked).toContain(name(database))
    expect(marked).not.toContain(new URL(database.url).password || 'password')

    for (const [of, says] of [
      [empty!, 'is empty'],
      [foreign!, 'has the data of another installation'],
    ] as const) {
      const refused = await start(of.url)
      expect(await end(refused)).toBeNull()
      const said = await refused.errors()
      expect(said).toContain(
        `${name(of)}) ${says}, and the server of the data folder ${dataDir} has its data in another`,
      )
      expect(said).toContain(`one, last at ${marked.split(' ').at(-1)!.trim()}. Set DATABASE_URL to the database`)
    }
    const { rows } = await withClient(empty!.url, (client) =>
      client.query(`select 1 from information_schema.tables where table_schema = 'public'`),
    )
    expect(rows).toEqual([])
    expect([(await readdir(dataDir)).toSorted(), await mark()]).toEqual([before, marked])

    // As by the operator's own dump, or under a new name of the host.
    const copy = await createTestDatabase({ name: 'copy', prepare: async () => {} })
    await copy.drop()
    await withClient(empty!.url, (client) =>
      client.query(`create database "${name(copy).slice(1)}" template "${name(database).slice(1)}"`),
    )
    try {
      expect(await end(await start(copy.url))).not.toBeNull()
      expect(await mark()).toContain(name(copy))
    } finally {
      await copy.drop()
    }
  } finally {
    for (const each of [database, empty!, foreign!]) await each.drop()
    await rm(dir, { recursive: true, force: true })
  }
}, 120_000)

test('a folder without a mark, as of an earlier version, is not started on the data of another installation', async () => {
  const [database, foreign] = await Promise.all(
    ['external', 'foreign'].map((name) => createTestDatabase({ name, prepare: async () => {} })),
  )
  const dir = await mkdtemp(join(tmpdir(), 'svc-other-'))
  const mark = join(dir, 'data/database-elsewhere')
  try {
    const { token } = await fillWithServer(database!.url, dir)
    await fillWithServer(foreign!.url, dir, { SVC_DATA_DIR: join(dir, 'foreign') })
    await rm(mark)
    expect(await tryStart(dir, foreign!.url, token)).toContain('has the data of another installation')
    expect(await Bun.file(mark).exists()).toBe(false)
    expect(await tryStart(dir, database!.url, token)).toBeNull()
    expect(await Bun.file(mark).text()).toContain(new URL(database!.url).pathname)
    // A mark that is wrong is named.
    await Bun.write(mark, (await Bun.file(mark).text()).replace(/\n[0-9a-f]{8}/, '\n00000000'))
    expect(await tryStart(dir, database!.url, token)).toContain(`the file ${mark} is wrong: remove it`)
  } finally {
    for (const each of [database!, foreign!]) await each.drop()
    await rm(dir, { recursive: true, force: true })
  }
}, 120_000)

test('a folder with an embedded database starts on no other data, and not on its own of before', async () => {
  const [database, foreign] = await Promise.all(
    ['empty', 'foreign'].map((name) => createTestDatabase({ name, prepare: async () => {} })),
  )
  const dir = await mkdtemp(join(tmpdir(), 'svc-other-'))
  const [dataDir, postgres] = [join(dir, 'data'), join(dir, 'data/postgres')]
  const settings = { HOME: dir, SVC_DATA_DIR: dataDir, SVC_MASTER_KEY_FILE: join(dir, 'master.key') }
  try {
    const { token } = await fillWithServer('', dir)
    await fillWithServer(foreign!.url, dir, { SVC_DATA_DIR: join(dir, 'foreign') })
    const start = (url: string) => tryStart(dir, url, token)
    for (const isOfEarlierVersion of [false, true]) {
      if (isOfEarlierVersion) await rm(join(dataDir, 'database-here'))
      expect(await start(foreign!.url)).toMatch(
        /has a database of its own, and .* has the data of another installation/,
      )
    }
    expect(await start('')).toBeNull()

    // The copy and its original as after a dump of the operator's own: no move has marked them.
    await cp(postgres, join(dir, 'before'), { recursive: true })
    expect((await runMove(database!.url, settings)).code).toBe(0)
    await rename(postgres, join(dir, 'left'))
    await cp(join(dir, 'before'), postgres, { recursive: true })
    expect(await start(database!.url)).toBeNull()
    const refusal = `last used a PostgreSQL of yours (${/ (\S+@\S+)\n/.exec(await Bun.file(join(dataDir, 'database-elsewhere')).text())![1]})`
    expect(await start('')).toContain(refusal)
    const config = parseConfig({ ...settings, SVC_SANDBOX_DRIVER: 'none' })
    await expect(check(config, () => {})).rejects.toThrow(refusal)
    await expect(rotateKeyOf(config)).rejects.toThrow(refusal)
    expect((await runMove(foreign!.url, settings)).stderr).toContain(refusal)
    const findings = (await examineService({ config, db: null })).flatMap((group) => group.findings)
    expect(findings.find(({ name }) => name === 'database')?.says).toContain('uses a PostgreSQL of yours')

    // The way back that it names.
    await rename(postgres, join(dir, 'away'))
    expect((await runMove('embedded', { ...settings, DATABASE_URL: database!.url })).code).toBe(0)
    expect(await start('')).toBeNull()
    expect(await start(database!.url)).toContain('The data moved from this database to the embedded database')
  } finally {
    for (const each of [database!, foreign!]) await each.drop()
    await rm(dir, { recursive: true, force: true })
  }
}, 300_000)

test('a server whose embedded database is gone is not started, nor read, and says where it was', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-other-'))
  const configOf = (folder: string) =>
    parseConfig({
      ...{ HOME: dir, SVC_DATA_DIR: join(dir, folder), SVC_MASTER_KEY_FILE: join(dir, 'master.key') },
      SVC_SANDBOX_DRIVER: 'none',
    })
  const to = { place: join(dir, 'backups'), keyFile: null, keep: null }
  try {
    const { token } = await fillWithServer('', dir)
    const config = configOf('data')
    const { dataDir } = config
    await backUp(config, to, () => {})
    await restore(
      configOf('restored'),
      { places: [to.place], backupId: null, keyFiles: [], acceptLoss: false },
      () => {},
    )
    await rename(join(dataDir, 'postgres'), join(dir, 'away'))
    const before = (await readdir(dataDir)).toSorted()
    const gone = `The embedded database of the data folder ${dataDir} is gone: it was in ${join(dataDir, 'postgres')}. Put the folder back`
    expect(await tryStart(dir, '', token)).toContain(gone)
    await expect(check(config, () => {})).rejects.toThrow(gone)
    await expect(backUp(config, to, () => {})).rejects.toThrow('svc self-host restore')
    await expect(endSandboxes(config)).rejects.toThrow(gone)
    const findings = (await examineService({ config, db: null })).flatMap((group) => group.findings)
    expect(findings.find(({ name }) => name === 'database')).toMatchObject({
      says: expect.stringContaining(`the embedded database of the data folder ${dataDir} is gone`),
      mend: expect.stringContaining('restore a backup into an empty folder'),
    })
    // As of an earlier version.
    await rename(join(dataDir, 'database-here'), join(dir, 'database-here'))
    expect(await tryStart(dir, '', token)).toContain('If that server uses a PostgreSQL of yours, set DATABASE_URL')
    await rename(join(dir, 'database-here'), join(dataDir, 'database-here'))
    expect((await readdir(dataDir)).toSorted()).toEqual(before)
    await rename(join(dir, 'away'), join(dataDir, 'postgres'))
    expect(await tryStart(dir, '', token)).toBeNull()

    // One that was restored and never started.
    const restored = { SVC_DATA_DIR: join(dir, 'restored') }
    await rm(join(dir, 'restored/postgres'), { recursive: true })
    expect(await tryStart(dir, '', token, restored)).toContain(
      `The embedded database of the data folder ${join(dir, 'restored')} is gone`,
    )
    await rm(join(dir, 'restored/database-here'))
    expect(await tryStart(dir, '', token, restored)).toContain('its embedded database is gone')
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}, 300_000)

/** Resolves with the line of a refusal. Null: it started, and was ended. */
async function tryStart(
  dir: string,
  databaseUrl: string,
  token: string,
  env: Record<string, string> = {},
): Promise<string | null> {
  const { child, url, errors } = await bootServer({ dir, databaseUrl, token, env }, () => {})
  child.kill('SIGTERM')
  await child.exited
  return url === null ? await errors() : null
}

test('a server restored into a PostgreSQL of the operator is neither started nor read without it, nor on an empty one', async () => {
  const original = await createTestDatabase({ name: 'external', prepare: async () => {} })
  const database = await createTestDatabase({ name: 'empty', prepare: async () => {} })
  const empty = await createTestDatabase({ name: 'empty', prepare: async () => {} })
  const dir = await mkdtemp(join(tmpdir(), 'svc-other-'))
  const started: Bun.Subprocess[] = []
  try {
    const token = makeToken((count) => randomBytes(count))
    const first = await bootServer({ dir, databaseUrl: original.url, token }, (child) => started.push(child))
    expect(first.url).not.toBeNull()
    first.child.kill('SIGTERM')
    await first.child.exited
    const configOf = (folder: string, url: string) =>
      parseConfig({
        SVC_DATA_DIR: join(dir, folder),
        SVC_MASTER_KEY_FILE: join(dir, 'master.key'),
        SVC_SANDBOX_DRIVER: 'none',
        DATABASE_URL: url,
      })
    const to = { place: join(dir, 'backups'), keyFile: null, keep: null }
    await backUp(configOf('data', original.url), to, () => {})
    const restored = configOf('restored', database.url)
    await restore(restored, { places: [to.place], backupId: null, keyFiles: [], acceptLoss: false }, () => {})
    const { dataDir } = restored
    const before = (await readdir(dataDir)).toSorted()

    const start = { dir, databaseUrl: '', token, env: { SVC_DATA_DIR: dataDir } }
    const { url, errors } = await bootServer(start, (child) => started.push(child))
    expect(url).toBeNull()
    const refusal = `The server of the data folder ${dataDir} uses a PostgreSQL of yours, and DATABASE_URL is not set.`
    expect(await errors()).toContain(refusal)
    const onEmpty = await bootServer({ ...start, databaseUrl: empty.url }, (child) => started.push(child))
    expect([onEmpty.url, await onEmpty.errors()]).toEqual([
      null,
      expect.stringContaining(') is empty, and the server of'),
    ])
    const without = configOf('restored', '')
    await expect(check(without, () => {})).rejects.toThrow(refusal)
    await expect(resume(without)).rejects.toThrow(refusal)
    await expect(rotateKeyOf(without)).rejects.toThrow(refusal)
    await expect(backUp(without, to, () => {})).rejects.toThrow(refusal)
    const findings = (await examineService({ config: without, db: null })).flatMap((group) => group.findings)
    expect(findings.find(({ name }) => name === 'database')?.says).toContain('uses a PostgreSQL of yours')
    expect((await readdir(dataDir)).toSorted()).toEqual(before)
    expect(await resume(restored)).toMatchObject({ resumed: true })
  } finally {
    for (const child of started) child.kill('SIGKILL')
    for (const each of [original, database, empty]) await each.drop()
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
