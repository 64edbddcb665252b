/** Scheduled backups, each in a process of its own. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { Metrics } from '../metrics/metrics.ts'
import { makeTestApp, type TestApp } from '../test-app.ts'
import { listBackups } from './catalog.ts'
import { readFailure } from './known-places.ts'
import { openPlace } from './place/open.ts'
import { ScheduledBackups } from './schedule.ts'

setDefaultTimeout(300_000)

let app: TestApp
let place: string
const settings = ['DATABASE_URL', 'SVC_DATA_DIR', 'SVC_FAILPOINTS', 'SVC_MASTER_KEY_FILE'] as const
const before = settings.map((name) => process.env[name])
beforeAll(async () => {
  app = await makeTestApp()
  place = await mkdtemp(join(tmpdir(), 'svc-schedule-'))
  // The process of a backup reads them.
  const { databaseUrl, dataDir } = app.deps.config
  Object.assign(process.env, { DATABASE_URL: databaseUrl, SVC_DATA_DIR: dataDir })
})
afterAll(async () => {
  for (const [index, name] of settings.entries()) {
    if (before[index] === undefined) delete process.env[name]
    else process.env[name] = before[index]
  }
  await app.close()
  await rm(place, { recursive: true, force: true })
})

test('a backup that makes no progress is ended, says where it stood, and the next one is made', async () => {
  let laterMs = 0
  const config = {
    ...app.deps.config,
    backups: { place: join(place, 'stalled'), everyMs: 1, keep: null, keyFile: null },
  }
  const backups = new ScheduledBackups({ ...app.deps, config, now: () => new Date(Date.now() + laterMs) }, 30_000)
  const { signal } = new AbortController()
  process.env['SVC_FAILPOINTS'] = `backup.after_tables=pause:${join(app.deps.config.dataDir, 'reached')}`
  await expect(backups.run(signal)).rejects.toThrow(
    /^The backup failed: it made no progress for \d+ minutes at "\w+" \(database\), and was ended\./,
  )
  expect((await readFailure(config, config.backups.place))?.reason).toContain('made no progress')

  delete process.env['SVC_FAILPOINTS']
  laterMs = 3_600_000
  await backups.run(signal)
  expect(await readFailure(config, config.backups.place)).toBeNull()
  expect(await listBackups(await openPlace(config.backups.place, config))).toHaveLength(1)
})

test('a clock that was ahead does not keep backups back once it is right', async () => {
  let aheadMs = 0
  const backupsIn = join(place, 'clock')
  const config = { ...app.deps.config, backups: { place: backupsIn, everyMs: 60_000, keep: null, keyFile: null } }
  const backups = new ScheduledBackups({
    ...{ ...app.deps, metrics: new Metrics(), config },
    now: () => new Date(Date.now() + aheadMs),
  })
  const made = async (ahead: number) => {
    aheadMs = ahead
    await backups.run(new AbortController().signal)
    return (await listBackups(await openPlace(backupsIn, config))).length
  }
  expect(await made(0)).toBe(1)
  expect(await made(365 * 86_400_000)).toBe(2)
  // Right again, and the next one is due.
  expect(await made(2 * 60_000)).toBe(3)
})

test('a backup while the master key is gone is made, and the log says that no restore opens it', async () => {
  process.env['SVC_MASTER_KEY_FILE'] = join(place, 'gone.key')
  const warned: unknown[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void warned.push(JSON.parse(line)) })
  const backups = { place: join(place, 'keyless'), everyMs: 60_000, keep: null, keyFile: null }
  const config = { ...app.deps.config, backups }
  await new ScheduledBackups({ ...app.deps, metrics: new Metrics(), config, log }).run(new AbortController().signal)
  expect(await listBackups(await openPlace(backups.place, config))).toHaveLength(1)
  expect(warned).toEqual([
    expect.objectContaining({
      msg: 'this backup cannot be restored without its master key',
      problem: expect.stringContaining(`there is none at ${join(place, 'gone.key')}`),
    }),
  ])
})
