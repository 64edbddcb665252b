import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChannelApp, makeChannelApp } from './testing.ts'

let app: ChannelApp
beforeAll(async () => {
  app = await makeChannelApp({ configure: { model: null } })
  await app.connect()
}, 120_000)
afterAll(() => app.close())

test('a mention on a server without a model gets a reply about it and starts no session', async () => {
  await app.link()
  const before = (await app.request<unknown[]>('GET', app.path())).body.length
  await app.event({ text: `<@${app.slack.bot.id}> fix the parser`, ts: '1700000200.000100' })
  const reply = await app.sees('the refusal', () => app.slack.thread('1700000200.000100')[0])
  expect(app.slack.textOf(reply)).toContain('No session was started: No model is configured on this server')
  expect(app.slack.textOf(reply)).toContain('/settings/model')
  expect((await app.request<unknown[]>('GET', app.path())).body).toHaveLength(before)
})
