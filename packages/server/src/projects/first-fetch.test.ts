/** A repository whose first fetch outlasts a request: every answer reports it, with its progress. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request as httpRequest, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getPriority } from 'node:os'
import type { ChangeRequest, Project } from '@svc/contract'
import { commit, type Files, type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import { testProject, type TestProject } from '../change-requests/testing.ts'
import { until } from '../sessions/testing.ts'
import { makeTestApp, type TestApp } from '../testing.ts'

setDefaultTimeout(120_000)

let app: TestApp
let origin: TestRepository
let backend: HttpBackend
let slow: Server
let url: string
/** Bytes of a pack that pass before the rest waits for the gate; null: all of it. */
let passes: number | null = null
let gate = Promise.withResolvers<'open' | 'broken'>()
let fetches = 0

beforeAll(async () => {
  app = await makeTestApp()
  const files: Files = Object.fromEntries(
    Array.from({ length: 200 }, (_, n) => [`${n}.txt`, randomBytes(4096).toString('base64')]),
  )
  origin = await makeRepo({ main: files })
  await commit(origin, 'work', { work: '1\n' })
  backend = await serveHttpBackend(origin.dir)
  slow = createServer((request, response) => void relay(request, response))
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}${new URL(backend.url).pathname}`
}, 120_000)
afterAll(async () => {
  gate.resolve('broken')
  await app.close()
  slow.closeAllConnections()
  slow.close()
  await backend.close()
  await origin.remove()
})

async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const isFetch = body.includes('command=fetch')
  if (isFetch) fetches++
  const { port } = new URL(backend.url)
  const onward = httpRequest(
    { port, path: request.url, method: request.method, headers: request.headers },
    (answer) =>
      void (async () => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        let passed = 0
        for await (const chunk of answer as AsyncIterable<Buffer>) {
          const room = isFetch && passes !== null ? passes - passed : Infinity
          response.write(chunk.subarray(0, Math.max(0, room)))
          passed += chunk.length
          if (room < chunk.length && (await gate.promise) === 'broken') return void response.destroy()
          response.write(chunk.subarray(Math.max(0, Math.min(room, chunk.length))))
        }
        response.end()
      })().catch(() => response.destroy()),
  )
  onward.on('error', () => response.destroy())
  onward.end(body)
}

async function makeProject(): Promise<{ at: TestProject; cr: ChangeRequest }> {
  const { body } = await app.request<Project>('POST', '/v1/projects', { body: { repo_url: url } })
  const at = testProject(app, { project: body, repo: origin })
  const made = await app.request<ChangeRequest>('POST', at.path(), { body: { title: 'Work', head_ref: 'work' } })
  expect(made.status).toBe(201)
  return { at, cr: made.body }
}

/** The niceness of git's processes that fetch from this host. */
function fetchersNiceness(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        return /\0fetch\0/.test(line) && line.includes(url) ? [getPriority(Number(pid))] : []
      } catch {
        return []
      }
    })
}

interface Fetching {
  code: string
  error: string
  progress: { phase: string; objects: number; objects_total: number; bytes: number }
}

test('answers with the progress of the first fetch, and merges after it', async () => {
  ;[passes, fetches, gate] = [400_000, 0, Promise.withResolvers()]
  const { at, cr } = await makeProject()
  const asked = [
    app.request<Fetching>('GET', at.path(cr.cr_id, 'merge-preview')),
    app.request<Fetching>('GET', at.path(cr.cr_id, 'diff')),
    app.request<Fetching>('POST', at.path(cr.cr_id, 'merge')),
    app.request<Fetching>('GET', `/v1/projects/${at.project.project_id}/commits`),
  ]
  const own = getPriority()
  const nice = await until('the fetch runs', async () => (fetchersNiceness().length > 0 ? fetchersNiceness() : null))
  expect(nice).toEqual(nice.map(() => own))
  for (const { status, headers, body } of await Promise.all(asked)) {
    expect([status, headers.get('retry-after'), body.code]).toEqual([503, '2', 'repository_fetching'])
    expect(body.error).toBe('The repository is being fetched for the first time.')
    expect(body.progress).toMatchObject({ phase: 'receiving', objects_total: 205 })
    expect(body.progress.objects).toBeWithin(1, 205)
  }
  expect((await at.get(cr.cr_id)).status).toBe('open')
  gate.resolve('open')
  const preview = await until('the fetch is over', async () => {
    const answer = await app.request<{ can_merge: boolean }>('GET', at.path(cr.cr_id, 'merge-preview'))
    return answer.status === 503 ? null : answer
  })
  expect([preview.status, preview.body.can_merge]).toEqual([200, true])
  expect((await at.merge(cr.cr_id)).status).toBe(200)
  expect(fetches).toBe(1)
})

test('returns the result of a failed fetch to all waiting callers', async () => {
  ;[passes, fetches, gate] = [100_000, 0, Promise.withResolvers()]
  await commit(origin, 'work', { work: '2\n' })
  const { at, cr } = await makeProject()
  const asked = Array.from({ length: 8 }, () => app.request<Fetching>('GET', at.path(cr.cr_id, 'merge-preview')))
  await until('the fetch runs', async () => (fetches > 0 ? true : null))
  gate.resolve('broken')
  for (const { status, body } of await Promise.all(asked))
    expect([status, body.code]).toEqual([502, 'repository_unreachable'])
  // A request after the failure fetches again.
  expect(fetches).toBeLessThan(8)
})
