/** Starts that wait: for memory, for others, and what their owners see meanwhile. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Pressure } from '../sandboxes/pressure.ts'
import { until } from '../testing-until.ts'
import { makeSessionApp, type SessionApp } from './testing.ts'

const gigabyte = 1024 ** 3
const plenty: Pressure = { cpu: 0, memory: 0, io: 0, freeBytes: 8 * gigabyte, totalBytes: 16 * gigabyte }
let load = plenty
let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp({ deps: { pressure: () => load } })
}, 120_000)
afterAll(() => app.close())

interface Phase {
  name: string
  ms: number | null
  note: string | null
}
const phasesOf = async (sessionId: string) =>
  (await app.request<{ phases: Phase[] }>('GET', app.path(sessionId, 'timeline'))).body.phases

test('a session without memory to start waits with its place in line, and starts when there is memory', async () => {
  const first = await app.running()
  load = { ...plenty, freeBytes: gigabyte / 2 }
  const waiting = (await app.create({ initial_prompt: 'Begin.' })).body
  const phase = await until('its place to be shown', async () => (await phasesOf(waiting.session_id))[0] ?? null)
  expect(phase).toMatchObject({ name: 'queue', ms: null })
  expect(phase.note).toBe('Place 1 of 1 in line: the machine has 512 MiB of free memory and a start needs 1.2 GiB.')
  expect((await app.session(waiting.session_id)).status).toBe('provisioning')

  load = plenty
  await app.reaches(waiting.session_id, 'running')
  const [queued, ...rest] = await phasesOf(waiting.session_id)
  expect(queued).toMatchObject({ name: 'queue', note: null })
  expect(queued!.ms).toBeNumber()
  expect(rest.map(({ name }) => name)).toContain('branch')
  expect((await phasesOf(first.session_id)).map(({ name }) => name)).not.toContain('queue')
}, 120_000)

test('stops a session that waits in line', async () => {
  load = { ...plenty, freeBytes: 0 }
  const waiting = (await app.create()).body
  await until('its place to be shown', async () => (await phasesOf(waiting.session_id))[0] ?? null)
  expect((await app.request('POST', app.path(waiting.session_id, 'stop'))).status).toBe(200)
  await app.reaches(waiting.session_id, 'stopped')
  load = plenty
}, 120_000)

test('does not wait for the memory of this machine where sandboxes run on others', async () => {
  const elsewhere = await makeSessionApp({
    isElsewhere: true,
    deps: { pressure: () => ({ ...plenty, freeBytes: 0 }) },
  })
  await elsewhere.running()
  await elsewhere.running()
  await elsewhere.close()
}, 120_000)
