import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from 'bun:test'
import { sql } from 'kysely'
import { makeTestApp, type TestApp } from '../testing.ts'
import { until } from '../testing-until.ts'
import type { Changed } from './inbox.ts'
import { JobWaker } from './job-waker.ts'
import { type Job, type Next, runJobs } from './loop.ts'

/** Far longer than any test: only a notification wakes a job. */
const never = 3_600_000

let app: TestApp
let stopping: AbortController
let ended: Promise<void>
let waker: JobWaker
/** A project whose change shows that a job sleeps. */
let first: string
let isAsleep = false
beforeAll(async () => {
  app = await makeTestApp()
  first = (await app.managedProject()).project.project_id
}, 120_000)
afterAll(() => app.close())
beforeEach(() => {
  stopping = new AbortController()
  ended = Promise.resolve()
  waker = new JobWaker(app.deps)
  isAsleep = false
})
afterEach(async () => {
  stopping.abort()
  await ended
})

function start(job: Pick<Job, 'wakeOn'> & { everyMs?: number; idleMs?: number; next?: () => Next }, awake = waker) {
  const runs: Changed[] = []
  const run = async (_: AbortSignal, changed: Changed) => {
    const others = changed === 'all' ? changed : new Set([...changed].filter((id) => id !== first))
    isAsleep ||= changed !== 'all'
    if (others !== 'all' && others.size === 0) return null
    runs.push(others)
    return job.next?.() ?? null
  }
  const { wakeOn = [], everyMs = 1, idleMs = never } = job
  ended = runJobs(
    [{ name: 'of a test', scope: 'any server' as const, everyMs, idleMs, wakeOn, run }],
    stopping.signal,
    app.deps,
    awake,
  )
  return runs
}

const change = (projectId: string) =>
  sql`update projects set secrets_revision = secrets_revision + 1 where project_id = ${projectId}`.execute(app.deps.db)

/** Until the server listens the job polls. A run for one project shows that this is over. */
async function asleep(runs: Changed[]) {
  await until('the server listens', async () => waker.isListening)
  await until('the job ran for one project', async () => {
    await change(first)
    return isAsleep
  })
  runs.length = 0
}

describe('scheduled jobs', () => {
  test('wakes for a row that another connection wrote, with the project of that row', async () => {
    const runs = start({ wakeOn: ['projects'] })
    await asleep(runs)
    const { project } = await app.managedProject()
    await until('the job ran', async () => runs.length > 0)
    expect(runs).toEqual([new Set([project.project_id])])
  })

  test('does not wake for other tables, or for a write that changes nothing', async () => {
    const { project } = await app.managedProject()
    const runs = start({ wakeOn: ['projects', 'check_runs'] })
    await asleep(runs)
    await sql`update projects set secrets_revision = secrets_revision where project_id = ${project.project_id}`.execute(
      app.deps.db,
    )
    await sql`update projects set name = 'renamed' where project_id = ${project.project_id}`.execute(app.deps.db)
    await change(project.project_id)
    await until('the job ran', async () => runs.length > 0)
    expect(runs).toEqual([new Set([project.project_id])])
  })

  test('runs again for the same or other projects on request, and for everything at its interval', async () => {
    const { project } = await app.managedProject()
    let nexts: Next[] = []
    const runs = start({ wakeOn: ['projects'], next: () => nexts.shift() ?? null })
    await asleep(runs)
    const other = new Set(['another project'])
    nexts = ['again', other, 5]
    await change(project.project_id)
    const one = new Set([project.project_id])
    await until('the job ran four times', async () => runs.length >= 4)
    expect(runs).toEqual([one, one, other, 'all'])
  })

  test('runs for everything at its longest interval, even when it wakes all the time', async () => {
    const runs = start({ wakeOn: ['projects'], idleMs: 200 })
    await asleep(runs)
    await until('a run for everything', async () => {
      await sql`update projects set secrets_revision = secrets_revision + 1`.execute(app.deps.db)
      return runs.some((changed) => changed !== 'all') && runs.includes('all')
    })
  })

  test('wakes again after the listening connection was lost, and runs for what changed meanwhile', async () => {
    const runs = start({ wakeOn: ['projects'], everyMs: 20 })
    await asleep(runs)
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like 'listen %'`.execute(app.deps.db)
    await until('the job polls', async () => !waker.isListening && runs.length > 2)
    await until('the server listens', async () => waker.isListening)
    await until('the job ran', async () => runs.at(-1) === 'all')
  })

  test('polls at its shortest interval without notifications', async () => {
    const locks = { connect: () => Promise.reject(new Error('No connection is left.')) }
    const deaf = new JobWaker({ ...app.deps, locks: locks as never })
    const runs = start({ wakeOn: ['projects'] }, deaf)
    await until('the job ran five times', async () => runs.length >= 5)
    expect(deaf.isListening).toBe(false)
    expect(new Set(runs)).toEqual(new Set(['all']))
  })
})
