import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, request as send, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ChangeRequest, Project } from '@svc/contract'
import { commit, type HttpBackend, makeRepo, serveHttpBackend, type TestRepository } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { reconcileMerges } from './reconcile.ts'
import { auditOfObject, type TestProject, testProject } from '../testing.ts'

/** The network forwards pushes, drops them before the host, or drops the host's response; `dead` drops everything. */
type Line = 'fine' | 'drops pushes' | 'drops answers' | 'dies with the answer' | 'dead'

let app: TestApp
let repo: TestRepository
let host: HttpBackend
let proxy: Server
let line: Line = 'fine'
let at: TestProject
let opened = 0

beforeAll(async () => {
  app = await makeTestApp()
  repo = await makeRepo({ main: { 'README.md': 'hello\n' } })
  host = await serveHttpBackend(repo.dir)
  proxy = await serveLine(host)
  const url = new URL(host.url)
  url.port = String((proxy.address() as AddressInfo).port)
  const { body: project } = await app.request<Project>('POST', '/v1/projects', { body: { repo_url: url.href } })
  at = testProject(app, { project, repo })
}, 120_000)
afterAll(async () => {
  proxy.closeAllConnections()
  proxy.close()
  await host.close()
  await repo.remove()
  await app.close()
})

async function openBeside(): Promise<ChangeRequest> {
  line = 'fine'
  const cr = await at.open(`work-${++opened}`, { [`${opened}.txt`]: 'x\n' })
  await commit(repo, 'main', { [`main-${opened}.txt`]: 'x\n' })
  return cr
}

const attemptsOf = (crId: string) =>
  app.deps.db.selectFrom('merge_attempts').select(['state', 'result_sha']).where('cr_id', '=', crId).execute()

test('finds a push on the branch whose answer was lost', async () => {
  const cr = await openBeside()
  line = 'drops answers'
  const { status, body } = await at.merge(cr.cr_id)
  expect(status).toBe(200)
  expect(await at.tip('main')).toBe(body.merge.merge_commit_sha)
  expect(await attemptsOf(cr.cr_id)).toEqual([{ state: 'landed', result_sha: body.merge.merge_commit_sha }])
})

test('retries a push that never arrived, then reports the host as unreachable', async () => {
  const cr = await openBeside()
  const base = await at.tip('main')
  line = 'drops pushes'
  const refused = await at.refusedMerge(cr.cr_id)
  expect([refused.status, refused.body.code]).toEqual([502, 'repository_unreachable'])
  expect(await at.tip('main')).toBe(base)
  expect(new Set((await attemptsOf(cr.cr_id)).map((attempt) => attempt.state))).toEqual(new Set(['abandoned']))
  line = 'fine'
  expect((await at.merge(cr.cr_id)).status).toBe(200)
})

test('keeps the merge open when the host goes down during the answer, until it is back', async () => {
  const cr = await openBeside()
  line = 'dies with the answer'
  const headers = { 'idempotency-key': 'host-went-away' }
  const refused = await at.refusedMerge(cr.cr_id, { headers })
  expect([refused.status, refused.body.code]).toEqual([502, 'repository_unreachable'])
  // It reports neither success nor failure.
  expect(refused.body.error).toEndWith('so its outcome is not known yet.')
  const [attempt] = await attemptsOf(cr.cr_id)
  expect(attempt).toEqual({ state: 'intended', result_sha: await at.tip('main') })
  expect((await at.get(cr.cr_id)).status).toBe('open')
  expect((await app.request('POST', at.path(cr.cr_id, 'close'))).status).toBe(502)
  await reconcileMerges(app.deps, new AbortController().signal)
  expect((await at.get(cr.cr_id)).status).toBe('open')

  line = 'fine'
  const again = await at.merge(cr.cr_id, { headers })
  expect(again.status).toBe(200)
  expect(again.body.merge.merge_commit_sha).toBe(attempt!.result_sha)
  expect(await auditOfObject(app, cr.cr_id)).toHaveLength(2)
})

async function serveLine(to: HttpBackend): Promise<Server> {
  const { port } = new URL(to.url)
  const server = createServer((incoming, outgoing) => {
    const isPush = incoming.method === 'POST' && incoming.url?.endsWith('/git-receive-pack') === true
    if (line === 'dead' || (isPush && line === 'drops pushes')) return void incoming.socket.destroy()
    const { method, url, headers } = incoming
    const forward = send({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      if (!isPush || line === 'fine') {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        return void answer.pipe(outgoing)
      }
      // When the response has ended, the host has stored the push on the branch.
      answer.resume().on('end', () => {
        if (line === 'dies with the answer') line = 'dead'
        incoming.socket.destroy()
      })
    })
    forward.on('error', () => incoming.socket.destroy())
    incoming.pipe(forward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
