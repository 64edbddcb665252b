/** Sandboxes whose cluster does not answer for a while, with the fake driver. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ErrorBody, Session } from '@svc/contract'
import { type SandboxDriver, SandboxError } from '@svc/sandbox'
import { makeSessionApp, type SessionApp } from '../testing.ts'

let app: SessionApp
let isReached = true
beforeAll(async () => {
  app = await makeSessionApp()
  const driver = app.deps.sandboxes as SandboxDriver
  const { stop } = driver
  driver.stop = async (sandboxId) => {
    if (!isReached) throw new SandboxError('unreached', 'The cluster does not answer.')
    await stop(sandboxId)
  }
}, 120_000)
afterAll(() => app.close())

test('a stop that does not reach the cluster answers 503 with the reason, and the next one stops', async () => {
  const { session_id } = await app.running()
  const stop = () => app.request<Session & ErrorBody>('POST', app.path(session_id, 'stop'))
  isReached = false
  const { status, body } = await stop()
  expect([status, body.code, body.error]).toEqual([503, 'unavailable', 'The cluster does not answer.'])
  isReached = true
  expect((await stop()).status).toBe(200)
  expect((await app.session(session_id)).status).toBe('stopped')
})
