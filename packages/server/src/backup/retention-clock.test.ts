/** Backups are removed for their age only by a clock that can be right. */
import { afterAll, beforeAll, expect, setDefaultTimeout, setSystemTime, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { makeTestApp, type TestApp } from '../testing.ts'
import { backUp } from './back-up.ts'
import { type Manifest, manifestText } from './manifest.ts'

setDefaultTimeout(120_000)

let app: TestApp
let place: string
beforeAll(async () => {
  app = await makeTestApp()
  place = await mkdtemp(join(tmpdir(), 'svc-keep-'))
})
afterAll(async () => {
  await app.close()
  await rm(place, { recursive: true })
})

const make = async (keep: string | null) => {
  const { backup_id, removed, retention_problem } = await backUp(
    app.deps.config,
    { place, keyFile: null, keep },
    () => {},
  )
  return { backup_id, removed, problem: retention_problem }
}

/** As if it had been made then. */
async function redate(from: string, to: string): Promise<string> {
  const manifest = join(place, 'backups', `${from}.json`)
  const text = (await readFile(manifest, 'utf8')).replaceAll(from, to)
  const { sha256: _, ...content } = JSON.parse(text) as Manifest & { sha256: string }
  await writeFile(join(place, 'backups', `${to}.json`), manifestText(content))
  await rm(manifest)
  if ((await readdir(join(place, 'data'))).includes(from))
    await rename(join(place, 'data', from), join(place, 'data', to))
  return to
}

test('no backup is removed for its age while the clock is far from when a server last ran, or from the database', async () => {
  const { db } = app.deps
  const lastRan = (ago: string, waits: string | null) =>
    sql`insert into deletion_clock (seen_at, waits_until) values (now() - ${ago}::interval, now() + ${waits}::interval)
      on conflict (singleton) do update set seen_at = excluded.seen_at, waits_until = excluded.waits_until`.execute(db)
  const old = []
  for (const id of ['20260101T000000Z-00000001', '20260102T000000Z-00000002'])
    old.push(await redate((await make(null)).backup_id, id))
  // As after a jump of three weeks, before and after a server noted it.
  await lastRan('21 days', null)
  expect(await make('14d')).toMatchObject({
    removed: [],
    problem: expect.stringContaining('the clock is more than a week from when a server last ran, at '),
  })
  await lastRan('0', '1 day')
  expect(await make('14d')).toMatchObject({ removed: [], problem: expect.stringContaining('This ends at ') })
  await lastRan('0', null)
  setSystemTime(new Date(Date.now() + 20 * 86_400_000))
  try {
    expect(await make('14d')).toMatchObject({
      removed: [],
      problem: 'the clocks of this machine and of its database differ by more than an hour',
    })
  } finally {
    setSystemTime()
  }
  // A count needs no clock, and neither do backups that are young enough.
  await lastRan('21 days', null)
  expect(await make('90w')).toMatchObject({ removed: [], problem: null })
  expect(await make('6')).toMatchObject({ removed: [old[0]], problem: null })
  await lastRan('1 day', null)
  expect(await make('14d')).toMatchObject({ removed: [old[1]], problem: null })
})
