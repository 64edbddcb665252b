import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHmac, randomUUID } from 'node:crypto'
import { until } from '../../sessions/testing.ts'
import { hookTrigger, makeTriggerApp, type TriggerApp } from '../testing.ts'

setDefaultTimeout(120_000)
let app: TriggerApp
const secret = 'whsec-0123456789abcdef'
const sign = (body: string, key = secret) => `sha256=${createHmac('sha256', key).update(body).digest('hex')}`

const deliver = (body: string, headers: Record<string, string>, slug = 'triage') =>
  app.request<{ session_id: string | null; status: string }>('POST', app.of(slug, 'webhook'), {
    token: null,
    body,
    headers: { 'content-type': 'application/json', ...headers },
  })

beforeAll(async () => {
  app = await makeTriggerApp()
  await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, {
    body: { name: 'HOOK_SECRET', value: secret },
  })
  await app.manifest(
    hookTrigger('triage') +
      hookTrigger('off', 'enabled = false') +
      hookTrigger('unset').replace('HOOK_SECRET', 'OTHER'),
  )
})
afterAll(() => app.close())

describe('the webhook of a trigger', () => {
  test.each(['x-svc-signature', 'x-hub-signature-256'])('accepts a signature in %s', async (header) => {
    const body = JSON.stringify({ title: `Broken "${header}"` })
    const { status, body: answer } = await deliver(body, { [header]: sign(body) })
    expect([status, answer.status]).toEqual([202, 'fired'])
    const { env } = await until('its sandbox is there', async () => {
      const live = await app.session(answer.session_id!)
      return app.driver.seen(live.sandbox?.sandbox_id ?? '')?.spec ?? null
    })
    expect(env.SVC_INITIAL_PROMPT).toStartWith(`See "Broken \\"${header}\\""`)
    expect((await app.trigger('triage')).slots[0]).toMatchObject({
      kind: 'webhook',
      status: 'fired',
      session_id: answer.session_id!,
    })
  })

  test('refuses every other call with the same message', async () => {
    const body = '{"title":"x"}'
    const before = (await app.trigger('triage')).slots.length
    const refused = await Promise.all([
      deliver(body, {}),
      deliver(body, { 'x-svc-signature': sign(body, 'another secret') }),
      deliver(`${body} `, { 'x-svc-signature': sign(body) }),
      deliver(body, { 'x-svc-signature': sign(body).slice(0, -1) }),
      deliver(body, { 'x-svc-signature': `sha1=${sign(body).slice(7)}` }),
      deliver(body, { 'x-svc-signature': `${sign(body)}, ${sign(body)}` }),
      deliver(body, { 'x-svc-signature': '0'.repeat(64) }),
      deliver(body, { 'x-svc-signature': 'x', 'x-hub-signature-256': sign(body) }),
      deliver(body, { 'x-svc-signature': sign(body) }, 'unset'),
      deliver(body, { 'x-svc-signature': sign(body, '') }, 'unset'),
      deliver(body, { 'x-svc-signature': sign(body, 'none') }, 'unset'),
      deliver(body, { 'x-svc-signature': sign(body) }, 'nope'),
      app.request('POST', `/v1/projects/${randomUUID()}/triggers/triage/webhook`, {
        token: null,
        body,
        headers: { 'x-svc-signature': sign(body) },
      }),
      app.request('POST', '/v1/projects/nope/triggers/triage/webhook', {
        token: null,
        body,
        headers: { 'x-svc-signature': sign(body) },
      }),
    ])
    for (const reply of refused) {
      expect(reply.status).toBe(401)
      expect(reply.text).toBe(refused[0]!.text)
      expect(reply.text).not.toContain(secret)
    }
    expect((await app.trigger('triage')).slots.length).toBe(before)
  })

  test('says that it is disabled to a caller who knows the secret', async () => {
    expect((await deliver('{}', { 'x-svc-signature': sign('{}') }, 'off')).status).toBe(409)
  })

  test('recognizes a repeated delivery', async () => {
    const headers = { 'x-svc-signature': sign('{}'), 'x-github-delivery': 'delivery-1' }
    const first = await deliver('{}', headers)
    const again = await Promise.all([deliver('{}', headers), deliver('{}', headers)])
    expect(again.map((reply) => reply.body.session_id)).toEqual([first.body.session_id, first.body.session_id])
  })

  test('answers a ping, accepts forms and text, and at most 1 MiB', async () => {
    expect(await deliver('{}', { 'x-svc-signature': sign('{}'), 'x-github-event': 'ping' })).toMatchObject({
      status: 200,
      body: { session_id: null, status: 'skipped' },
    })
    const form = `payload=${encodeURIComponent('{"title":"form"}')}`
    expect(
      (await deliver(form, { 'x-svc-signature': sign(form), 'content-type': 'application/x-www-form-urlencoded' }))
        .status,
    ).toBe(202)
    expect((await deliver('not json', { 'x-svc-signature': sign('not json') })).status).toBe(202)
    const large = 'x'.repeat(1024 * 1024 + 1)
    expect((await deliver(large, { 'x-svc-signature': sign(large) })).status).toBe(413)
  })

  test('starts a session for a delivery that was refused at the session limit, once it comes again', async () => {
    const headers = { 'x-svc-signature': sign('{}'), 'x-github-delivery': 'delivery-at-the-limit' }
    const { config } = app.deps
    const { sessionLimit } = config
    config.sessionLimit = 1
    const refused = await deliver('{}', headers)
    expect(refused).toMatchObject({ status: 429, body: { code: 'concurrent_session_limit' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await deliver('{}', headers)).status).toBe(429)
    config.sessionLimit = sessionLimit
    const [first, second] = await Promise.all([deliver('{}', headers), deliver('{}', headers)])
    const answers = [first, second].filter(({ status }) => status === 202).map(({ body }) => body.session_id)
    expect(new Set(answers).size).toBe(1)
    expect(await deliver('{}', headers)).toMatchObject({ status: 202, body: { session_id: answers[0] } })
  })

  test('limits deliveries per minute', async () => {
    const status = async () => (await deliver('{}', { 'x-svc-signature': sign('{}') })).status
    expect(await status()).toBe(202)
    await app.askedLately('triage', 'webhook', 29)
    expect([await status(), await status()]).toEqual([202, 429])
    await app.askedLately('triage', 'webhook', 0)
    expect(await status()).toBe(202)
  })

  test('reports a webhook without its secret as an error', async () => {
    const { body } = await app.request<{ errors: { path: string; message: string }[] }>('GET', app.of())
    expect(body.errors).toMatchObject([
      { path: 'triggers.unset', message: 'accepts no deliveries: the secret OTHER is not set' },
    ])
  })
})
