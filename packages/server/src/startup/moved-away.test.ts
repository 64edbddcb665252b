/** Commands without the DATABASE_URL of their server, whose data left the embedded database. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../db/embedded/data.ts'
import { until } from '../testing-until.ts'
import { createOwnedDatabase, fillWithServer, type OwnedDatabase, runMove } from './testing-move.ts'
import { programOf } from './testing-program.ts'
import { bootServer } from './testing-server.ts'

setDefaultTimeout(300_000)

let dir: string
let token: string
const made: OwnedDatabase[] = []
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-away-'))
  made.push(await createOwnedDatabase(), await createOwnedDatabase())
  token = (await fillWithServer('', dir)).token
})
afterAll(async () => {
  for (const database of made) await database.drop()
  await rm(dir, { recursive: true, force: true })
})

const settings = () => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: dir,
  SVC_DATA_DIR: join(dir, 'data'),
  SVC_MASTER_KEY_FILE: join(dir, 'master.key'),
  SVC_SANDBOX_DRIVER: 'none',
})

async function runProgram(flag: string, env: Record<string, string> = {}) {
  const child = Bun.spawn([...(await programOf('test-server')), 'server', flag], {
    stdin: new TextEncoder().encode(JSON.stringify({ place: join(dir, 'backups'), keyFile: null, keep: null })),
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...settings(), ...env },
    // One that does not end is a failure of its test.
    timeout: 120_000,
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  await child.exited
  return { code: child.exitCode, stdout, stderr }
}

const postmaster = () => join(dir, 'data/postgres/postmaster.pid')

test.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)(
  'a command that gets %s ends the database that it started',
  async (signal) => {
    const reached = join(dir, `reached-${signal}`)
    const child = Bun.spawn([...(await programOf('svc')), 'self-host', 'backup', join(dir, 'backups')], {
      stdout: 'ignore',
      stderr: 'ignore',
      env: { ...settings(), SVC_FAILPOINTS: `backup.after_tables=pause:${reached}` },
    })
    await until('the tables are read', () => Bun.file(reached).exists())
    const postgres = Number((await Bun.file(postmaster()).text()).split('\n')[0])
    child.kill(signal)
    expect(await child.exited).toBe(signal === 'SIGKILL' ? 137 : 1)
    await until('PostgreSQL to end', async () => !isAlive(postgres) && !existsSync(postmaster()))
  },
)

test('a command that uses the data folder is named to a server and to another command', async () => {
  const reached = join(dir, 'reached')
  const child = Bun.spawn([...(await programOf('svc')), 'self-host', 'backup', join(dir, 'backups')], {
    stdout: 'ignore',
    stderr: 'ignore',
    env: { ...settings(), SVC_FAILPOINTS: `backup.after_tables=pause:${reached}` },
  })
  try {
    await until('the tables are read', () => Bun.file(reached).exists())
    const start = await bootServer({ dir, databaseUrl: '', token }, () => {})
    expect(start.url).toBeNull()
    for (const said of [await start.errors(), (await runMove(made[0]!.url, settings())).stderr])
      expect(said).toMatch(/svc self-host backup \(process \d+\) uses the data folder .*\. Wait until it has ended\./)
  } finally {
    child.kill('SIGTERM')
    await child.exited
  }
})

const isElsewhere = /^svc server: DATABASE_URL is not set, and the data of .* are in a PostgreSQL of yours \(mover_.*\)/

test('no command reads the database that the data left, and none waits beside the running server', async () => {
  const [first, second] = made as [OwnedDatabase, OwnedDatabase]
  expect((await runMove(first.url, settings())).code).toBe(0)
  const moved = await runProgram('--check')
  expect([moved.code, moved.stderr]).toEqual([
    1,
    expect.stringMatching(/The data moved from this database to mover_.* If that database is lost, restore a backup/),
  ])

  const again = await runMove('embedded', settings())
  expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(isElsewhere)])

  const place = { dir, databaseUrl: first.url, token }
  const { child, url } = await bootServer(place, () => {})
  try {
    expect(url).not.toBeNull()
    for (const flag of ['--check', '--backup', '--resume', '--rotate-key']) {
      const { code, stderr } = await runProgram(flag)
      expect([flag, code, stderr]).toEqual([
        flag,
        1,
        expect.stringContaining('Set DATABASE_URL for this command as for that server.'),
      ])
      expect(stderr).toContain(`(process ${child.pid})`)
      expect(existsSync(postmaster())).toBe(false)
    }
    expect((await runProgram('--check', { DATABASE_URL: first.url })).code).toBe(0)
  } finally {
    child.kill('SIGTERM')
    await child.exited
  }

  // Also once the embedded database is deleted, as after a backup of the new one.
  await rename(join(dir, 'data/postgres'), join(dir, 'deleted'))
  const wrong = await createOwnedDatabase()
  made.push(wrong)
  expect((await runMove('embedded', settings())).stderr).toMatch(isElsewhere)
  const start = await bootServer({ dir, databaseUrl: wrong.url, token }, () => {})
  expect([start.url, await start.errors()]).toEqual([null, expect.stringMatching(/ is empty, .*, last at mover_/)])

  // The other way round, the address of before the move is still set.
  expect((await runMove(second.url, { ...settings(), DATABASE_URL: first.url })).code).toBe(0)
  for (const flag of ['--check', '--examine-upgrade']) {
    const { stdout, stderr } = await runProgram(flag, { DATABASE_URL: first.url })
    expect(stdout + stderr).toContain('The data moved from this database to mover_')
  }
})
