/** The variables of a trigger's prompt, and the metadata of each fire. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { until } from '../sessions/testing.ts'
import { fireDueTriggers } from './fire-due.ts'
import { fireOrphanedSlots } from './fire.ts'
import { hookTrigger, makeTriggerApp, startOfTests, type TriggerApp } from './testing.ts'

setDefaultTimeout(120_000)
let app: TriggerApp
const secret = 'whsec-0123456789abcdef'
const signal = new AbortController().signal

const hook = (slug: string, prompt: string) => hookTrigger(slug).replace('See {{ payload.title }}', prompt)
const cron = (slug: string, when: string, prompt: string) =>
  `[[triggers]]\nslug = "${slug}"\ntype = "cron"\n${when}\ntimezone = "Europe/Berlin"\nprompt = "${prompt}"\n`
const facts = '{{ cron.name }} {{ cron.expression }} {{ cron.timezone }} {{ cron.due_at }} {{ cron.fired_at }}'

beforeAll(async () => {
  app = await makeTriggerApp()
  await app.request('POST', `/v1/projects/${app.project.project_id}/secrets`, {
    body: { name: 'HOOK_SECRET', value: secret },
  })
  await app.manifest(
    cron('nightly', 'cron = "0 3 * * *"', facts) +
      cron('once', 'run_at = 2026-03-02T04:00:00\nagent = "default"', facts) +
      hook('triage', '{{ body.issue.title }} {{ body.issue.labels.1 }} {{ body.gone }} {{ body }}'),
  )
})
afterAll(() => app.close())

const promptOf = async (sessionId: string) =>
  until('its sandbox is there', async () => {
    const live = await app.session(sessionId)
    return app.driver.seen(live.sandbox?.sandbox_id ?? '')?.spec.env.SVC_INITIAL_PROMPT ?? null
  })

const deliver = (body: string) =>
  app.request<{ session_id: string | null; status: string }>('POST', app.of('triage', 'webhook'), {
    token: null,
    body,
    headers: { 'x-svc-signature': createHmac('sha256', secret).update(body).digest('hex') },
  })

test('a schedule fills its prompt with the slot, the expression and the timezone', async () => {
  app.clock.now = Date.parse('2026-03-02T03:00:02Z')
  await fireDueTriggers(app.deps, signal)
  const fired = async (slug: string) => (await app.trigger(slug)).slots.map((slot) => slot.session_id!)
  const [nightly, ...others] = await fired('nightly')
  expect(others).toEqual([])
  expect(await promptOf(nightly!)).toBe(
    'nightly 0 3 * * * Europe/Berlin 2026-03-02T02:00:00.000Z 2026-03-02T03:00:02.000Z',
  )
  const [once] = await fired('once')
  // The default agent by its alias.
  expect((await app.session(once!)).agent_name).toBe((await app.session(nightly!)).agent_name)
  expect(await promptOf(once!)).toBe(
    'once 2026-03-02T04:00:00.000 Europe/Berlin 2026-03-02T03:00:00.000Z 2026-03-02T03:00:02.000Z',
  )
})

test('a schedule fired by hand has the current time as its slot', async () => {
  app.clock.now = startOfTests
  const { body } = await app.request<{ session_id: string }>('POST', app.of('nightly', 'fire'))
  const now = new Date(startOfTests).toISOString()
  expect(await promptOf(body.session_id)).toBe(`nightly 0 3 * * * Europe/Berlin ${now} ${now}`)
})

test('a webhook fills its prompt with parts of the body, and expands nothing that the sender wrote', async () => {
  const sent = { issue: { title: '{{ body.issue.labels.0 }}" {{ cron.name }}', labels: ['bug', 'p1'] } }
  const { body } = await deliver(JSON.stringify(sent))
  expect(body.status).toBe('fired')
  expect(await promptOf(body.session_id!)).toStartWith(
    `${JSON.stringify(sent.issue.title)} "p1" null ${JSON.stringify(sent)}\n\n(The quoted values`,
  )
})

test('a body that is not JSON is one text without parts', async () => {
  const { body } = await deliver('title=x&{{ slug }}')
  expect(await promptOf(body.session_id!)).toStartWith('null null null "title=x&{{ slug }}"\n\n(')
})

test('a body that is nested too deeply still starts the session', async () => {
  const { status, body } = await deliver(`{"issue":{"title":"x"},"deep":${'['.repeat(400_000)}${']'.repeat(400_000)}}`)
  expect([status, body.status]).toEqual([202, 'fired'])
  expect(await promptOf(body.session_id!)).toStartWith('"x" null null null (left out: nested too deeply)\n\n(')
})

test('a delivery that must wait is reported as queued and fires later', async () => {
  const { disk, db } = app.deps
  const before = disk.minFreeBytes
  disk.minFreeBytes = Number.MAX_SAFE_INTEGER
  disk.freeBytes = 0
  try {
    const { status, body } = await deliver('{}')
    expect([status, body]).toEqual([202, { session_id: null, status: 'queued' }])
  } finally {
    disk.minFreeBytes = before
    disk.freeBytes = Number.MAX_SAFE_INTEGER
  }
  const [queued] = (await app.trigger('triage')).slots
  expect(queued).toMatchObject({ status: 'claimed', session_id: null })
  await db
    .updateTable('trigger_slots')
    .set({ claimed_at: new Date(Date.now() - 60_000) })
    .where('slot_id', '=', queued!.slot_id)
    .execute()
  await fireOrphanedSlots(app.deps, signal)
  expect((await app.trigger('triage')).slots[0]).toMatchObject({ slot_id: queued!.slot_id, status: 'fired' })
})
