/** The doctor judges the backups that a server makes by itself. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOrMakeKey } from '../backup/key-file.ts'
import { recordFailure, rememberKey } from '../backup/known-places.ts'
import { parseConfig } from '../config.ts'
import { examineBackupKey } from './examine-backup-place.ts'
import { examineBackups } from './examine-data.ts'
import { missingNeeds } from './examine-needs.ts'

const now = new Date('2026-11-27T12:00:00Z')

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-doctor-'))
})
afterAll(async () => {
  await rm(dir, { recursive: true })
})

type Missing = { project_id: string; slug: string; reason: string; home?: string }[]

/** The backups that `SVC_BACKUP_DIR` has, and what each is without. */
async function examine(name: string, made: Record<string, Missing>, env: Record<string, string> = {}) {
  await mkdir(join(dir, name, 'backups'), { recursive: true })
  for (const [backup_id, missing] of Object.entries(made)) {
    const manifest = { ...empty, backup_id, missing }
    await writeFile(join(dir, name, `backups/${backup_id}.json`), JSON.stringify(manifest))
  }
  // The data are on another disk.
  return examineBackups(parseConfig({ SVC_BACKUP_DIR: join(dir, name), SVC_DATA_DIR: '/dev/svc', ...env }), now, null)
}

const file = { name: 'data', bytes: 0, sha256: '' }
const empty = {
  ...{ format: 1, created_at: '', finished_at: '', installation_id: '', server_version: '', migration: 1 },
  ...{ wrapped_keys: [], recipient: null, tables: [], sequences: [], refs: file, repositories: [], added_bytes: 0 },
}

test('a backup of a clock that was ahead does not pass for the newest', async () => {
  const [old, ahead] = ['20261124T120000Z-00000001', '20380119T031407Z-00000002']
  expect(await examine('ahead', { [old]: [], [ahead]: [] })).toMatchObject({
    state: 'missing',
    says: `the last one in ${join(dir, 'ahead')} is 72 h old`,
  })
  expect(await examine('fine', { [old]: [], '20261127T120030Z-00000003': [] })).toMatchObject({ state: 'good' })
})

test('says by minutes how late a backup of a frequent schedule is', async () => {
  const [made, everyMinute] = ['20261127T114800Z-00000001', { SVC_BACKUP_EVERY: '1m' }]
  const says = `the last one in ${join(dir, 'frequent')} is 12 min old`
  expect(await examine('frequent', { [made]: [] }, everyMinute)).toMatchObject({ state: 'missing', says })
})

test('names the key file of encrypted backups in the command that makes one', async () => {
  const key = join(dir, 'backups.key')
  const { mend } = await examine('encrypted', {}, { SVC_BACKUP_KEY_FILE: key })
  expect(mend).toEndWith(`or run: svc self-host backup ${join(dir, 'encrypted')} --encrypt ${key}`)
})

const lost = { project_id: 'p1', slug: 'website', reason: 'This machine does not have its repository.' }
const elsewhere = { project_id: 'p2', slug: 'api', home: 'bob', reason: 'Its home is bob.' }

test('an incomplete backup does not pass for one, and the doctor says what it lacks', async () => {
  const [complete, incomplete] = ['20261126T120000Z-00000001', '20261127T110000Z-00000002']
  const late = '20261124T110000Z-00000001'
  const says = (name: string, last: string) =>
    `the last one in ${join(dir, name)}, 1 h old, is incomplete, and ${last}. It lacks website: This machine does not have its repository`
  expect(await examine('recent', { [complete]: [], [incomplete]: [lost] })).toMatchObject({
    state: 'weak',
    says: says('recent', 'the last complete one is 24 h old'),
  })
  expect(await examine('late', { [late]: [], [incomplete]: [lost] })).toMatchObject({ state: 'missing' })
  expect(await examine('none', { [complete]: [lost], [incomplete]: [lost] })).toMatchObject({
    state: 'missing',
    says: says('none', 'there is no complete one'),
  })
})

test('a backup without projects at home on other servers is complete, and the doctor names them', async () => {
  expect(await examine('elsewhere', { '20261127T110000Z-00000001': [elsewhere] })).toMatchObject({
    state: 'good',
    says: `the last one in ${join(dir, 'elsewhere')} is 1 h old. It does not include 1 project at home on other servers, which need backups of their own: api (bob)`,
  })
})

test('a damaged manifest is no complete backup', async () => {
  await mkdir(join(dir, 'damaged/backups'), { recursive: true })
  await writeFile(join(dir, 'damaged/backups/20261127T110000Z-00000001.json'), '{')
  expect(await examine('damaged', {})).toMatchObject({ state: 'missing', says: expect.stringContaining('is damaged') })
})

test('warns of backups on the disk of the data, also at the start', async () => {
  const env = { SVC_DATA_DIR: join(dir, 'data') }
  const is = `${join(dir, 'beside')} is on the disk of the data, whose loss would take the backups, too`
  expect(await examine('beside', { '20261127T110000Z-00000001': [] }, env)).toMatchObject({
    ...{ state: 'weak', says: `the last one in ${join(dir, 'beside')} is 1 h old. ${is}` },
    mend: 'Set SVC_BACKUP_DIR to a folder on another disk, or to a bucket.',
  })
  const config = parseConfig({ ...env, SVC_BACKUP_DIR: join(dir, 'beside') })
  expect(await missingNeeds({ ...config, diskFreeBytesMin: 0 })).toMatchObject([{ state: 'weak', says: is }])
})

test('says what becomes of the key of the backups, also at the start', async () => {
  const key = join(dir, 'daily.key')
  const place = join(dir, 'of-key')
  const config = parseConfig({ SVC_BACKUP_DIR: place, SVC_DATA_DIR: '/dev/svc', SVC_BACKUP_KEY_FILE: key })
  const isNew = { name: 'backup key', state: 'weak', says: `there is none at ${key}, so the first backup makes it` }
  expect(await examineBackupKey(config)).toMatchObject(isNew)
  expect(await missingNeeds({ ...config, diskFreeBytesMin: 0 })).toMatchObject([isNew])

  const { recipient, save } = await readOrMakeKey(key)
  await save?.()
  const header = (of: string) =>
    Bun.write(join(place, 'svc-backups.json'), JSON.stringify({ format: 1, installation_id: 'i', recipient: of }))
  await header(recipient)
  expect(await examineBackupKey(config)).toMatchObject({ state: 'good', says: expect.stringContaining(key) })
  expect(await missingNeeds({ ...config, diskFreeBytesMin: 0 })).toEqual([])
  await chmod(key, 0o644)
  expect(await examineBackupKey(config)).toMatchObject({ state: 'weak', mend: `Run: chmod 600 ${key}` })

  await rm(key)
  const says = `there is none at ${key}, and the backups in ${place} are encrypted for ${recipient}, so the next one fails`
  expect(await examineBackupKey(config)).toMatchObject({ state: 'missing', says })
  await (await readOrMakeKey(key)).save?.()
  expect(await examineBackupKey(config)).toMatchObject({
    state: 'missing',
    says: expect.stringContaining(`is not the key of the backups in ${place} (${recipient})`),
  })
})

test('a lost key stays lost for the doctor once the backups go to another place', async () => {
  const [key, first, next] = ['moved.key', 'first', 'next'].map((name) => join(dir, name)) as [string, string, string]
  const config = parseConfig({ SVC_BACKUP_DIR: next, SVC_DATA_DIR: join(dir, 'moved'), SVC_BACKUP_KEY_FILE: key })
  await rememberKey(config, key, { recipient: 'age1first', place: first })
  expect(await examineBackupKey(config)).toMatchObject({
    state: 'missing',
    says: `there is none at ${key}, so nothing here opens the backups in ${first}, and the next one fails`,
    mend: expect.stringContaining('SVC_BACKUP_KEY_FILE to another file'),
  })
})

test('the failure of a former place is none of the next place, which may have a backup already', async () => {
  const env = { SVC_DATA_DIR: join(dir, 'failed') }
  const reason = 'The backup failed: no disk'
  const failedIn = (place: string) =>
    recordFailure({ dataDir: env.SVC_DATA_DIR }, { failed_at: '2026-11-27T11:55:00Z', place: join(dir, place), reason })
  const made = { '20261127T115000Z-00000001': [] }
  await failedIn('former')
  expect((await examine('begun', made, env)).says).not.toContain('failed')
  expect((await examine('empty', {}, env)).mend).toContain('Read the log for "back up", or run: svc self-host backup')
  await failedIn('begun')
  expect(await examine('begun', made, env)).toMatchObject({ state: 'missing', mend: reason })
})
