/** Paths in the settings of a server, whose program does not run in the folder of the operator's shell. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@svc/git/testing'
import { program, run } from './harness.ts'

setDefaultTimeout(120_000)

let home: string
let env: Record<string, string>
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-relative-'))
  await mkdir(join(home, 'here'))
  env = { PATH: process.env.PATH ?? '', HOME: home, SVC_SANDBOX_DRIVER: 'none', SVC_PORT: String(await freePort()) }
})
afterAll(async () => {
  await selfHost(['stop'])
  await rm(home, { recursive: true, force: true })
})

const selfHost = (args: string[], more: Record<string, string> = {}) =>
  run([program, 'self-host', ...args], { env: { ...env, ...more }, cwd: join(home, 'here') })

test('svc self-host env set saves relative paths as absolute ones, and shows them', async () => {
  const words = ['SVC_BACKUP_DIR=backups', 'SVC_BACKUP_KEY_FILE=~/backups.key', 'SVC_SANDBOX_HIDDEN_PATHS=a:/srv/b']
  const set = await selfHost(['env', 'set', ...words])
  expect([set.code, set.stdout]).toEqual([0, expect.stringContaining(`SVC_BACKUP_DIR=${home}/here/backups`)])
  const saved = await readFile(join(home, '.config/svc/self-host.env'), 'utf8')
  expect(saved).toContain(`SVC_BACKUP_DIR="${home}/here/backups"`)
  expect(saved).toContain(`SVC_BACKUP_KEY_FILE="${home}/backups.key"`)
  expect(saved).toContain(`SVC_SANDBOX_HIDDEN_PATHS="${home}/here/a:/srv/b"`)
  const names = ['SVC_BACKUP_DIR', 'SVC_BACKUP_KEY_FILE', 'SVC_SANDBOX_HIDDEN_PATHS']
  expect((await selfHost(['env', 'unset', ...names])).code).toBe(0)
})

test('a relative path in the shell of svc self-host start begins in its folder', async () => {
  const started = await selfHost(['start', '--json'], { SVC_DATA_DIR: 'data', SVC_BACKUP_DIR: 'copies' })
  expect(started.code).toBe(0)
  expect(JSON.parse(started.stdout)).toMatchObject({ data_dir: join(home, 'here/data') })
  const doctor = await selfHost(['doctor', '--json'], { SVC_DATA_DIR: 'data', SVC_BACKUP_DIR: 'copies' })
  const { setting_changes } = JSON.parse(doctor.stdout) as { setting_changes: object[] }
  expect(setting_changes).toEqual([])
  const log = await selfHost(['logs'], { SVC_DATA_DIR: 'data' })
  expect(log.stdout).toContain(`Data         ${join(home, 'here/data')}`)
})
