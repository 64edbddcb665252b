import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { insertRow, updateRows } from '../db/rows.ts'
import { keepServerName } from '../fleet/server-name.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { backUp } from './back-up.ts'

let app: TestApp
let folder: string
beforeAll(async () => {
  app = await makeTestApp()
  folder = await mkdtemp(join(tmpdir(), 'svc-backup-'))
}, 120_000)
afterAll(async () => {
  await app.close()
  await rm(folder, { recursive: true })
})

test('a backup names each managed project of which this machine has no repository, or only an older one', async () => {
  const { config, db } = app.deps
  keepServerName(config, 'here')
  const made = []
  for (let count = 0; count < 4; count++) made.push(await app.managedProject())
  const [own, absent, older, copied] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0], (typeof made)[0]]
  await updateRows(db, 'projects', { project_id: own.project.project_id }, { home: 'here' })
  for (const { project } of [absent, older, copied])
    await updateRows(db, 'projects', { project_id: project.project_id }, { home: 'there' })
  await rm(absent.repo.dir, { recursive: true })
  // It moved away, and got a commit there.
  const change = { seq: 1, ref: 'refs/heads/main', old_sha: null, new_sha: 'f'.repeat(40), epoch: 1 }
  await insertRow(db, 'ref_changes', { project_id: older.project.project_id, ...change })
  await Bun.$`mkdir -p ${join(config.dataDir, 'replicas')}`.quiet()
  await rename(copied.repo.dir, join(dirname(dirname(copied.repo.dir)), 'replicas', `${copied.project.project_id}.git`))
  const report = await backUp(config, { place: folder, keyFile: null, keep: null }, () => {})
  const sorted = report.missing.toSorted((a, b) => a.reason.localeCompare(b.reason))
  expect(sorted).toEqual([
    {
      ...{ project_id: absent.project.project_id, slug: absent.project.slug, home: 'there' },
      reason: 'This machine does not have its repository. Its home is there.',
    },
    {
      ...{ project_id: older.project.project_id, slug: older.project.slug, home: 'there' },
      reason: 'This machine has an older state of its repository. Its home is there.',
    },
  ])
  expect(report.repositories).toBe(2)
}, 120_000)

test('a backup names an external project of which this machine lacks the unfinished work', async () => {
  const { config, db } = app.deps
  const [unfinished, clean] = [await app.externalProject(), await app.externalProject()]
  for (const { project } of [unfinished, clean]) {
    await updateRows(db, 'projects', { project_id: project.project_id }, { home: 'there' })
    await rm(join(config.dataDir, 'mirrors', `${project.project_id}.git`), { recursive: true, force: true })
  }
  const change = { seq: 1, ref: 'refs/svc/wip/one', old_sha: null, new_sha: 'f'.repeat(40), epoch: 1 }
  await insertRow(db, 'ref_changes', { project_id: unfinished.project.project_id, ...change })
  const report = await backUp(config, { place: folder, keyFile: null, keep: null }, () => {})
  const { project_id, slug } = unfinished.project
  const reason = 'This machine does not have its unfinished work. Its home is there.'
  expect(report.missing).toContainEqual({ project_id, slug, home: 'there', reason })
  expect(report.missing.map((one) => one.project_id)).not.toContain(clean.project.project_id)
}, 120_000)
