/** Traces of sessions, turns, model calls and jobs, in a server with the fake driver. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeLog } from '../log.ts'
import { runJobs } from '../scheduler/loop.ts'
import { makeSessionApp, type SessionApp, until } from '../sessions/testing.ts'
import { OpenTelemetry } from './open-telemetry.ts'
import { type Collector, type ReceivedSpan, startCollector } from './testing-collector.ts'

const canary = 'kanarienvogel'
const lines: { msg: string; trace_id?: string; session_id?: string }[] = []
const upstream = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({ choices: [] }) })
let collector: Collector
let tracing: OpenTelemetry
let app: SessionApp
beforeAll(async () => {
  collector = await startCollector()
  tracing = new OpenTelemetry(
    { url: `${collector.url}/v1/traces`, sampler: 'parentbased_always_on', ratio: 1, secrets: [] },
    { serverName: null, report: { stopped() {}, resumed() {} } },
  )
  const log = makeLog(
    'json',
    (text) => text,
    (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]),
    () => tracing.ids(),
  )
  app = await makeSessionApp({
    deps: { tracing, log },
    configure: { model: { url: `http://127.0.0.1:${upstream.port}/v1`, key: `${canary}-key`, name: 'big-model' } },
  })
}, 120_000)
afterAll(async () => {
  await app.close()
  await tracing.close()
  await collector.close()
  await upstream.stop(true)
})

const named = (name: string) => collector.spans().filter((span) => span.name === name)
const found = (what: string, look: () => ReceivedSpan | undefined) => until(what, () => look() ?? null)

async function complete(sessionId: string, model: string): Promise<void> {
  const session = await app.session(sessionId)
  const { env } = app.driver.seen(session.sandbox?.sandbox_id ?? '')!
  const body = { model, messages: [{ role: 'user', content: `${canary}-content` }] }
  await app.request('POST', '/v1/llm/chat/completions', { token: env['SVC_LLM_API_KEY']!, body })
}

test('the request for a session has its start in its trace, and so does the log', async () => {
  const session = await app.running()
  const start = await found('the start', () => named('start session')[0])
  const request = await found('the request', () => named('POST /v1/projects/:projectId/sessions')[0])
  expect(start).toMatchObject({ traceId: request.traceId, parentSpanId: request.spanId })
  expect(start.attributes['svc.session_id']).toBe(session.session_id)
  for (const name of ['make sandbox', 'boot sandbox'])
    expect(named(name)[0]).toMatchObject({ traceId: request.traceId, parentSpanId: start.spanId })
  expect(lines.find(({ msg }) => msg === 'a session is running')?.trace_id).toBe(request.traceId)
}, 120_000)

test('a turn is a trace of its own, with the calls of its model, and names no model that nobody configured', async () => {
  const { session_id } = await app.running()
  app.driver.options.onPrompt = async () => {
    await complete(session_id, 'big-model')
    await complete(session_id, `${canary}-model`)
    return `${canary}-answer`
  }
  const sent = await app.request('POST', app.path(session_id, 'prompt'), { body: { text: `${canary}-prompt` } })
  expect(sent.status).toBeLessThan(300)
  const turn = await found('the turn', () =>
    named('turn').find(({ attributes }) => attributes['svc.session_id'] === session_id),
  )
  expect(turn.attributes).toMatchObject({ 'svc.turn.outcome': 'completed', 'svc.project_id': app.project.project_id })
  expect(turn.parentSpanId).toBeUndefined()
  const calls = await until('both calls', () => {
    const chats = named('chat')
    return chats.length === 2 && chats
  })
  for (const call of calls) {
    expect(call).toMatchObject({ traceId: turn.traceId, parentSpanId: turn.spanId, kind: 3 })
    const request = collector.spans().find(({ spanId }) => spanId === call.links![0]!.spanId)
    expect(request?.name).toBe('POST /v1/llm/chat/completions')
  }
  expect(calls.map(({ attributes }) => attributes['gen_ai.request.model'])).toEqual(['big-model', undefined])
  expect(collector.bodies.join('')).not.toContain(canary)
}, 120_000)

test('only a run of a job that does something or fails has a trace', async () => {
  const stopping = new AbortController()
  let runs = 0
  const every = { scope: 'any server' as const, everyMs: 5 }
  const jobs = [
    { ...every, name: 'find nothing', run: async () => void runs++ },
    { ...every, name: 'work', run: async () => void (await tracing.span('work', {}, async () => {})) },
    { ...every, name: 'fail', run: () => Promise.reject(new Error(`${canary} failed.`)) },
  ]
  const ended = runJobs(jobs, stopping.signal, app.deps)
  await until('the jobs ran', () => runs > 3)
  stopping.abort()
  await ended
  const job = await found('the job', () => named('job work')[0])
  expect(named('work')[0]).toMatchObject({ traceId: job.traceId, parentSpanId: job.spanId })
  expect(named('job fail')[0]).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'Error' } })
  expect(named('job find nothing')).toEqual([])
  expect(collector.bodies.join('')).not.toContain(canary)
}, 120_000)

test('a sampler that takes none sends none', async () => {
  const quiet = new OpenTelemetry(
    { url: `${collector.url}/v1/traces`, sampler: 'parentbased_traceidratio', ratio: 0, secrets: [] },
    { serverName: null, report: { stopped() {}, resumed() {} } },
  )
  await quiet.span('unseen', {}, async () => {})
  await quiet.close()
  await tracing.span('seen', { parent: 'none' }, async () => {})
  await found('the span of the other', () => named('seen')[0])
  expect(named('unseen')).toEqual([])
}, 120_000)
