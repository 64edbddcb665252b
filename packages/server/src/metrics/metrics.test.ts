import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildApp } from '../app.ts'
import { readNetwork } from '../config/network.ts'
import { Settings } from '../config/settings.ts'
import { updateRows } from '../db/rows.ts'
import { openDatabase } from '../db/pool.ts'
import { keyId } from '../keyring/cipher.ts'
import { createMasterKey } from '../keyring/master-key.ts'
import { Listener } from '../listen.ts'
import { runJobs } from '../scheduler/loop.ts'
import { until } from '../sessions/testing.ts'
import { makeTestApp, type TestApp } from '../testing.ts'

const metricsToken = 'a-token-of-the-operator'
let app: TestApp
let listener: Listener
let address: string
let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-metrics-'))
  const network = readNetwork(new Settings({ SVC_TRUSTED_PROXIES: '127.0.0.9' }))
  app = await makeTestApp({ configure: { metricsToken, masterKeyFile: join(dir, 'master.key') } })
  listener = new Listener({ fromSandbox: false, network })
  const served = buildApp(app.deps)
  address = `http://127.0.0.1:${await listener.onPort('127.0.0.1', 0)}`
  listener.answerWith((request, env) => served.fetch(request, env))
  app.deps.metrics.watchListener(listener)
}, 120_000)
afterAll(async () => {
  await listener.close()
  await app.close()
  await rm(dir, { recursive: true, force: true })
})

async function scrape(headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  const host = new URL(app.deps.config.publicUrl).host
  const response = await fetch(`${address}/metrics`, { headers: { host, ...headers } })
  return { status: response.status, text: await response.text() }
}

/** The value of one series, with its labels in the text's order. */
const valueOf = (text: string, series: string) =>
  text
    .split('\n')
    .find((line) => line.startsWith(`${series} `))
    ?.slice(series.length + 1) ?? null

test('a request whose client left is counted as 499 and not as a failure of the server', async () => {
  const { project } = await app.managedProject()
  const path = `/v1/projects/${project.project_id}/git/git-upload-pack`
  const { status } = await app.request('POST', path, {
    token: null,
    headers: {
      authorization: `Basic ${btoa(`x-access-token:${app.ownerToken}`)}`,
      'content-type': 'application/x-git-upload-pack-request',
    },
    signal: AbortSignal.abort(),
  })
  expect(status).toBe(503)
  const { text } = await scrape()
  const series = (counted: number) =>
    `svc_http_request_duration_seconds_count{method="POST",route="/v1/projects/:projectId/git/git-upload-pack",status="${counted}"}`
  expect([valueOf(text, series(499)), valueOf(text, series(503))]).toEqual(['1', null])
})

test('a scrape from this machine shows requests, jobs, queues, pools and the database', async () => {
  const { project } = await app.managedProject()
  const path = `/v1/projects/${project.project_id}`
  await app.request('GET', path)
  await app.request('GET', `${path}/sessions/none`)
  await app.request('GET', '/v1/nothing/of/this/name')
  const stopping = new AbortController()
  const hanging = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()))
  const before = Date.now() / 1000
  let runs = 0
  const jobs = [
    { name: 'works', scope: 'any server' as const, everyMs: 5, run: async () => void runs++ },
    { name: 'fails', scope: 'any server' as const, everyMs: 5, run: () => Promise.reject(new Error('It failed.')) },
    { name: 'hangs', scope: 'any server' as const, everyMs: 5, run: () => hanging },
  ]
  const ended = runJobs(jobs, stopping.signal, app.deps)
  await until('jobs ran', async () => runs > 1)
  const { status, text } = await scrape()
  stopping.abort()
  await ended

  expect(status).toBe(200)
  const count = 'svc_http_request_duration_seconds_count'
  expect(valueOf(text, `${count}{method="GET",route="/v1/projects/:projectId",status="200"}`)).toBe('1')
  expect(valueOf(text, `${count}{method="GET",route="/v1/projects/:projectId/sessions/:sessionId",status="404"}`)).toBe(
    '1',
  )
  expect(valueOf(text, `${count}{method="GET",route="none",status="404"}`)).toBe('1')
  expect(Number(valueOf(text, 'svc_job_runs_total{task="works",outcome="success"}'))).toBeGreaterThan(1)
  expect(Number(valueOf(text, 'svc_job_runs_total{task="fails",outcome="failure"}'))).toBeGreaterThan(0)
  expect(valueOf(text, 'svc_job_runs_total{task="works",outcome="failure"}')).toBe('0')
  for (const task of ['fails', 'hangs']) {
    const since = Number(valueOf(text, `svc_job_last_success_timestamp_seconds{task="${task}"}`))
    expect([task, since >= before, since <= Date.now() / 1000]).toEqual([task, true, true])
  }
  expect(valueOf(text, 'svc_database_up')).toBe('1')
  expect(valueOf(text, 'svc_pending{queue="prompts"}')).toBe('0')
  expect(valueOf(text, 'svc_sandbox_boots{for="sessions",state="waiting"}')).toBe('0')
  expect(valueOf(text, 'svc_git_processes{lane="push",state="running"}')).toBe('0')
  expect(Number(valueOf(text, 'svc_http_connections{kind="all"}'))).toBeGreaterThan(0)
  // Neither ids nor names of people's resources.
  expect(text).not.toContain(project.project_id)
})

test('counts queues and sessions of the database', async () => {
  const { project } = await app.managedProject()
  const { session_id } = await app.makeSession(project)
  await app.deps.db
    .insertInto('session_prompts')
    .values({
      prompt_id: crypto.randomUUID(),
      session_id,
      text: 'a prompt',
      error: null,
      created_by: null,
      delivered_at: null,
    })
    .execute()
  const { text } = await scrape()
  expect(valueOf(text, 'svc_sessions{status="stopped"}')).toBe('1')
  expect(valueOf(text, 'svc_sessions{status="running"}')).toBe('0')
  expect(valueOf(text, 'svc_change_requests{status="open"}')).toBe('0')
  expect(valueOf(text, 'svc_pending{queue="prompts"}')).toBe('1')
  expect(Number(valueOf(text, 'svc_pending_oldest_seconds{queue="prompts"}'))).toBeGreaterThan(0)
})

test.each([
  ['the token of the operator', { authorization: `Bearer ${metricsToken}` }, 200],
  ['the token of the operator behind a proxy', { authorization: `Bearer ${metricsToken}`, via: '1.1 proxy' }, 200],
  ['another token', { authorization: 'Bearer a-token-of-the-operatos' }, 403],
  ['a proxy of this machine that is not trusted', { 'x-forwarded-for': '192.0.2.7' }, 403],
  ['a proxy that writes Forwarded', { forwarded: 'for=192.0.2.7' }, 403],
  ['a proxy that names the scheme alone', { 'x-forwarded-proto': 'https' }, 403],
  ['a content delivery network', { 'cf-connecting-ip': '192.0.2.7' }, 403],
])('answers a scrape by its credentials: %s', async (_name, headers: Record<string, string>, status) => {
  expect((await scrape(headers)).status).toBe(status)
})

test('shows that the master key is gone while the server still runs', async () => {
  const missing = async () => valueOf((await scrape()).text, 'svc_master_key_missing')
  const key = await createMasterKey(app.deps.config.masterKeyFile)
  await updateRows(app.deps.db, 'installation', {}, { master_key_id: keyId(key) })
  expect(await missing()).toBe('0')
  await rm(app.deps.config.masterKeyFile)
  expect(await missing()).toBe('1')
})

test('refuses a user token, another machine and a sandbox', async () => {
  expect((await scrape({ authorization: `Bearer ${app.ownerToken}` })).status).toBe(403)
  // A request without a listener has no address.
  const elsewhere = await app.request('GET', '/metrics', { token: null })
  expect([elsewhere.status, elsewhere.body.code]).toEqual([403, 'forbidden'])
  expect(elsewhere.text).toContain('SVC_METRICS_TOKEN')
})

test('answers while the database is down', async () => {
  // Nothing listens there.
  const { db, close } = openDatabase('postgres://127.0.0.1:9/none', app.deps.log)
  const served = buildApp({ ...app.deps, db })
  const host = new URL(app.deps.config.publicUrl).host
  const response = await served.request(`http://${host}/metrics`, {
    headers: { host, authorization: `Bearer ${metricsToken}` },
  })
  expect(response.status).toBe(200)
  expect(valueOf(await response.text(), 'svc_database_up')).toBe('0')
  await close()
})

test('a gauge without a value is absent, with labels and without', async () => {
  let values: [Record<string, string>, number][] = [[{}, 7]]
  app.deps.metrics.gauge('svc_sometimes', 'A gauge that has a value at times.', [], () => values)
  expect(valueOf((await scrape({ authorization: `Bearer ${metricsToken}` })).text, 'svc_sometimes')).toBe('7')
  values = []
  expect(valueOf((await scrape({ authorization: `Bearer ${metricsToken}` })).text, 'svc_sometimes')).toBe(null)
})
