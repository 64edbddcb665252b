/** A sender may die at any step: pending deliveries are sent again under the same id, and none is skipped. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { Project } from '@svc/contract'
import { sql } from 'kysely'
import { recordEvent } from '../events/record.ts'
import { armFailpoints } from '../failpoint.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { WebhookSender } from './sender.ts'
import { type Receiver, startReceiver } from './testing.ts'

let app: TestApp
let receiver: Receiver
beforeAll(async () => {
  app = await makeTestApp()
  receiver = await startReceiver()
}, 120_000)
afterEach(() => armFailpoints([]))
afterAll(async () => {
  await receiver.close()
  await app.close()
})

const signal = new AbortController().signal

async function happenThrice({ project_id }: Project): Promise<void> {
  for (const branch of ['b1', 'b2', 'b3'])
    await recordEvent(app.deps.db, {
      project_id,
      type: 'default_branch.moved',
      data: { branch, before: null, sha: null },
    })
}

const points = ['webhook.after_lease', 'webhook.before_send', 'webhook.after_send', 'webhook.after_row']

test.each(points)('delivers after a sender died at %s', async (name) => {
  const { project } = await app.managedProject()
  await app.request('POST', `/v1/projects/${project.project_id}/webhooks`, { body: { url: receiver.url } })
  await happenThrice(project)
  receiver.letters.length = 0
  armFailpoints([{ name, action: { kind: 'throw' }, at: 1 }])
  const first = new WebhookSender(app.deps)
  await first.tend(signal).catch((error: Error) => expect(error.message).toContain(name))
  await first.ended()
  // Its lease expires when no server is left to end it.
  await sql`update webhooks set lease_until = now()`.execute(app.deps.db)
  const other = await app.anotherServer()
  const second = new WebhookSender(other.deps)
  await second.tend(signal)
  await second.ended()
  const told = receiver.letters.map(({ body }) => (body.data as { branch: string }).branch)
  expect(told).toEqual(name === 'webhook.after_send' ? ['b1', 'b1', 'b2', 'b3'] : ['b1', 'b2', 'b3'])
  const ids = new Set(receiver.letters.map(({ headers }) => headers['x-svc-delivery']))
  expect(ids.size).toBe(3)
})

test('a dead server has no lease, and another one sends at once', async () => {
  const { project } = await app.managedProject()
  await app.request('POST', `/v1/projects/${project.project_id}/webhooks`, { body: { url: receiver.url } })
  await happenThrice(project)
  receiver.letters.length = 0
  const dying = await app.anotherServer()
  armFailpoints([{ name: 'webhook.after_lease', action: { kind: 'throw' }, at: 1 }])
  await new WebhookSender(dying.deps).tend(signal).catch(() => {})
  const living = new WebhookSender(app.deps)
  await living.tend(signal)
  await living.ended()
  expect(receiver.letters).toEqual([])
  await sql`update server_instances set heartbeat_at = now() - interval '1 minute'
    where instance_id = ${dying.deps.instanceId}`.execute(app.deps.db)
  await living.tend(signal)
  await living.ended()
  expect(receiver.letters.map(({ body }) => (body.data as { branch: string }).branch)).toEqual(['b1', 'b2', 'b3'])
})
