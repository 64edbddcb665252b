/** A server that is stopped for minutes, or whose machine sleeps, while a sandbox starts. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeSessionApp, type SessionApp, until } from '../testing.ts'

let app: SessionApp
let aheadMs = 0
beforeAll(async () => {
  app = await makeSessionApp({ bootMs: 3_600_000, deps: { now: () => new Date(Date.now() + aheadMs) } })
}, 120_000)
afterAll(() => app.close())

test('a pause during the boot of a sandbox is none of its time', async () => {
  let asked = 0
  app.driver.options.around = (path, answer) => {
    if (path === '/svc/health') asked++
    return answer()
  }
  const asks = (more: number) => {
    const before = asked
    return until('its daemon is asked', () => asked > before + more)
  }
  const { session_id: sessionId } = (await app.create()).body
  await asks(3)
  aheadMs = 3_600_000
  await asks(3)
  expect(await app.session(sessionId)).toMatchObject({ status: 'provisioning', error: null })
  app.driver.options.bootMs = 0
  await app.reaches(sessionId, 'running')
}, 120_000)
