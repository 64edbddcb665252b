import { afterAll, beforeAll, expect, test } from 'bun:test'
import { fireDueTriggers } from './fire-due.ts'
import { cronTrigger, makeTriggerApp, type TriggerApp } from './testing.ts'

let app: TriggerApp
beforeAll(async () => {
  app = await makeTriggerApp({ configure: { model: null } })
}, 120_000)
afterAll(() => app.close())

test('a slot on a server without a model fails with that reason, also when fired by hand', async () => {
  await app.manifest(cronTrigger('nightly', '0 3 * * *'))
  app.clock.now = Date.parse('2026-03-02T02:59:59Z')
  await fireDueTriggers(app.deps, new AbortController().signal)
  app.clock.now = Date.parse('2026-03-02T03:00:02Z')
  await fireDueTriggers(app.deps, new AbortController().signal)
  const reason = 'no_model: No model is configured on this server, so no agent can work.'
  expect((await app.trigger('nightly')).slots).toMatchObject([{ status: 'skipped', reason, session_id: null }])
  const fired = await app.request<{ code: string; hint: string }>('POST', app.of('nightly', 'fire'), { body: {} })
  expect([fired.status, fired.body.code]).toEqual([409, 'no_model'])
  expect(fired.body.hint).toContain('/settings/model')
  expect(fired.body.hint).toEndWith(
    "without one, choose the demo model, which is a script: svc sessions new --model svc-scripted-demo --prompt 'Show me'",
  )
})

test('a trigger with an unknown model fails with the available models', async () => {
  app.deps.config.model = { url: 'http://127.0.0.1:9/v1', key: null, name: 'big' }
  await app.manifest(cronTrigger('picky', '0 4 * * *', 'model = "huge"'))
  const fired = await app.request<{ code: string; models: string[] }>('POST', app.of('picky', 'fire'), { body: {} })
  expect([fired.status, fired.body.code, fired.body.models]).toEqual([400, 'model_not_found', ['big']])
})
