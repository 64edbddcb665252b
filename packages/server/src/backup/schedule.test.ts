/** Scheduled backups, each in a process of its own. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeTestApp, type TestApp } from '../test-app.ts'
import { listBackups } from './catalog.ts'
import { readFailure } from './known-places.ts'
import { openPlace } from './place/open.ts'
import { ScheduledBackups } from './schedule.ts'

setDefaultTimeout(120_000)

let app: TestApp
let place: string
const settings = ['DATABASE_URL', 'SVC_DATA_DIR', 'SVC_FAILPOINTS'] as const
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
  const config = { ...app.deps.config, backups: { place, everyMs: 1, keep: null, keyFile: null } }
  const backups = new ScheduledBackups({ ...app.deps, config, now: () => new Date(Date.now() + laterMs) }, 15_000)
  const { signal } = new AbortController()
  process.env['SVC_FAILPOINTS'] = `backup.after_tables=pause:${join(app.deps.config.dataDir, 'reached')}`
  await expect(backups.run(signal)).rejects.toThrow(
    /^The backup failed: it made no progress for \d+ minutes at "\w+" \(database\), and was ended\./,
  )
  expect((await readFailure(config))?.reason).toContain('made no progress')

  delete process.env['SVC_FAILPOINTS']
  laterMs = 3_600_000
  await backups.run(signal)
  expect(await readFailure(config)).toBeNull()
  expect(await listBackups(await openPlace(place, config))).toHaveLength(1)
})
