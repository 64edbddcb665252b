import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

test('a backup names each managed project of which this machine has no repository, only an older one, or a copy that was given up', async () => {
  const { config, db } = app.deps
  keepServerName(config, 'here')
  const made = []
  for (let count = 0; count < 5; count++) made.push(await app.managedProject())
  type Made = (typeof made)[0]
  const [own, absent, older, copied, givenUp] = made as [Made, Made, Made, Made, Made]
  await updateRows(db, 'projects', { project_id: own.project.project_id }, { home: 'here' })
  for (const { project } of [absent, older, copied, givenUp])
    await updateRows(db, 'projects', { project_id: project.project_id }, { home: 'there' })
  await rm(absent.repo.dir, { recursive: true })
  // It moved away, and got a commit there.
  const change = { seq: 1, ref: 'refs/heads/main', old_sha: null, new_sha: 'f'.repeat(40), epoch: 1 }
  await insertRow(db, 'ref_changes', { project_id: older.project.project_id, ...change })
  const copyOf = ({ project }: Made) => join(config.dataDir, 'replicas', `${project.project_id}.git`)
  await mkdir(join(config.dataDir, 'replicas'))
  for (const each of [copied, givenUp]) await rename(each.repo.dir, copyOf(each))
  const copy = { project_id: copied.project.project_id, epoch: 1, acknowledged_seq: 0, applied_seq: 0 }
  await insertRow(db, 'project_replicas', { ...copy, server: 'here' })
  await insertRow(db, 'project_replicas', { ...copy, project_id: givenUp.project.project_id, server: 'elsewhere' })
  await rm(join(copyOf(givenUp), 'objects'), { recursive: true })
  await mkdir(join(copyOf(givenUp), 'objects'))
  const report = await backUp(config, { place: folder, keyFile: null, keep: null }, () => {})
  const missing = ({ project: { project_id, slug } }: Made, reason: string) => ({
    ...{ project_id, slug, home: 'there' },
    reason: `${reason} Its home is there.`,
  })
  expect(report.missing).toHaveLength(3)
  expect(report.missing).toContainEqual(missing(absent, 'This machine does not have its repository.'))
  expect(report.missing).toContainEqual(missing(givenUp, 'This machine does not have its repository.'))
  expect(report.missing).toContainEqual(missing(older, 'This machine has an older state of its repository.'))
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
