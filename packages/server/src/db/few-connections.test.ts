/** A PostgreSQL that allows the role of the server few connections, as a small plan of a managed one does. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ErrorBody, ExaminedGroup } from '@svc/contract'
import pino from 'pino'
import { buildApp } from '../app.ts'
import { testProject } from '../change-requests/testing.ts'
import { watchHomes } from '../fleet/watch-homes.ts'
import { JobWaker } from '../scheduler/job-waker.ts'
import { bootServer, makeTestServers } from '../startup/testing-server.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { until } from '../testing-until.ts'
import { type Database, openDatabase } from './pool.ts'
import { withClient } from './testing-cluster.ts'

let app: TestApp
let role: string
let url: string
const logged: string[] = []
const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
const grants = (to: string) =>
  `grant all on schema public to ${to}; grant all on all tables in schema public to ${to}; grant all on all sequences in schema public to ${to}`
const run = (text: string) => withClient(app.deps.config.databaseUrl!, (client) => client.query(text))
const limit = (count: number) => run(`alter role ${role} connection limit ${count}`)
beforeAll(async () => {
  app = await makeTestApp()
  const own = new URL(app.deps.config.databaseUrl!)
  role = `few_${own.pathname.slice(1)}`
  // A superuser has no limit.
  await run(`create role ${role} login password 'x'; ${grants(role)}`)
  url = Object.assign(own, { username: role, password: 'x' }).href
}, 120_000)
afterAll(async () => {
  await run(`drop owned by ${role}; drop role ${role}`)
  await app.close()
})

type Ask = <T = ErrorBody>(
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; headers: Headers; body: T }>

/** Serves with the connections of `database`, three of which listen as those of a server do, or wait to. */
async function serve(database: Database, work: (ask: Ask) => Promise<void>): Promise<void> {
  const { config } = app.deps
  const deps = { ...app.deps, db: database.db, locks: database.locks, log, config: { ...config, mergeWaitMs: 20_000 } }
  const served = buildApp(deps)
  const over = new AbortController()
  const ask = async (method: string, path: string, body?: object) => {
    const response = await served.request(config.publicUrl + path, {
      method,
      headers: { host: new URL(config.publicUrl).host, authorization: `Bearer ${app.ownerToken}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, body: (await response.json()) as never }
  }
  const listener = await database.locks.connect()
  // So many requests at once leave no connection to the locks, unless they have theirs.
  await Promise.all(Array.from({ length: 40 }, () => ask('GET', '/v1/projects')))
  const listening = [watchHomes(deps, over.signal), new JobWaker(deps).listen(over.signal)]
  try {
    await work(ask)
  } finally {
    over.abort()
    await Promise.all(listening)
    listener.release(true)
    await database.close()
  }
}

async function openChange() {
  const at = testProject(app, await app.managedProject())
  const { cr_id } = await at.open('work', { 'a.txt': 'a\n' })
  return `/v1/projects/${at.project.project_id}/change-requests/${cr_id}/merge`
}

test('merges with the fewest connections that a server starts with, and the doctor counts those of its role', async () => {
  const merge = await openChange()
  await limit(10)
  const database = openDatabase(url, log)
  await database.reserve()
  await serve(database, async (ask) => {
    expect((await ask('POST', merge)).status).toBe(200)
    const { body } = await ask<{ groups: ExaminedGroup[] }>('GET', '/v1/doctor')
    expect(body.groups.flatMap(({ findings }) => findings).find(({ name }) => name === 'connections')).toMatchObject({
      says: expect.stringMatching(new RegExp(`^\\d+ of 10 connections of the role ${role} are used$`)),
    })
  })
})

test('a merge that gets no connection says so, and not that others merge', async () => {
  const merge = await openChange()
  await limit(6)
  await serve(openDatabase(url, log), async (ask) => {
    const { status, headers, body } = await ask('POST', merge)
    expect([status, body.code, body.error]).toEqual([503, 'unavailable', 'The database accepts no more connections.'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    await limit(-1)
    await until('the merge gets a connection', async () => (await ask('POST', merge)).status === 200)
  })
})

test('warns at its start when others use the connections that merges need', async () => {
  await limit(10)
  const other = openDatabase(url, log)
  const taken = await Promise.all(Array.from({ length: 8 }, () => other.locks.connect()))
  const database = openDatabase(url, log)
  await database.reserve()
  for (const client of taken) client.release()
  await Promise.all([database.close(), other.close()])
  expect(logged.join('')).toContain('the database refuses connections that merges need')
  expect(logged.join('')).toContain(`"setting":"the CONNECTION LIMIT of the role ${role}","limit":10`)
})

test('a server that could not merge does not start, and names the setting to raise', async () => {
  const servers = await makeTestServers()
  await withClient(servers.databaseUrl, (client) => client.query(grants(role)))
  const databaseUrl = Object.assign(new URL(servers.databaseUrl), { username: role, password: 'x' }).href
  const children: Bun.Subprocess[] = []
  const boot = () => bootServer({ ...servers, databaseUrl }, (child) => children.push(child))
  try {
    await limit(9)
    const refused = await boot()
    expect([refused.url, await refused.errors()]).toEqual([
      null,
      expect.stringContaining(
        `The database allows 9 connections, and a server needs at least 10 to merge, and up to 33 under load. Raise the CONNECTION LIMIT of the role ${role}, then start again.`,
      ),
    ])
    await limit(10)
    const started = await boot()
    expect([started.url, started.url === null && (await started.errors())]).toEqual([expect.any(String), false])
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map((child) => child.exited))
    await servers.close()
  }
})
