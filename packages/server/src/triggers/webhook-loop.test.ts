/** An agent that holds the signing secret of a webhook and calls it: from inside its sandbox, and from outside, where nothing tells who calls. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createHmac, randomUUID } from 'node:crypto'
import { type ErrorBody, relayPort as relayPortOfSandboxes } from '@svc/contract'
import { buildApp } from '../app.ts'
import { Listener } from '../listen.ts'
import { hookTrigger, makeTriggerApp, type TriggerApp } from './testing.ts'

setDefaultTimeout(120_000)
const secret = 'whsec-0123456789abcdef'
const body = '{"title":"again"}'
const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

let app: TriggerApp
let relay: Listener
let relayPort: number
beforeAll(async () => {
  app = await makeTriggerApp()
  await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, {
    body: { name: 'HOOK_SECRET', value: secret },
  })
  await app.manifest(hookTrigger('loop') + hookTrigger('busy') + hookTrigger('hourly'))
  relay = new Listener({ fromSandbox: true })
  relayPort = await relay.onPort('127.0.0.1', 0)
  const served = buildApp(app.deps)
  relay.answerWith((request, env) => served.fetch(request, env as never))
}, 120_000)
afterAll(async () => {
  await relay.close()
  await app.close()
})

type Answer = ErrorBody & { session_id: string }

/** As a program in a sandbox sends it: to its relay. */
async function fromInside(token: string | null): Promise<{ status: number; body: Answer }> {
  const response = await fetch(`http://127.0.0.1:${relayPort}${app.of('loop', 'webhook')}`, {
    method: 'POST',
    headers: {
      ...{ host: `127.0.0.1:${relayPortOfSandboxes}`, 'x-svc-signature': signature },
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    body,
  })
  return { status: response.status, body: (await response.json()) as Answer }
}

const fromOutside = (slug: string, headers: Record<string, string> = {}) =>
  app.request<Answer>('POST', app.of(slug, 'webhook'), {
    token: null,
    body,
    headers: { 'x-svc-signature': signature, ...headers },
  })
const tokenFor = (sessionId: string) => app.makeToken({ project_id: app.project.project_id, session_id: sessionId })
const settings = (set: object) =>
  app.request('PATCH', `/v1/projects/${app.project.project_id}`, { body: { settings: set } })

describe('a webhook called from inside a sandbox', () => {
  test('refuses a call without the token of its session', async () => {
    const { status, body: answer } = await fromInside(null)
    expect([status, answer.code]).toEqual([403, 'forbidden'])
    expect(answer.hint).toContain('svc triggers fire')
    expect((await fromInside('svc_pat_unknown')).status).toBe(401)
  })

  test('starts a descendant of that session, and a chain of them ends', async () => {
    let session = (await app.create()).body.session_id
    const statuses: number[] = []
    for (let depth = 1; depth <= 4; depth++) {
      const { status, body: answer } = await fromInside(await tokenFor(session))
      statuses.push(status)
      if (status !== 202) {
        expect(answer).toMatchObject({ code: 'limit_reached', setting: 'session_depth_max', limit: 3 })
        break
      }
      expect((await app.session(answer.session_id)).parent_session_id).toBe(session)
      session = answer.session_id
    }
    expect(statuses).toEqual([202, 202, 202, 429])
  })
})

describe('a webhook called from outside', () => {
  test('limits live sessions exactly, and accepts the same delivery when there is room', async () => {
    await settings({ webhook_sessions_max: 2 })
    const replies = await Promise.all(Array.from({ length: 6 }, () => fromOutside('busy')))
    const started = replies.filter(({ status }) => status === 202).map((reply) => reply.body.session_id)
    expect([started.length, replies.filter(({ status }) => status === 429).length]).toEqual([2, 4])
    const delivery = { 'x-svc-delivery': randomUUID() }
    const refused = await fromOutside('busy', delivery)
    expect(refused.body).toMatchObject({ code: 'limit_reached', setting: 'webhook_sessions_max', active_sessions: 2 })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    // Another trigger has its own count.
    expect((await fromOutside('hourly')).status).toBe(202)
    await app.request('POST', app.path(started[0]!, 'stop'))
    expect((await fromOutside('busy', delivery)).status).toBe(202)
    expect((await fromOutside('busy')).status).toBe(429)
    await settings({ webhook_sessions_max: 10 })
  })

  test('limits firings within an hour, however quickly its sessions end', async () => {
    await settings({ webhook_fires_per_hour_max: 3 })
    const again = async () => {
      const { status, body: answer, headers } = await fromOutside('hourly')
      if (status === 202) await app.request('DELETE', app.path(answer.session_id))
      return { status, setting: answer.setting, retryAfter: Number(headers.get('retry-after')) }
    }
    expect([(await again()).status, (await again()).status]).toEqual([202, 202])
    const refused = await again()
    expect(refused).toMatchObject({ status: 429, setting: 'webhook_fires_per_hour_max' })
    expect(refused.retryAfter).toBeGreaterThan(0)
    expect(refused.retryAfter).toBeLessThanOrEqual(3600)
    await settings({ webhook_fires_per_hour_max: 120 })
    expect((await again()).status).toBe(202)
  })
})
