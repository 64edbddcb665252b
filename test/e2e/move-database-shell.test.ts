/** A server whose settings are those of the shell moves its data, and starts by the commands that the move prints. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { createOwnedDatabase, type OwnedDatabase } from '../../packages/server/src/startup/testing-move.ts'
import { program, run } from './harness.ts'

let home: string
let env: Record<string, string>
let target: OwnedDatabase
beforeAll(async () => {
  target = await createOwnedDatabase()
  home = await mkdtemp(join(tmpdir(), 'svc-self-host-'))
  env = {
    ...{ PATH: `${dirname(program)}:${process.env.PATH}`, HOME: home, SVC_PORT: String(await freePort()) },
    ...{ SVC_SANDBOX_DRIVER: 'none', SVC_CONFIG_FILE: join(home, 'client/config.json') },
    ...{ SVC_DATA_DIR: join(home, 'data'), SVC_MASTER_KEY_FILE: join(home, 'master.key') },
  }
})
afterAll(async () => {
  await inShell('svc self-host stop')
  await rm(home, { recursive: true, force: true })
  await target.drop()
})

const inShell = (line: string, input = '') => run(['sh', '-c', line], { env, cwd: home, input })
const move = () => inShell('svc self-host move-database -', target.url)

test('the printed commands save the new URL and start the server in the same shell', async () => {
  expect((await inShell('svc self-host start')).code).toBe(0)
  expect((await inShell('svc self-host stop')).code).toBe(0)
  const moved = await move()
  expect([moved.code, moved.stdout]).toEqual([0, expect.stringContaining('✓ Moved')])
  const [, save = '', start = ''] =
    /^Next, for svc self-host start: (.*), which asks for the URL, then (.*)$/m.exec(moved.stderr) ?? []
  expect((await inShell(save, target.url)).code).toBe(0)
  const started = await inShell(start)
  expect([started.code, started.stdout]).toEqual([0, expect.stringContaining('The server is running')])
  expect((await inShell('svc self-host stop')).code).toBe(0)
}, 120_000)

test('the settings of a server with another data folder are left to it', async () => {
  const other = join(home, '.local/share/svc')
  await mkdir(other, { recursive: true })
  const { code, stderr } = await move()
  expect([code, stderr]).toEqual([0, expect.stringContaining('set DATABASE_URL in this shell, then ')])
  expect(stderr).toContain(`The saved settings are those of the server in ${other}.`)
}, 120_000)

test('the printed start works in a shell that still has the URL of the database before', async () => {
  expect((await inShell('svc self-host env set "SVC_DATA_DIR=$SVC_DATA_DIR"')).code).toBe(0)
  const before = `export DATABASE_URL='${target.url}';`
  const { code, stderr } = await inShell(`${before} svc self-host move-database embedded`)
  expect([code, stderr]).toEqual([0, expect.stringContaining('Run: unset DATABASE_URL')])
  const [, start = ''] = /^Saved in .*\. Next: (.*)$/m.exec(stderr) ?? []
  const started = await inShell(`${before} ${start}`)
  expect([started.code, started.stdout]).toEqual([0, expect.stringContaining('The server is running')])
}, 120_000)
