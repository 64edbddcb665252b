/** Servers in processes of their own, with real repositories, and a collector that takes, fails, or never answers. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Fleet, type FleetServer, makeFleet } from '../fleet/testing-fleet.ts'
import { FleetProject } from '../fleet/testing-work.ts'
import { until } from '../testing-until.ts'
import type { BootedServer } from '../startup/testing-server.ts'
import { type Collector, type ReceivedSpan, startCollector } from './testing-collector.ts'

const canary = 'kanarienvogel'
let collector: Collector
let fleet: Fleet
let ada: FleetServer
let bob: FleetServer
let booted: BootedServer
let project: FleetProject
beforeAll(async () => {
  collector = await startCollector()
  fleet = await makeFleet(['ada', 'bob'], {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-key=${canary}-header`,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  })
  ;[ada, bob] = fleet.servers as [FleetServer, FleetServer]
  booted = await ada.boot()
  await bob.boot()
  project = await FleetProject.make(fleet, bob)
}, 120_000)
afterAll(async () => {
  await fleet.close()
  await collector.close()
})

/** The trace whose root has this name and these attributes, once its root has arrived. */
async function traceOf(name: string, attributes: Record<string, unknown> = {}): Promise<ReceivedSpan[]> {
  const root = await until(
    `a span ${name}`,
    () =>
      collector
        .spans()
        .find(
          (span) =>
            span.name === name && Object.entries(attributes).every(([key, value]) => span.attributes[key] === value),
        ) ?? null,
  )
  return collector.spans().filter(({ traceId }) => traceId === root.traceId)
}

const merge = '/v1/projects/:projectId/change-requests/:crId/merge'

test('a merge is one trace: the request at the top, its merge below, and the git processes below that', async () => {
  const other = await project.changeRequest(bob, 'other')
  const cr = await project.changeRequest(bob, `${canary}-branch`)
  // The base moves, so that the merge is no fast-forward.
  expect((await project.request(bob, 'POST', `/change-requests/${other.cr_id}/merge`)).status).toBe(200)
  const merged = await project.request(bob, 'POST', `/change-requests/${cr.cr_id}/merge?x=${canary}-query`, {
    message: `${canary}-message`,
  })
  expect(merged.status).toBe(200)

  const spans = await traceOf(`POST ${merge}`, { 'svc.change_request_id': cr.cr_id })
  const [root, ...otherRoots] = spans.filter(({ parentSpanId }) => parentSpanId === undefined)
  expect(otherRoots).toEqual([])
  expect(root).toMatchObject({
    name: `POST ${merge}`,
    kind: 2,
    attributes: {
      'http.request.method': 'POST',
      'http.route': merge,
      'http.response.status_code': 200,
      'svc.request_id': merged.headers.get('x-request-id')!,
      'svc.project_id': project.id,
    },
    service: { 'service.name': 'svc', 'service.instance.id': 'bob', 'deployment.environment.name': 'test' },
  })
  const childrenOf = (name: string) => {
    const ids = spans.filter((span) => span.name === name).map(({ spanId }) => spanId)
    return spans.filter(({ parentSpanId }) => ids.includes(parentSpanId ?? '')).map((span) => span.name)
  }
  expect(childrenOf(root!.name)).toEqual(expect.arrayContaining(['plan merge', 'land merge']))
  expect(childrenOf('plan merge')).toContain('git merge-tree')
  expect(childrenOf('land merge').filter((name) => name.startsWith('git '))).not.toEqual([])
  const copy = spans.find(({ name }) => name === 'POST copy')
  const kept = await until(
    'the request for the copy',
    () =>
      collector.spans().find(({ parentSpanId }) => parentSpanId !== undefined && parentSpanId === copy?.spanId) ?? null,
  )
  expect([copy?.service['service.instance.id'], kept?.service['service.instance.id']]).toEqual(['bob', 'ada'])
  expect(spans.find(({ name }) => name.startsWith('git '))!.attributes).toHaveProperty(['svc.git.lane'])
}, 120_000)

test('a request that is forwarded is one trace of two servers', async () => {
  const { cr_id } = await project.changeRequest(bob, 'forwarded')
  expect((await project.request(ada, 'POST', `/change-requests/${cr_id}/merge`)).status).toBe(200)
  await traceOf('POST forwarded', { 'svc.change_request_id': cr_id })
  const spans = await traceOf(`POST ${merge}`, { 'svc.change_request_id': cr_id })
  const first = spans.find(({ name }) => name === 'POST forwarded')
  const second = spans.find(({ name }) => name === `POST ${merge}`)
  expect([first?.service['service.instance.id'], second?.service['service.instance.id']]).toEqual(['ada', 'bob'])
  expect(first).toMatchObject({ kind: 2, attributes: { 'svc.peer': 'bob', 'http.response.status_code': 200 } })
  expect([first?.parentSpanId, second?.parentSpanId]).toEqual([undefined, first!.spanId])
  expect(spans.some(({ name }) => name === 'land merge')).toBe(true)
}, 120_000)

test('no caller chooses the trace of its request, directly or through another server', async () => {
  const traceId = 'c0ffee00'.repeat(4)
  const traceparent = `00-${traceId}-${'ab'.repeat(8)}-01`
  const headers = { traceparent, 'x-svc-trace': `${traceparent} ${'A'.repeat(43)}` }
  for (const server of [ada, bob])
    expect((await fleet.request(server, 'GET', `/v1/projects/${project.id}/branches`, { headers })).status).toBe(200)
  await traceOf('GET /v1/projects/:projectId/branches')
  await traceOf('GET forwarded')
  expect(collector.bodies.join('')).not.toContain('c0ffee')
}, 120_000)

test('the collector gets the headers of the operator, and no branch, path, message, query, token or secret', async () => {
  const secret = { name: 'TOKEN', value: `${canary}-secret` }
  expect((await project.request(bob, 'POST', '/secrets', secret)).status).toBe(200)
  await project.request(bob, 'DELETE', `/secrets/${canary}`)
  expect((await fleet.request(bob, 'GET', `/v1/${canary}-path?token=${canary}`)).status).toBe(404)
  expect((await fleet.request(bob, canary, `/v1/${canary}`)).status).toBeGreaterThan(399)
  const last = await fleet.request(bob, 'GET', `/v1/servers?x=${canary}`)
  await traceOf('GET /v1/servers', { 'svc.request_id': last.headers.get('x-request-id') })
  const sent = collector.bodies.join('')
  expect(collector.headers[0]).toMatchObject({ url: '/v1/traces', 'x-key': `${canary}-header` })
  expect(sent).not.toContain(canary)
  expect(sent).not.toContain(fleet.token)
  expect(sent).not.toContain(fleet.dir)
  expect(collector.spans().flatMap(({ events, status }) => [...events, ...(status.message ? [status] : [])])).toEqual(
    [],
  )
}, 120_000)

test('a collector that never answers, or refuses, delays no request and costs one line in the log', async () => {
  collector.set('hangs')
  await until('a batch that hangs', async () => {
    await project.request(ada, 'GET', '/branches')
    return collector.hanging.size > 0
  })
  const { cr_id } = await project.changeRequest(ada, 'beside')
  expect((await project.request(ada, 'POST', `/change-requests/${cr_id}/merge`)).status).toBe(200)
  expect(collector.hanging.size).toBeGreaterThan(0)
  collector.set('fails')
  for (const response of collector.hanging) response.writeHead(400).end()
  const refused = collector.headers.length
  await until('several refused batches', async () => {
    await project.request(ada, 'GET', '/branches')
    return collector.headers.length > refused + 4
  })
  await ada.kill('SIGTERM')
  const lines = (await booted.errors())
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { msg: string; level: number; trace_id?: string; request_id?: string })
  const about = lines.filter(({ msg }) => msg.includes('collector'))
  expect(about.map(({ level, msg, trace_id, request_id }) => [level, msg, trace_id ?? request_id])).toEqual([
    [40, 'the collector of traces takes no spans; they are dropped until it does', undefined],
  ])
  expect(JSON.stringify(lines)).not.toContain(canary)
}, 120_000)

test('a server that ends sends its last spans', async () => {
  collector.set('takes')
  const earlier = collector.spans().length
  await project.request(bob, 'GET', '/branches')
  await bob.kill('SIGTERM')
  expect(collector.spans().length).toBeGreaterThan(earlier)
  expect(collector.spans().at(-1)!.service['service.instance.id']).toBe('bob')
}, 120_000)
