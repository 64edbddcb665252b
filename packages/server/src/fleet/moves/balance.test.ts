import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { deleteRows, insertRow, listRows, updateRows } from '../../db/rows.ts'
import { JobWaker } from '../../scheduler/job-waker.ts'
import { jobs } from '../../scheduler/jobs.ts'
import { runJobs } from '../../scheduler/loop.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { until } from '../../testing-until.ts'
import { balanceServers } from './balance.ts'

setDefaultTimeout(120_000)

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp({ serverName: 'here', home: 'here' })
})
afterAll(() => app.close())

async function server(server_name: string, draining_since: string | null): Promise<void> {
  const [data_folder, peer_url] = [randomUUID(), 'http://127.0.0.1:9']
  const { db } = app.deps
  await insertRow(db, 'servers', { server_name, data_folder, peer_url, keeps_replicas: false, draining_since })
  const heartbeat_at = new Date(Date.now() + 3_600_000).toISOString()
  await insertRow(db, 'server_instances', {
    instance_id: randomUUID(),
    data_folder,
    server_name,
    peer_url,
    heartbeat_at,
  })
}

async function projectAt(home: string): Promise<string> {
  const { project } = await app.managedProject()
  await updateRows(app.deps.db, 'projects', { project_id: project.project_id }, { home })
  return project.project_id
}

test('a server whose projects cannot move at the moment holds up no other that is drained', async () => {
  const { db } = app.deps
  const at = new Date().toISOString()
  for (const [name, since] of [
    ['bob', at],
    ['cyd', at],
    ['here', null],
  ] as const)
    await server(name, since)
  const [ofBob, ofCyd] = [await projectAt('bob'), await projectAt('cyd')]
  // It is tried again after ten minutes.
  await insertRow(db, 'project_moves', {
    ...{ move_id: randomUUID(), project_id: ofBob, from_server: 'bob', to_server: 'here', home_epoch: 1 },
    ...{ cause: 'drain', phase: 'failed', ended_at: at },
  })
  await balanceServers(app.deps)
  expect(await listRows(db, 'project_moves', { ended_at: null })).toMatchObject([
    { project_id: ofCyd, from_server: 'cyd', to_server: 'here', cause: 'drain' },
  ])
})

test('a project into which someone pushes is not moved to balance the servers', async () => {
  const { db } = app.deps
  await deleteRows(db, 'project_moves', {})
  await deleteRows(db, 'projects', {})
  await updateRows(db, 'servers', {}, { draining_since: null })
  await updateRows(db, 'server_instances', {}, { started_at: new Date(Date.now() - 3_600_000).toISOString() })
  const projects = []
  for (let n = 0; n < 5; n++) projects.push(await projectAt('bob'))
  await updateRows(db, 'projects', {}, { updated_at: new Date(Date.now() - 3_600_000) })
  await deleteRows(db, 'project_events', {})
  const quiet = projects[3]!
  const change = { ref: 'refs/heads/topic', old_sha: null, new_sha: 'a'.repeat(40), epoch: 1 }
  for (const project_id of projects) {
    const at = new Date(Date.now() - (project_id === quiet ? 3_600_000 : 60_000)).toISOString()
    await insertRow(db, 'ref_changes', { project_id, seq: 1, ...change, at })
  }
  await balanceServers(app.deps)
  expect(await listRows(db, 'project_moves', {})).toMatchObject([{ project_id: quiet, from_server: 'bob' }])
  await deleteRows(db, 'project_moves', {})
  await updateRows(db, 'ref_changes', { project_id: quiet }, { at: new Date().toISOString() })
  await balanceServers(app.deps)
  expect(await listRows(db, 'project_moves', {})).toEqual([])
})

test('a server whose clock differs is left out, drained or not', async () => {
  const { db } = app.deps
  await deleteRows(db, 'project_moves', {})
  await updateRows(db, 'ref_changes', {}, { at: new Date(Date.now() - 3_600_000).toISOString() })
  const clock = (server_name: string, clock_ahead_seconds: number | null) =>
    updateRows(db, 'server_instances', { server_name }, { clock_ahead_seconds })
  const begins = async () => {
    await balanceServers(app.deps)
    const moves = await listRows(db, 'project_moves', {})
    await deleteRows(db, 'project_moves', {})
    return moves.map(({ from_server, to_server }) => [from_server, to_server])
  }
  await clock('here', -90)
  expect(await begins()).toEqual([['bob', 'cyd']])
  await clock('bob', 90)
  expect(await begins()).toEqual([])
  await updateRows(db, 'servers', { server_name: 'bob' }, { draining_since: new Date().toISOString() })
  expect(await begins()).toEqual([])
  // All differ from the database, so it is the clock of the database that is wrong.
  await clock('cyd', 90)
  expect([...new Set((await begins()).map(([from]) => from))]).toEqual(['bob'])
})

test('a server whose disk is almost full takes no project while another one can', async () => {
  const { db } = app.deps
  await deleteRows(db, 'project_moves', {})
  await updateRows(db, 'server_instances', {}, { clock_ahead_seconds: null })
  for (const full of ['here', 'cyd']) {
    await updateRows(db, 'server_instances', {}, { disk_low: sql`server_name = ${full}` })
    await balanceServers(app.deps)
    const other = full === 'here' ? 'cyd' : 'here'
    const moves = await listRows(db, 'project_moves', {})
    expect([...new Set(moves.map(({ to_server }) => to_server))]).toEqual([other])
    await deleteRows(db, 'project_moves', {})
  }
})

test('a drain moves four projects at a time to the emptiest servers, and the next one as soon as one has moved', async () => {
  const { db } = app.deps
  await deleteRows(db, 'project_moves', {})
  await updateRows(db, 'server_instances', {}, { disk_low: false })
  await deleteRows(db, 'projects', {})
  for (let n = 0; n < 6; n++) await projectAt('bob')
  const active = () => listRows(db, 'project_moves', { ended_at: null })
  const stopping = new AbortController()
  const waker = new JobWaker(app.deps)
  // Far longer than any test: only a notification wakes the job.
  const quick = jobs(app.deps)
    .filter(({ name }) => name === 'balance servers')
    .map((job) => ({ ...job, everyMs: 1, idleMs: 3_600_000 }))
  const ended = runJobs(quick, stopping.signal, app.deps, waker)
  try {
    await until('the server listens', () => waker.isListening)
    const begun = await until('four moves', async () => {
      const moves = await active()
      return moves.length === 4 ? moves : null
    })
    expect(begun.map(({ to_server }) => to_server).toSorted()).toEqual(['cyd', 'cyd', 'here', 'here'])
    for (const [at, move] of begun.entries()) {
      await updateRows(db, 'projects', { project_id: move.project_id }, { home: move.to_server })
      const over = { phase: 'done' as const, ended_at: new Date().toISOString() }
      await updateRows(db, 'project_moves', { move_id: move.move_id }, over)
      const left = at < 2 ? 4 : 5 - at
      await until('the next move', async () => (await active()).length === left)
    }
  } finally {
    stopping.abort()
    await ended
  }
})
