import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { updateRows } from '../db/rows.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { keepServerName } from '../fleet/server-name.ts'
import { examineRepositories } from './examine-servers.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp({
    serverName: 'ada',
    home: 'ada',
    configure: { serverName: 'ada', peerUrl: 'http://127.0.0.1:9' },
  })
}, 120_000)
afterAll(() => app.close())

test('names the projects at home here whose repository is not on this disk, and what to do', async () => {
  const [kept, lost, away] = [await app.managedProject(), await app.managedProject(), await app.managedProject()]
  const created_at = new Date(Date.now() - 3_600_000).toISOString()
  for (const [{ project }, home] of [
    [kept, 'ada'],
    [lost, 'ada'],
    [away, 'bob'],
  ] as const)
    await updateRows(app.deps.db, 'projects', { project_id: project.project_id }, { home, created_at })
  const { config, db } = app.deps
  expect(await examineRepositories(config, db)).toMatchObject({ state: 'good', mend: null })
  for (const { repo } of [lost, away]) await rm(repo.dir, { recursive: true })
  const found = await examineRepositories(config, db)
  expect(found!.state).toBe('missing')
  expect(found!.says).toBe(`1 project at home here without a repository on this disk: ${lost.project.slug}`)
  expect(found!.mend).toContain('svc self-host take-over ada')
  // A command that was given the database alone knows the name by the folder.
  keepServerName(config, 'ada')
  const alone = await examineRepositories({ ...config, serverName: null, peerUrl: null }, db)
  expect(alone!.mend).not.toContain('take-over')
  const bob = { server_name: 'bob', data_folder: randomUUID(), instance_id: randomUUID(), settings: '{}' }
  await db
    .insertInto('servers')
    .values(bob as never)
    .execute()
  expect(await examineRepositories({ ...config, serverName: null, peerUrl: null }, db)).toEqual(found)
})
