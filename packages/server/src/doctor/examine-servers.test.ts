import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { insertRow, updateRows } from '../db/rows.ts'
import { keepServerName } from '../fleet/server-name.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { examineCopies, examineFleet } from './examine-servers.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
})
afterAll(() => app.close())

test('a home that does not run is named with the command that takes it over', async () => {
  const { db } = app.deps
  const config = { ...app.deps.config, peerUrl: 'http://127.0.0.1:1', replica: 'sync' as const }
  keepServerName(config, 'here')
  const { project } = await app.managedProject()
  await insertRow(db, 'servers', { server_name: 'gone', data_folder: randomUUID(), keeps_replicas: true })
  await updateRows(db, 'projects', { project_id: project.project_id }, { home: 'gone' })
  const mend = 'gone does not run. Start it again, or if it is gone for good: `svc self-host take-over gone`.'
  expect(await examineFleet(config, db)).toContainEqual(
    expect.objectContaining({ name: 'home', says: 'gone is the home of 1 project, and does not run', mend }),
  )
  const copies = await examineCopies(config, db)
  expect(copies).toMatchObject({ mend: `${mend} \`svc self-host copies\` lists them all.` })
  expect(copies!.says).toContain(`1 project has no current copy: ${project.slug} (at gone)`)
})
