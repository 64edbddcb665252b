/** A clock that is far ahead, or a copy of an old backup, deletes nothing at once. */
import { afterAll, beforeAll, expect, setSystemTime, test } from 'bun:test'
import { sql } from 'kysely'
import { examineService } from '../doctor/examine-service.ts'
import { jobs } from '../scheduler/jobs.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { waitFromNow } from './deletion-clock.ts'
import { deletionTime } from './deletion-clock-store.ts'

let app: TestApp
let projectId: string
beforeAll(async () => {
  app = await makeTestApp()
  const { body } = await app.request<{ project_id: string }>('POST', '/v1/projects', { body: { name: 'kept' } })
  projectId = body.project_id
}, 120_000)
afterAll(() => app.close())

/** As after a start: nothing is known of the time. */
async function runJobs(): Promise<void> {
  const chosen = jobs(app.deps).filter(({ name }) => ['delete old events', 'end deleted projects'].includes(name))
  expect(chosen).toHaveLength(2)
  for (const job of chosen) await job.run(new AbortController().signal, new Set())
}

async function lastRan(interval: string): Promise<void> {
  await sql`update deletion_clock set seen_at = now() + ${interval}::interval`.execute(app.deps.db)
}

async function ageProject(): Promise<void> {
  await app.request('DELETE', `/v1/projects/${projectId}`)
  await sql`update projects set deleted_at = now() - interval '31 days', purge_at = now() - interval '1 day'
    where project_id = ${projectId}`.execute(app.deps.db)
}

async function oldEvents(): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int from project_events
    where created_at < now() - interval '31 days'`.execute(app.deps.db)
  return rows[0]!.count
}

const deletions = async () =>
  (await examineService(app.deps)).flatMap(({ findings }) => findings).find(({ name }) => name === 'deletions') ?? null

test('after a jump of the clock, what is due by age stays for a day, and a deleted project can be restored', async () => {
  await runJobs()
  expect(await deletions()).toBeNull()
  await sql`insert into project_events (project_id, type, data) values (${projectId}, 'default_branch.moved', '{}')`.execute(
    app.deps.db,
  )
  await sql`update project_events set created_at = now() - interval '40 days'`.execute(app.deps.db)
  const old = await oldEvents()
  expect(old).toBeGreaterThan(0)
  await ageProject()
  await lastRan('-8 days')
  await runJobs()
  expect(await oldEvents()).toBe(old)
  expect(await deletions()).toMatchObject({ state: 'weak', says: expect.stringContaining('nothing is deleted') })
  const listed = await app.request<{ purge_at: string }[]>('GET', '/v1/projects?deleted=true')
  expect(Date.parse(listed.body[0]!.purge_at)).toBeGreaterThan(Date.now() + 23 * 3_600_000)
  expect((await app.request('POST', `/v1/projects/${projectId}/restore`)).status).toBe(200)
})

test('a clock that was far ahead for a while leaves no date behind', async () => {
  await ageProject()
  await sql`update projects set purge_at = now() + interval '400 days' where project_id = ${projectId}`.execute(
    app.deps.db,
  )
  await lastRan('400 days')
  await runJobs()
  const { rows } = await sql<{ hours: number }>`select extract(epoch from purge_at - now())::float8 / 3600 as hours
    from projects where project_id = ${projectId}`.execute(app.deps.db)
  expect(rows[0]!.hours).toBeLessThanOrEqual(24)
  expect(await oldEvents()).toBeGreaterThan(0)
})

test('a day later, and after a shorter time without a server, it is deleted', async () => {
  await sql`update deletion_clock set waits_until = now() - interval '1 second'`.execute(app.deps.db)
  await ageProject()
  await lastRan('-6 days')
  await runJobs()
  expect(await deletionTime(app.deps.db)).toMatchObject({ waits_until: expect.any(String) })
  expect(await oldEvents()).toBe(0)
  expect((await app.request('POST', `/v1/projects/${projectId}/restore`)).status).toBe(404)
  expect(await deletions()).toBeNull()
})

test('a restored installation keeps for a day what is due when it is resumed', async () => {
  const { body } = await app.request<{ project_id: string }>('POST', '/v1/projects', { body: { name: 'restored' } })
  projectId = body.project_id
  await ageProject()
  await app.deps.db.transaction().execute(waitFromNow)
  await runJobs()
  expect(await deletions()).toMatchObject({ says: expect.stringContaining('a day after svc self-host resume') })
  expect((await app.request('POST', `/v1/projects/${projectId}/restore`)).status).toBe(200)
})

test('a server whose clock differs from that of the database purges nothing', async () => {
  await sql`update deletion_clock set waits_until = null`.execute(app.deps.db)
  await app.request('DELETE', `/v1/projects/${projectId}`)
  setSystemTime(new Date(Date.now() + 40 * 86_400_000))
  try {
    await runJobs()
  } finally {
    setSystemTime()
  }
  expect((await app.request('POST', `/v1/projects/${projectId}/restore`)).status).toBe(200)
})
