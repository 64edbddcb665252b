/** A server with a copy that does not answer for a moment delays the start of a session; it does not fail it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract'
import { makeSessionApp, type SessionApp } from '../testing.ts'

let app: SessionApp
/** How many starts find that the server with the copy does not answer. */
let refusals = 0
let asked = 0

beforeAll(async () => {
  app = await makeSessionApp()
  const { replicas } = app.deps
  const missing = replicas.missing.bind(replicas)
  replicas.missing = async (...args) => {
    asked++
    if (refusals-- > 0) throw new ServiceError('unavailable', 'The server with the copy does not answer.')
    return missing(...args)
  }
}, 120_000)
afterAll(() => app.close())

async function restartWith(refused: number): Promise<string> {
  const session = await app.running()
  await app.request('POST', app.path(session.session_id, 'stop'))
  await app.reaches(session.session_id, 'stopped')
  refusals = refused
  asked = 0
  expect((await app.request('POST', app.path(session.session_id, 'restart'))).status).toBe(202)
  return session.session_id
}

test('a session starts again when the copy of its project could not be written for a moment', async () => {
  const sessionId = await restartWith(1)
  expect((await app.reaches(sessionId, 'running')).error).toBeNull()
  expect(asked).toBe(2)
})

test('a session fails with the reason when the copy cannot be written several times', async () => {
  const sessionId = await restartWith(Number.MAX_SAFE_INTEGER)
  expect((await app.reaches(sessionId, 'failed')).error).toBe('The server with the copy does not answer.')
  expect(asked).toBe(12)
  refusals = 0
  expect((await app.request('POST', app.path(sessionId, 'restart'))).status).toBe(202)
  await app.reaches(sessionId, 'running')
})
