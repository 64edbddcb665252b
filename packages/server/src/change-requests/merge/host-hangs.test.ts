import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import type { ChangeRequest, Project } from '@svc/contract'
import { commit, type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import pino from 'pino'
import { parseConfig } from '../../config.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { testProject, type TestProject } from '../testing.ts'

/** F14: a git host that accepts every request and answers none. */

let app: TestApp
let repo: TestRepository
let host: HttpBackend
let hung: TestProject
let other: TestProject
let cr: ChangeRequest
let otherCr: ChangeRequest

/** Unset: the host answers. */
let gate: Promise<void> | null = null
let inFlight = 0
let inFlightMax = 0
const looks: Promise<void>[] = []
let asked = 0
/** The log lines of the server. */
let logged = ''
const { hostPatience } = parseConfig({})

beforeAll(async () => {
  const log = pino({ level: 'debug' }, { write: (line) => void (logged += line) })
  app = await makeTestApp({ log, configure: { hostPatience } })
  repo = await makeRepo({ main: { a: '1\n' } })
  host = await serveHttpBackend(repo.dir, {
    before: async (request) => {
      asked++
      inFlight++
      looks.push(lookAtFlights())
      const answered = new AbortController()
      const gone = once(request.socket, 'close', { signal: answered.signal }).catch(() => {})
      await Promise.race([gate ?? Promise.resolve(), gone])
      answered.abort()
      inFlight--
    },
  })
  const made = await app.request<Project>('POST', '/v1/projects', { body: { repo_url: host.url } })
  hung = testProject(app, { project: made.body, repo })
  cr = await hung.open('work', { b: '2\n' })
  const managed = await app.managedProject()
  other = testProject(app, managed)
  otherCr = await other.open('work', { b: '2\n' })
}, 120_000)
afterAll(async () => {
  await host.close()
  await app.close()
  await repo.remove()
})

/** The host may receive the next request before it learns that the last caller is gone: two lasting ones count as two. */
async function lookAtFlights(): Promise<void> {
  for (const deadline = Date.now() + 4_000; inFlight > 1 && Date.now() < deadline;) await Bun.sleep(5)
  inFlightMax = Math.max(inFlightMax, inFlight)
}

function fiftyReads() {
  const one = () => app.request('GET', hung.path(cr.cr_id))
  const list = () => app.request('GET', hung.path())
  return Promise.all([...Array.from({ length: 40 }, one), ...Array.from({ length: 10 }, list)])
}
/** How long each recent read waited for the host before it gave up, without the machine's own delays. */
const waited = () => [...logged.matchAll(/no answer within (\d+) ms/g)].map(([, ms]) => Number(ms))

describe('while the host of one project hangs', () => {
  let open: () => void = () => {}
  beforeAll(async () => {
    await commit(repo, 'work', { b: '3\n' })
    ;({ promise: gate, resolve: open } = Promise.withResolvers<void>())
    await Promise.all(looks)
    inFlightMax = 0
    asked = 0
  })

  test('a reader gets the stored state within two seconds', async () => {
    logged = ''
    const { status, body } = await app.request<{ change_request: ChangeRequest }>('GET', hung.path(cr.cr_id))
    expect([status, body.change_request.head_commit_sha]).toEqual([200, cr.head_commit_sha])
    expect(waited()).toHaveLength(1)
    expect(Math.max(...waited())).toBeLessThan(2_000)
  })

  test('fifty concurrent readers get the stored state, and none waits longer', async () => {
    logged = ''
    const answers = await fiftyReads()
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(waited()).toHaveLength(50)
    expect(Math.max(...waited())).toBeLessThan(2_000)
  })

  test('at most one request to the host is running', async () => {
    for (let round = 0; round < 3; round++)
      await Promise.all(Array.from({ length: 20 }, () => app.request('GET', hung.path(cr.cr_id))))
    await Promise.all(looks)
    expect(asked).toBeGreaterThan(0)
    expect(inFlightMax).toBe(1)
  })

  test('readers of another project do not wait', async () => {
    app.deps.config.hostPatience = { ms: 90_000, msMin: 90_000, aheadMs: 90_000 }
    let done = 0
    const waiting = Array.from({ length: 50 }, () => app.request('GET', hung.path(cr.cr_id)).finally(() => done++))
    for (let n = 0; n < 60; n++) await app.request('GET', other.path(otherCr.cr_id))
    expect(done).toBe(0)
    gate = null
    open()
    await Promise.all(waiting)
    app.deps.config.hostPatience = hostPatience
  })

  test('the next read is live after the host responds again', async () => {
    expect((await hung.get(cr.cr_id)).head_commit_sha).toBe(await hung.tip('work'))
  })
})
