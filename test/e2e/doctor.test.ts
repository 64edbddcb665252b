/** The doctor of a server that runs, and of one whose database or master key has a problem, as its operator sees it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { chmod, copyFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { program, run, Server } from './harness.ts'

setDefaultTimeout(120_000)

let server: Server
beforeAll(async () => {
  server = await Server.start({ SVC_SANDBOX_DRIVER: 'none', SVC_SESION_LIMIT: '5' })
})
afterAll(() => server?.end())

interface Finding {
  name: string
  state: string
  says: string
  mend: string | null
}
type Groups = { groups: { name: string; findings: Finding[] }[] }

async function examine(more: Record<string, string> = {}) {
  const env = { ...server.env, ...more }
  const { code, stdout, stderr } = await run([program, 'self-host', 'doctor', '--json'], { env, cwd: server.dir })
  return { code, stderr, findings: findingsIn(JSON.parse(stdout) as Groups) }
}

const findingsIn = ({ groups }: Groups) =>
  groups.flatMap(({ name: group, findings }) => findings.map((each) => ({ ...each, group })))

test('a database that is down is one finding, and the checks that need it are named as not made', async () => {
  const url = `postgresql://svc@127.0.0.1:${await freePort()}/svc`
  const more = { DATABASE_URL: url, SVC_DATA_DIR: join(server.dir, 'none') }
  const { code, findings } = await examine(more)
  expect(code).toBe(1)
  expect(findings.filter(({ says, mend }) => `${says} ${mend}`.includes('ECONNREFUSED'))).toMatchObject([
    { group: 'database', name: 'database', state: 'missing' },
  ])
  expect(findings.find(({ name }) => name === 'not examined')!.says).toContain('queues, the model, git hosts')
  expect(findings.map(({ says }) => says)).not.toContain('could not be examined')
})

test('a server that runs is examined with its own settings, whatever the shell of the doctor has', async () => {
  const settings = { SVC_DISK_FREE_MIN: '400TiB', SVC_BACKUP_DIR: '/dev/null/backups', SVC_SANDBOX_DRIVER: 'local' }
  await using ill = { server: await Server.start(settings), [Symbol.asyncDispose]: () => ill.server.end() }
  const { SVC_DISK_FREE_MIN: _, SVC_BACKUP_DIR: __, ...rest } = ill.server.env
  const env = { ...rest, DATABASE_URL: `postgresql://svc@127.0.0.1:${await freePort()}/svc` }
  const doctor = (...more: string[]) => run([program, 'self-host', 'doctor', ...more], { env, cwd: ill.server.dir })
  const asked = await doctor('--json')
  const report = JSON.parse(asked.stdout) as Groups
  expect(findingsIn(report).filter(({ state }) => state === 'missing')).toMatchObject([
    { group: 'machine', name: 'disk', says: expect.stringContaining('below 400') },
    { group: 'data', name: 'backups', says: expect.stringContaining('/dev/null/backups') },
  ])
  expect(Object.keys(report)).toEqual(['driver', 'ready', 'drivers', 'groups', 'setting_changes'])
  expect(report).toMatchObject({ driver: 'local', ready: true, drivers: [{ name: 'local' }, { name: 'container' }] })
  const shown = await doctor()
  expect([asked.code, shown.code, shown.stdout]).toEqual([1, 1, expect.stringContaining('✗ disk: ')])
  expect(shown.stderr).toContain('2 checks failed: disk, backups.')
  expect(shown.stderr).toContain('SVC_DISK_FREE_MIN: 400TiB now, the default after the next start')
})

test('the findings beside a server that does not answer are called those of the next start', async () => {
  const env = { ...server.env, SVC_SANDBOX_DRIVER: 'local' }
  process.kill(server.pid, 'SIGSTOP')
  try {
    const { code, stdout, stderr } = await run([program, 'self-host', 'doctor'], { env, cwd: server.dir })
    expect([code, stderr]).toEqual([0, expect.stringContaining('These are of the settings of the next start:')])
    expect(stdout).toContain('✓ disk: ')
    expect(stderr).toContain('With the settings of the next start, sessions can start here.')
    expect(stderr).not.toContain('Sessions can start here.')
  } finally {
    process.kill(server.pid, 'SIGCONT')
  }
})

test('the doctor and the page name a setting without effect', async () => {
  const says = 'SVC_SESION_LIMIT is not a setting of the server, so it has no effect. Did you mean SVC_SESSION_LIMIT?'
  for (const findings of [(await examine()).findings, findingsIn(await server.send<Groups>('GET', '/v1/doctor'))])
    expect(findings).toContainEqual({ group: 'machine', name: 'settings', state: 'weak', says, mend: null })
})

test('the doctor and the page say whether the master key is there, fits, and is readable by the server alone', async () => {
  const file = server.env.SVC_MASTER_KEY_FILE!
  const both = async () => {
    const [command, page] = [await examine(), findingsIn(await server.send<Groups>('GET', '/v1/doctor'))]
    const [found, shown] = [command.findings, page].map((all) => all.find(({ name }) => name === 'master key')!)
    expect(shown).toEqual(found!)
    return found!
  }
  expect(await both()).toMatchObject({
    group: 'data',
    state: 'good',
    says: expect.stringContaining('opens this database'),
  })
  await chmod(file, 0o644)
  expect(await both()).toMatchObject({ state: 'weak', mend: expect.stringContaining(`chmod 600 ${file}`) })
  await chmod(file, 0o600)
  const copy = join(server.dir, 'copy.key')
  await copyFile(file, copy)
  await writeFile(file, `${Buffer.alloc(32, 7).toString('base64')}\n`)
  expect(await both()).toMatchObject({
    state: 'missing',
    says: expect.stringContaining('is not the key of this database'),
  })
  await writeFile(file, 'no key\n')
  expect(await both()).toMatchObject({ state: 'missing', says: expect.stringContaining('does not contain 32 bytes') })
  await rm(file)
  expect(await both()).toMatchObject({ state: 'missing', mend: expect.stringMatching(/Restore key [0-9a-f]{16}/) })
  expect((await examine()).code).toBe(1)
  await copyFile(copy, file)
  expect((await both()).state).toBe('good')
})

test('a machine without a server has no finding about a master key', async () => {
  const more = { SVC_DATA_DIR: join(server.dir, 'none'), SVC_MASTER_KEY_FILE: join(server.dir, 'none.key') }
  expect((await examine(more)).findings.filter(({ name }) => name === 'master key')).toEqual([])
})
