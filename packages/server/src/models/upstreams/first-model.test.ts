import { afterAll, beforeAll, expect, test } from 'bun:test'
import { access, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { askFirstModel, type GivenModel } from './first-model.ts'

const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) =>
    request.headers.get('authorization') === 'Bearer right-key-of-the-operator'
      ? Response.json({ choices: [] })
      : Response.json({ error: { message: 'Wrong key' } }, { status: 401 }),
})
const never = new AbortController().signal
let app: TestApp
beforeAll(async () => {
  app = await makeTestApp({ configure: { model: null } })
}, 120_000)
afterAll(async () => {
  await app.close()
  await upstream.stop(true)
})

/** A user with these answers in this order. */
function person(...answers: (GivenModel | null | 'interrupted')[]) {
  const heard: (string | null)[] = []
  const ask = async (problem: string | null) => {
    heard.push(problem)
    return answers[heard.length - 1]!
  }
  return { heard, ask }
}
const marker = () => join(app.deps.config.dataDir, 'model-question')
const isMarked = () =>
  access(marker()).then(
    () => true,
    () => false,
  )
const given = (key: string): GivenModel => ({ url: `http://127.0.0.1:${upstream.port}/v1`, models: ['big'], key })

test('asks again after an interrupted start, and never after a skipped question', async () => {
  const interrupted = person('interrupted')
  expect(await askFirstModel(app.deps, interrupted.ask, never)).toBeNull()
  expect([interrupted.heard, await isMarked()]).toEqual([[null], false])
  const skips = person(null)
  expect(await askFirstModel(app.deps, skips.ask, never)).toBeNull()
  expect([skips.heard, await isMarked()]).toEqual([[null], true])
  const later = person(null)
  await askFirstModel(app.deps, later.ask, never)
  expect(later.heard).toEqual([])
})

test('asks again with the reason when the upstream refuses, and saves a model that works', async () => {
  await rm(marker())
  const { heard, ask } = person(given('wrong-key'), given('right-key-of-the-operator'))
  expect(await askFirstModel(app.deps, ask, never)).toContain('Agents use big.')
  expect(heard).toEqual([null, expect.stringContaining('Wrong key')])
  expect((await app.request('GET', '/v1/models')).body).toEqual({ models: [{ id: 'big', name: 'big', default: true }] })
  await rm(marker())
  const configured = person()
  expect(await askFirstModel(app.deps, configured.ask, never)).toBeNull()
  expect(configured.heard).toEqual([])
})
