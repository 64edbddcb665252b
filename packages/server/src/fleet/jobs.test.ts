import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Project } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { listRows, updateRows } from '../db/rows.ts'
import { jobs } from '../scheduler/jobs.ts'
import { makeTestApp, type TestApp } from '../test-app.ts'

let app: TestApp
let project: Project
beforeAll(async () => {
  app = await makeTestApp({ serverName: 'here', home: 'here' })
  const made = await app.managedProject()
  project = made.project
  await commit(made.repo, 'main', {
    'svc.toml': `svc_version = 1
[[triggers]]
slug = "every-minute"
type = "cron"
cron = "* * * * *"
prompt = "Look around."
`,
  })
  const { session_id } = await app.makeSession(project)
  await updateRows(app.deps.db, 'project_sessions', { session_id }, { status: 'provisioning', desired: 'running' })
}, 60_000)
afterAll(() => app.close())

async function moveTo(home: string): Promise<void> {
  await updateRows(app.deps.db, 'projects', { project_id: project.project_id }, { home })
}

async function runAll(): Promise<void> {
  const signal = new AbortController().signal
  for (const job of jobs(app.deps)) await job.run(signal, 'all')
}

async function state() {
  const of = { project_id: project.project_id }
  const { db } = app.deps
  const [sessions, branches, triggers] = await Promise.all([
    listRows(db, 'project_sessions', of),
    listRows(db, 'default_branches', of),
    listRows(db, 'triggers', of),
  ])
  return { statuses: sessions.map(({ status }) => status), commit: branches[0]?.sha ?? null, triggers: triggers.length }
}

test('jobs leave the projects of another home alone, and work on their own', async () => {
  await moveTo('elsewhere')
  const before = await state()
  await runAll()
  expect(await state()).toEqual(before)
  await moveTo('here')
  await runAll()
  // The session has no driver, the branch was polled, and its trigger is known.
  await runAll()
  const after = await state()
  expect(after.triggers).toBe(1)
  expect(after.commit).not.toBe(before.commit)
  expect(after.statuses).not.toEqual(before.statuses)
}, 120_000)
