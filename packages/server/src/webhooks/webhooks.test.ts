import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Project, Webhook, WebhookDelivery } from '@svc/contract'
import { sql } from 'kysely'
import { recordEvent } from '../events/record.ts'
import { until } from '../sessions/testing.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { WebhookSender } from './sender.ts'
import { isGenuine, type Receiver, startReceiver } from './testing.ts'

let app: TestApp
let project: Project
let receiver: Receiver
let sender: WebhookSender
const signal = new AbortController().signal

beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())
beforeEach(async () => {
  ;({ project } = await app.managedProject())
  receiver = await startReceiver()
  sender = new WebhookSender(app.deps)
})
afterEach(async () => {
  await app.request('DELETE', `/v1/projects/${project.project_id}`)
  await receiver.close()
})

const path = (...parts: string[]) => ['/v1/projects', project.project_id, 'webhooks', ...parts].join('/')
const create = async (body: object = {}) =>
  (await app.request<Webhook & { secret: string }>('POST', path(), { body: { url: receiver.url, ...body } })).body
const read = async (id: string) =>
  (await app.request<{ webhooks: Webhook[] }>('GET', path())).body.webhooks.find((each) => each.webhook_id === id)!
const deliveries = async (id: string) =>
  (await app.request<{ deliveries: WebhookDelivery[] }>('GET', path(id, 'deliveries'))).body.deliveries
const happens = (n: number) =>
  recordEvent(app.deps.db, {
    project_id: project.project_id,
    type: 'default_branch.moved',
    data: { branch: `b${n}`, before: null, sha: null },
  })
const sessionRuns = () =>
  recordEvent(app.deps.db, {
    project_id: project.project_id,
    type: 'session.running',
    data: {
      session_id: app.owner.user_id,
      ...{ name: 's', agent_name: 'build', branch_name: 'b', generation: 1, reason: null },
    },
  })
const branches = () => receiver.letters.map(({ body }) => (body.data as { branch?: string } | undefined)?.branch)

/** Everything that is due now. */
async function send(by = sender): Promise<void> {
  await by.tend(signal)
  await by.ended()
}

/** The pause before the next try is over. */
const pauseIsOver = (id: string) =>
  sql`update webhooks set next_attempt_at = now() - interval '1 second' where webhook_id = ${id}`.execute(app.deps.db)

describe('sending webhooks', () => {
  test('sends later events signed and in order, and records the deliveries', async () => {
    await happens(0)
    const { webhook_id, secret } = await create()
    expect(secret).toMatch(/^svc_whs_[\w-]{32}$/)
    for (const n of [1, 2, 3]) await happens(n)
    await send()
    expect(branches()).toEqual(['b1', 'b2', 'b3'])
    for (const letter of receiver.letters) {
      expect(isGenuine(letter, secret)).toBeTrue()
      expect(letter.headers).toMatchObject({
        'x-svc-event': 'default_branch.moved',
        'content-type': 'application/json',
      })
      expect(Math.abs(Number(letter.headers['x-svc-timestamp']) - Date.now() / 1000)).toBeLessThan(60)
    }
    expect(isGenuine(receiver.letters[0]!, 'another-secret-0000')).toBeFalse()
    const log = await deliveries(webhook_id)
    expect(log.map(({ status, http_status, attempts, answer }) => [status, http_status, attempts, answer])).toEqual(
      receiver.letters.map(() => ['delivered', 200, 1, 'answered 200']),
    )
    expect(log.map(({ delivery_id }) => delivery_id).toReversed()).toEqual(
      receiver.letters.map(({ headers }) => headers['x-svc-delivery']!),
    )
    expect(await read(webhook_id)).toMatchObject({ state: 'active', last_event: 4, reason: null })
    expect((await app.request('GET', path())).text).not.toContain(secret)
  })

  test('a repeated creation with one key is one webhook, and its secret is never stored in plain text', async () => {
    const ask = (to: string, key: string, body?: object) =>
      app.request<Webhook & WebhookDelivery & { secret: string }>('POST', to, {
        headers: { 'idempotency-key': key },
        ...(body === undefined ? {} : { body }),
      })
    const [first, again] = [
      await ask(path(), 'make', { url: receiver.url }),
      await ask(path(), 'make', { url: receiver.url }),
    ]
    expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 201, 'true'])
    expect(again.body).toEqual(first.body)
    expect((await ask(path(), 'make', { url: `${receiver.url}other` })).status).toBe(409)
    const { webhook_id, secret } = first.body
    const kept = await sql<{ body: string | null }>`select body::text from idempotency_keys where key = 'make'`.execute(
      app.deps.db,
    )
    expect(kept.rows).toEqual([{ body: null }])

    const [ping, same] = [await ask(path(webhook_id, 'ping'), 'ping'), await ask(path(webhook_id, 'ping'), 'ping')]
    expect(same.body).toEqual(ping.body)
    await send()
    expect(receiver.letters.map(({ body }) => body.type)).toEqual(['ping'])
    expect(isGenuine(receiver.letters[0]!, secret)).toBeTrue()
    const redeliver = path(webhook_id, 'deliveries', ping.body.delivery_id, 'redeliver')
    for (let count = 0; count < 2; count++) {
      expect((await ask(redeliver, 'once-more')).status).toBe(202)
      await send()
    }
    expect(receiver.letters).toHaveLength(2)

    await app.request('DELETE', path(webhook_id))
    expect((await ask(path(), 'make', { url: receiver.url })).status).toBe(404)
    expect((await app.request<{ webhooks: Webhook[] }>('GET', path())).body.webhooks).toEqual([])
  })

  test('sends only the requested events', async () => {
    const { webhook_id } = await create({ events: ['session.*', 'change_request.opened'] })
    await happens(1)
    await sessionRuns()
    for (let n = 0; n < 250; n++) await happens(n)
    await sessionRuns()
    await send()
    expect(receiver.letters.map(({ body }) => body.type)).toEqual(['session.running', 'session.running'])
    expect((await read(webhook_id)).last_event).toBe(253)
  })

  test('retries a refused delivery unchanged, and later events wait behind it', async () => {
    const { webhook_id } = await create()
    receiver.answer = 503
    for (const n of [1, 2]) await happens(n)
    await send()
    await send()
    expect(branches()).toEqual(['b1'])
    expect(await read(webhook_id)).toMatchObject({
      state: 'retrying',
      attempts: 1,
      reason: 'The receiver answered 503.',
    })
    await pauseIsOver(webhook_id)
    await send()
    receiver.answer = 204
    await pauseIsOver(webhook_id)
    await send()
    expect(branches()).toEqual(['b1', 'b1', 'b1', 'b2'])
    expect(new Set(receiver.letters.map(({ headers }) => headers['x-svc-delivery'])).size).toBe(2)
    expect(await read(webhook_id)).toMatchObject({ state: 'active', attempts: 0, reason: null })
    expect((await deliveries(webhook_id)).map(({ attempts }) => attempts)).toEqual([1, 3])
  })

  test('pauses a webhook that failed for a day with the reason, and a resumed one continues where it stopped', async () => {
    const { webhook_id } = await create()
    receiver.answer = 500
    await happens(1)
    await send()
    await sql`update webhooks set failing_since = now() - interval '25 hours', next_attempt_at = now() - interval '1 second'`.execute(
      app.deps.db,
    )
    await send()
    const paused = await read(webhook_id)
    expect(paused).toMatchObject({
      state: 'paused',
      reason: 'No delivery was accepted for a day. Last try: The receiver answered 500.',
    })
    expect((await deliveries(webhook_id))[0]!.status).toBe('failed')
    receiver.answer = 200
    await happens(2)
    await send()
    expect(receiver.letters).toHaveLength(2)
    await app.request('PATCH', path(webhook_id), { body: { paused: false } })
    await send()
    expect(branches()).toEqual(['b1', 'b1', 'b1', 'b2'])
  })

  test('resuming from now drops waiting events, and 410 pauses at once', async () => {
    const { webhook_id } = await create()
    receiver.answer = 410
    for (const n of [1, 2]) await happens(n)
    await send()
    expect(await read(webhook_id)).toMatchObject({
      state: 'paused',
      reason: 'The receiver answered 410: it accepts no more deliveries.',
    })
    receiver.answer = 200
    await app.request('PATCH', path(webhook_id), { body: { paused: false, from_now: true } })
    await happens(3)
    await send()
    expect(branches()).toEqual(['b1', 'b3'])
  })

  test('asks a receiver that was away too long to read the state again', async () => {
    const { webhook_id } = await create()
    for (const n of [1, 2, 3]) await happens(n)
    await sql`delete from project_events where project_id = ${project.project_id} and number < 3`.execute(app.deps.db)
    await send()
    expect(receiver.letters.map(({ body, headers }) => [body.type, body.id, headers['x-svc-event']])).toEqual([
      ['reset', 2, 'reset'],
      ['default_branch.moved', 3, 'default_branch.moved'],
    ])
    expect((await read(webhook_id)).state).toBe('active')
  })
})

describe('misbehaving receivers', () => {
  test('does not follow a redirect', async () => {
    const elsewhere = await startReceiver()
    const { webhook_id } = await create()
    receiver.answer = (_, response) => response.writeHead(307, { location: elsewhere.url }).end()
    await happens(1)
    await send()
    expect(elsewhere.letters).toEqual([])
    expect((await read(webhook_id)).reason).toBe('The receiver answered 307; redirects are not followed.')
    await elsewhere.close()
  })

  test('a broken connection, no listener or an endless reply costs one attempt', async () => {
    const { webhook_id } = await create()
    await happens(1)
    receiver.answer = (_, response) => response.destroy()
    await send()
    expect((await read(webhook_id)).reason).toMatch(/closed the connection|unreachable|refused the connection/)
    receiver.answer = (_, response) => {
      response.writeHead(500)
      const more = () => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', more)
      }
      more()
    }
    await pauseIsOver(webhook_id)
    await send()
    const [log] = await deliveries(webhook_id)
    expect(log).toMatchObject({ attempts: 2, http_status: 500, status: 'waiting' })
    expect(log!.answer).toHaveLength(1024)
    await app.request('PATCH', path(webhook_id), { body: { url: 'http://127.0.0.1:9/' } })
    await send()
    expect((await read(webhook_id)).reason).toMatch(/ECONNREFUSED|reached/)
  })

  test('a receiver that never replies times out without delaying others', async () => {
    const slow = await create()
    receiver.answer = () => {}
    const quick = await startReceiver()
    await create({ url: quick.url })
    await happens(1)
    const impatient = new WebhookSender(app.deps, 2_000)
    await impatient.tend(signal)
    await until('the other one was served', () => quick.letters.length === 1)
    await until('the slow one is asked', () => receiver.letters.length === 1)
    expect((await deliveries(slow.webhook_id))[0]!.status).toBe('waiting')
    await impatient.ended()
    expect((await read(slow.webhook_id)).reason).toBe('The receiver did not answer within 2 s.')
    await quick.close()
  })
})

describe('pings and redeliveries', () => {
  test('sends a ping at once, also from a paused webhook', async () => {
    const { webhook_id, secret } = await create()
    await app.request('PATCH', path(webhook_id), { body: { paused: true } })
    const { status, body } = await app.request<WebhookDelivery>('POST', path(webhook_id, 'ping'))
    expect([status, body.status, body.event_type]).toEqual([202, 'waiting', 'ping'])
    await happens(1)
    await send()
    expect(receiver.letters.map(({ body: { type } }) => type)).toEqual(['ping'])
    expect(receiver.letters[0]!.body).toMatchObject({ project_id: project.project_id, webhook_id })
    expect(isGenuine(receiver.letters[0]!, secret)).toBeTrue()
  })

  test('sends a delivery again once under its id', async () => {
    const { webhook_id } = await create()
    for (const n of [1, 2]) await happens(n)
    await send()
    const first = (await deliveries(webhook_id)).at(-1)!
    receiver.answer = 500
    const again = path(webhook_id, 'deliveries', first.delivery_id, 'redeliver')
    expect((await app.request('POST', again)).status).toBe(202)
    await send()
    await send()
    expect(branches()).toEqual(['b1', 'b2', 'b1'])
    expect(receiver.letters[2]!.headers['x-svc-delivery']).toBe(first.delivery_id)
    expect((await deliveries(webhook_id)).at(-1)).toMatchObject({ status: 'failed', attempts: 2, http_status: 500 })
    expect(await read(webhook_id)).toMatchObject({ state: 'active', last_event: 2 })
    receiver.answer = 200
    await happens(3)
    await send()
    expect(branches().at(-1)).toBe('b3')
  })

  test('sends a waiting delivery at once on request', async () => {
    const { webhook_id } = await create()
    receiver.answer = 500
    await happens(1)
    await send()
    receiver.answer = 200
    const [waiting] = await deliveries(webhook_id)
    await app.request('POST', path(webhook_id, 'deliveries', waiting!.delivery_id, 'redeliver'))
    await send()
    expect((await deliveries(webhook_id))[0]!.status).toBe('delivered')
  })

  test('signs with a new secret from then on', async () => {
    const { webhook_id, secret } = await create()
    const { body } = await app.request<{ secret: string | null }>('PATCH', path(webhook_id), {
      body: { rotate_secret: true },
    })
    expect(body.secret).not.toBe(secret)
    await happens(1)
    await send()
    expect(isGenuine(receiver.letters[0]!, body.secret!)).toBeTrue()
    expect((await app.request<{ secret: null }>('PATCH', path(webhook_id), { body: {} })).body.secret).toBeNull()
  })
})

describe('several servers', () => {
  test('never send for one webhook at the same time, and together send everything in order', async () => {
    const others = [await app.anotherServer(), await app.anotherServer()]
    const senders = [sender, ...others.map(({ deps }) => new WebhookSender(deps))]
    await create()
    let n = 0
    const writing = (async () => {
      for (; n < 60; n++) await happens(n)
    })()
    while (receiver.letters.length < 60) await Promise.all(senders.map((each) => send(each)))
    await writing
    expect(branches()).toEqual(Array.from({ length: 60 }, (_, each) => `b${each}`))
    expect(receiver.atOnceMax).toBe(1)
  })

  test('a live server keeps its webhook until its lease ends', async () => {
    const { webhook_id } = await create()
    await happens(1)
    const { deps } = await app.anotherServer()
    await sql`update webhooks set lease_by = ${deps.instanceId}, lease_until = now() + interval '1 hour'`.execute(
      app.deps.db,
    )
    await send()
    expect(receiver.letters).toEqual([])
    await sql`update webhooks set lease_until = now() - interval '1 second' where webhook_id = ${webhook_id}`.execute(
      app.deps.db,
    )
    await send()
    expect(branches()).toEqual(['b1'])
  })
})

describe('addresses of webhooks', () => {
  test('refuses private addresses unless the operator allows them, at creation and at every attempt', async () => {
    const config = { ...app.deps.config, allowPrivateGitHosts: false }
    const closed = await makeTestApp({ configure: { allowPrivateGitHosts: false } })
    const { project: theirs } = await closed.managedProject()
    for (const url of [
      'http://example.com/',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://169.254.169.254/latest/meta-data',
      'https://10.0.0.1:8443/x',
      'https://0x7f.1/',
      'https://localhost/x',
      'https://intranet/x',
      'https://user:pass@example.com/',
      'https://example.com/#x',
      'ftp://example.com/',
      'file:///etc/passwd',
      'https://[::ffff:10.0.0.1]/',
      'https:///x',
      'nonsense',
    ]) {
      const reply = await closed.request('POST', `/v1/projects/${theirs.project_id}/webhooks`, { body: { url } })
      expect([url, reply.status, reply.body.code]).toEqual([url, 400, 'invalid'])
      expect(reply.text).not.toMatch(/git|ssh|repository/i)
    }
    await closed.close()
    const { webhook_id } = await create()
    await happens(1)
    await send(new WebhookSender({ ...app.deps, config }))
    expect(receiver.letters).toEqual([])
    expect((await read(webhook_id)).reason).toMatch(/^The URL must start with https/)
  })

  test('refuses metadata services even where private addresses are allowed', async () => {
    for (const url of ['http://169.254.169.254/latest', 'http://[fd00:ec2::254]/', 'http://[fe80::1]/']) {
      const reply = await app.request('POST', path(), { body: { url } })
      expect([url, reply.status, reply.text]).toEqual([
        url,
        400,
        expect.stringContaining('does not call such addresses'),
      ])
    }
  })

  test('limits patterns, secrets and the number of webhooks', async () => {
    const bad = [{ events: ['nothing.*'] }, { events: [] }, { secret: 'short' }, { secret: 'has a space in it 1234' }]
    for (const body of bad)
      expect((await app.request('POST', path(), { body: { url: receiver.url, ...body } })).status).toBe(400)
    for (let n = 0; n < 20; n++) await create()
    const reply = await app.request('POST', path(), { body: { url: receiver.url } })
    expect([reply.status, reply.body.code]).toEqual([429, 'limit_reached'])
  })

  test('deleting the project deletes its webhooks', async () => {
    const { webhook_id } = await create()
    await happens(1)
    await app.request('DELETE', `/v1/projects/${project.project_id}`)
    await send()
    expect(receiver.letters).toEqual([])
    expect((await app.request('GET', path(webhook_id, 'deliveries'))).status).toBe(404)
    ;({ project } = await app.managedProject())
  })
})
