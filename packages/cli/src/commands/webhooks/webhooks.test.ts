import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { ids, startService, svc, token } from '../../testing.ts'
import { aDelivery, aWebhook } from '../../testing/webhook.ts'

const paused = aWebhook({
  ...{ webhook_id: 'aabbccdd-aaaa-4aaa-8aaa-aaaaaaaaaaaa', url: 'https://old.example.com/hook', state: 'paused' },
  ...{ reason: 'For a day no delivery was taken.', events: ['session.*', 'deploy.live'] },
})
let webhooks = [aWebhook(), paused]
let pinged = aDelivery()
let secret: string | null = null
const service = startService({
  listWebhooks: () => ({ webhooks }),
  updateWebhook: () => ({ ...paused, state: 'active', reason: null, secret }),
  listDeliveries: () => ({
    deliveries: [pinged, aDelivery({ delivery_id: ids.cr, http_status: 500, error: 'HTTP 500' })],
  }),
  getHostWebhook: () => ({ url: 'http://127.0.0.1/hook', secret: null, last_call_at: null, last_sender: null }),
})
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(() => {
  webhooks = [aWebhook(), paused]
  pinged = aDelivery()
  secret = null
})
const env = { SVC_API_URL: service.url, SVC_CLI_TOKEN: token, SVC_PROJECT_ID: ids.project }

describe('svc webhooks', () => {
  test('webhooks ls shows state, URL, events, and why a webhook is paused', async () => {
    const { stdout } = await svc(['webhooks', 'ls'], { env })
    expect(stdout).toMatch(/active\thttps:\/\/ci\.example\.com\/svc\t\*\t$/m)
    expect(stdout).toContain(
      'paused\thttps://old.example.com/hook\tsession.*,deploy.live\tFor a day no delivery was taken.',
    )
  })

  test('webhooks add prints only the secret to stdout, once', async () => {
    const { code, stdout, stderr } = await svc(['webhooks', 'add', 'https://ci.example.com/svc'], { env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'svc_whs_shown_once\n' })
    expect(stderr).toContain('shown only once')
    expect(stderr).toContain('svc webhooks ping aaaaaaaa --wait')
    expect(service.of('createWebhook').at(-1)?.body).toEqual({ url: 'https://ci.example.com/svc', events: ['*'] })
  })

  test('webhooks add reads a secret only from stdin and does not print it', async () => {
    const call = ['webhooks', 'add', 'https://ci.example.com/svc', '--events', 'session.*, deploy.live', '--secret']
    const { stdout, stderr } = await svc([...call, '-'], { env, stdin: 'a-secret-of-my-own\n' })
    expect(stdout + stderr).not.toContain('a-secret-of-my-own')
    expect(service.of('createWebhook').at(-1)?.body).toEqual({
      ...{ url: 'https://ci.example.com/svc', events: ['session.*', 'deploy.live'], secret: 'a-secret-of-my-own' },
    })
    const before = service.received.length
    const refused = await svc([...call, 'a-secret-of-my-own'], { env })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('--secret accepts only -, which reads stdin')
    expect(refused.stderr).not.toContain('a-secret-of-my-own')
    expect(service.received).toHaveLength(before)
  })

  test('webhooks show says why a webhook is paused and how to resume it', async () => {
    const { stdout, stderr } = await svc(['webhooks', 'show', 'https://old.example.com/hook'], { env })
    expect(stdout).toMatch(/why:\s+For a day no delivery was taken\./)
    expect(stdout).toMatch(/session\.failed 41\tdelivered\t1\t204\t12 ms/)
    expect(stderr).toContain('svc webhooks edit aabbccdd --resume')
  })

  test('webhooks edit sends only the given fields', async () => {
    const { code, stdout } = await svc(['webhooks', 'edit', 'aabb', '--resume', '--from-now'], { env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(service.of('updateWebhook').at(-1)).toMatchObject({
      ...{ params: { webhookId: paused.webhook_id }, body: { paused: false, from_now: true } },
    })
    secret = 'svc_whs_another'
    const rotated = await svc(['webhooks', 'edit', 'aabb', '--rotate-secret'], { env })
    expect(rotated.stdout).toBe('svc_whs_another\n')
    expect(service.of('updateWebhook').at(-1)?.body).toEqual({ rotate_secret: true })
    for (const wrong of [[], ['--pause', '--resume'], ['--rotate-secret', '--secret', '-']])
      expect((await svc(['webhooks', 'edit', 'aabb', ...wrong], { env })).code).toBe(2)
  })

  test('webhooks uses the only webhook by default and requires a name when there are several', async () => {
    const several = await svc(['webhooks', 'rm', '--yes'], { env })
    expect(several).toMatchObject({ code: 2, stderr: expect.stringContaining('svc webhooks rm aaaaaaaa') })
    expect((await svc(['webhooks', 'rm', 'ffff', '--yes'], { env })).code).toBe(1)
    webhooks = [paused]
    expect((await svc(['webhooks', 'rm'], { env })).stderr).toContain('confirm with --yes')
    expect((await svc(['webhooks', 'rm', '--yes'], { env })).code).toBe(0)
    expect(service.of('deleteWebhook').map(({ params }) => params.webhookId)).toEqual([paused.webhook_id])
    webhooks = []
    const none = await svc(['webhooks', 'ping'], { env })
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('svc webhooks add') })
  })

  test('webhooks ping --wait ends when the receiver accepts, and exits with 1 and its reply otherwise', async () => {
    const ping = ['webhooks', 'ping', 'aaaa', '--wait']
    pinged = aDelivery({ event_id: null, event_type: 'ping' })
    expect((await svc(ping, { env })).stdout).toContain('accepted ping: 204, 12 ms')
    pinged = aDelivery({
      status: 'waiting',
      http_status: 500,
      error: 'The receiver answered 500.',
      answer: 'boom \u001b[31m',
    })
    const refused = await svc(ping, { env })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('did not accept it: The receiver answered 500.')
    expect(refused.stderr).toContain('boom')
    expect(refused.stderr).not.toContain('\u001b')
  })

  test('webhooks redeliver finds a delivery by its first characters', async () => {
    const { stdout } = await svc(['webhooks', 'redeliver', '5555', 'aaaa'], { env })
    expect(stdout).toContain('Sending to https://ci.example.com/svc')
    expect(service.of('redeliver').at(-1)?.params).toMatchObject({ deliveryId: ids.cr })
  })

  test('completion offers webhooks and event types', async () => {
    const webhook = await svc(['__complete', '--', 'webhooks', 'show', ''], { env })
    expect(webhook.stdout).toContain('aabbccdd\thttps://old.example.com/hook')
    const types = await svc(['__complete', '--', 'webhooks', 'add', 'https://x.example', '--events', 'dep'], { env })
    expect(types.stdout.split('\n').slice(0, 3)).toEqual(['deploy.*', 'deploy.started', 'deploy.live'])
  })
})

test('svc projects webhook shows what to enter on the git host and creates the secret', async () => {
  const none = await svc(['projects', 'webhook'], { env })
  expect(none.stdout).toMatch(/secret:\s+none/)
  expect(none.stderr).toContain('svc projects webhook --rotate')
  const made = await svc(['projects', 'webhook', '--rotate'], { env })
  expect(made.stdout).toMatch(/secret:\s+svc_hook_secret/)
  expect(service.of('rotateHostWebhook')).toHaveLength(1)
})
