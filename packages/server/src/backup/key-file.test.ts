/** The key file of encrypted backups exists once something needs it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeTestApp, type TestApp } from '../testing.ts'
import { examineBackupKey } from '../doctor/examine-backup-place.ts'
import { backUp } from './back-up.ts'

let app: TestApp
let folder: string
beforeAll(async () => {
  app = await makeTestApp()
  folder = await mkdtemp(join(tmpdir(), 'svc-backup-key-'))
}, 120_000)
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

const backUpTo = (place: string, key: string, onProgress = () => {}) =>
  backUp(app.deps.config, { place: join(folder, place), keyFile: join(folder, key), keep: null }, onProgress)
const interrupted = () => {
  throw new Error('interrupted')
}
const namesIn = async (...path: string[]) => (await readdir(join(folder, ...path))).toSorted()

test('a first encrypted backup that the place refuses leaves no key file', async () => {
  await mkdir(join(folder, 'photos'))
  await writeFile(join(folder, 'photos/one.jpg'), 'a picture')
  await expect(backUpTo('photos', 'key')).rejects.toThrow('is not empty and has no backups of svc')
  await expect(backUpTo('photos/one.jpg', 'key')).rejects.toThrow('is not a folder')
  await expect(backUpTo('photos/one.jpg/backups', 'key')).rejects.toThrow('cannot be written')
  await expect(backUpTo('not-mounted/svc.tar', 'key')).rejects.toThrow('There is no folder')
  await backUp(app.deps.config, { place: join(folder, 'plain'), keyFile: null, keep: null }, () => {})
  await expect(backUpTo('plain', 'key')).rejects.toThrow('are not encrypted')
  expect(await namesIn()).toEqual(['photos', 'plain'])
}, 120_000)

test('an interrupted backup to one file leaves neither the file nor its key', async () => {
  await expect(backUpTo('svc.tar', 'tar.key', interrupted)).rejects.toThrow('interrupted')
  expect((await namesIn()).filter((name) => name.includes('tar'))).toEqual([])
  expect(await backUpTo('svc.tar', 'tar.key')).toMatchObject({ encrypted: true, made_key: true })
  expect((await namesIn()).filter((name) => name.includes('tar'))).toEqual(['svc.tar', 'tar.key'])
}, 120_000)

test('an interrupted first backup keeps the key that its folder needs, and the next one reports it', async () => {
  await expect(backUpTo('daily', 'daily.key', interrupted)).rejects.toThrow('interrupted')
  const key = await readFile(join(folder, 'daily.key'), 'utf8')
  expect([key, (await stat(join(folder, 'daily.key'))).mode & 0o777]).toEqual([
    expect.stringContaining('AGE-SECRET-KEY-'),
    0o600,
  ])
  expect(await backUpTo('daily', 'daily.key')).toMatchObject({ backups: 1, made_key: true })
  expect(await backUpTo('daily', 'daily.key')).toMatchObject({ backups: 2, made_key: false })
  expect(await readFile(join(folder, 'daily.key'), 'utf8')).toBe(key)
}, 120_000)

test('refuses a key file that cannot be made before it writes a backup', async () => {
  await expect(backUpTo('early.tar', 'absent/key')).rejects.toThrow(`${join(folder, 'absent/key')} cannot be made`)
  expect(await namesIn()).not.toContain('early.tar')
}, 120_000)

test('a backup without a key file is encrypted for that of the schedule, except in a place with plain ones', async () => {
  const scheduled = join(folder, 'scheduled.key')
  const backups = { place: join(folder, 'scheduled'), everyMs: 60_000, keep: null, keyFile: scheduled }
  const to = (place: string, keyFile: string | null = null) =>
    backUp({ ...app.deps.config, backups }, { place: join(folder, place), keyFile, keep: null }, () => {})
  expect(await to('by-hand')).toMatchObject({ encrypted: true, key_file: scheduled, made_key: true })
  expect(await to('by-hand.tar')).toMatchObject({ encrypted: true, key_file: scheduled, made_key: false })
  expect(await to('own', join(folder, 'own.key'))).toMatchObject({ key_file: join(folder, 'own.key') })
  await expect(to('own')).rejects.toThrow('are encrypted for age1')
  await backUp(app.deps.config, { place: join(folder, 'earlier'), keyFile: null, keep: null }, () => {})
  expect(await to('earlier')).toMatchObject({ encrypted: false, key_file: null, backups: 2 })
}, 120_000)

test('refuses to make a new key in the file of a lost one, and makes one in another file', async () => {
  await backUpTo('before', 'lost.key')
  const key = await readFile(join(folder, 'lost.key'), 'utf8')
  await rm(join(folder, 'lost.key'))
  for (const place of ['after', 'after.tar', 'before'])
    await expect(backUpTo(place, 'lost.key')).rejects.toThrow(
      `The key file ${join(folder, 'lost.key')} is gone, and the backups in ${join(folder, 'before')} are encrypted for its key`,
    )
  expect((await namesIn()).filter((name) => name.startsWith('after') || name.includes('lost'))).toEqual([])
  expect(await backUpTo('after', 'anew.key')).toMatchObject({ encrypted: true, made_key: true })
  await writeFile(join(folder, 'lost.key'), key)
  expect(await backUpTo('before', 'lost.key')).toMatchObject({ backups: 2, made_key: false })
}, 120_000)

test('a missing key file of scheduled backups is compared with the key of their place', async () => {
  const keyFile = join(folder, 'of-schedule.key')
  const backups = { place: join(folder, 'of-schedule'), everyMs: 60_000, keep: null, keyFile }
  const config = { ...app.deps.config, backups }
  const to = (place: string) => backUp(config, { place: join(folder, place), keyFile: null, keep: null }, () => {})
  await to('of-schedule')
  const recipient = /age1\w+/.exec(await readFile(keyFile, 'utf8'))![0]

  // The setting names another file, which never was there.
  config.backups = { ...backups, keyFile: join(folder, 'planned.key') }
  await expect(to('of-schedule')).rejects.toThrow(`are encrypted for ${recipient}. Give its key file with --encrypt`)
  expect(await examineBackupKey(config)).toMatchObject({
    state: 'missing',
    says: expect.stringContaining(`are encrypted for ${recipient}, so the next one fails`),
    mend: expect.stringContaining(`to the file of their key, ${keyFile}, or`),
  })
  expect(await to('planned')).toMatchObject({ encrypted: true, made_key: true, key_file: config.backups.keyFile })

  // An earlier program noted no key, so the file may have had it.
  await rm(join(app.deps.config.dataDir, 'backup-keys.json'))
  for (const name of ['of-schedule.key', 'planned.key']) await rm(join(folder, name))
  const why = `There is no key file ${config.backups.keyFile}, and the backups in ${backups.place} are encrypted for ${recipient}`
  await expect(to('by-hand-later')).rejects.toThrow(why)
  expect(await examineBackupKey(config)).toMatchObject({ mend: expect.stringContaining('If it had their key') })
}, 120_000)
