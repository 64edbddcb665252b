/** The doctor judges the backups that a server makes by itself. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig } from '../config.ts'
import { examineBackups } from './examine-data.ts'

const now = new Date('2026-11-27T12:00:00Z')

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-doctor-'))
})
afterAll(async () => {
  await rm(dir, { recursive: true })
})

/** Only the names of backups tell when they began. */
async function examine(name: string, ids: string[], env: Record<string, string> = {}) {
  await mkdir(join(dir, name, 'backups'), { recursive: true })
  for (const id of ids) await writeFile(join(dir, name, `backups/${id}.json`), '')
  return examineBackups(parseConfig({ SVC_BACKUP_DIR: join(dir, name), ...env }), now)
}

test('a backup of a clock that was ahead does not pass for the newest', async () => {
  const [old, ahead] = ['20261124T120000Z-00000001', '20380119T031407Z-00000002']
  expect(await examine('ahead', [old, ahead])).toMatchObject({
    state: 'missing',
    says: `the last one in ${join(dir, 'ahead')} is 72 h old`,
  })
  expect(await examine('fine', [old, '20261127T120030Z-00000003'])).toMatchObject({ state: 'good' })
})

test('names the key file of encrypted backups in the command that makes one', async () => {
  const key = join(dir, 'backups.key')
  const { mend } = await examine('encrypted', [], { SVC_BACKUP_KEY_FILE: key })
  expect(mend).toEndWith(`or run: svc self-host backup ${join(dir, 'encrypted')} --encrypt ${key}`)
})
