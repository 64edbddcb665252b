/** Which server gets the copy of a project when one of them refuses it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { findRow, insertRow } from '../../db/rows.ts'
import { serverHeader, serverKeyPurpose, signOwn } from '../../fleet/peer-header.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { findReplica } from './store.ts'

let app: TestApp
const stopped: (() => unknown)[] = []
beforeAll(async () => {
  app = await makeTestApp({ serverName: 'here', home: 'here', configure: { replica: 'sync' } })
}, 120_000)
afterAll(async () => {
  await Promise.all(stopped.map((stop) => stop()))
  await app.close()
})

/** Another server that answers every request like this. */
async function peer(server_name: string, answer: (path: string) => Response | Promise<Response>): Promise<void> {
  const fetch = ({ url }: Request) => answer(new URL(url).pathname)
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch })
  stopped.push(() => server.stop(true))
  const data_folder = randomUUID()
  const peer_url = `http://127.0.0.1:${server.port}`
  await insertRow(app.deps.db, 'servers', { server_name, data_folder, peer_url, keeps_replicas: true })
  const of = { instance_id: randomUUID(), data_folder, server_name, peer_url }
  await insertRow(app.deps.db, 'server_instances', of)
}

const noCopy = () =>
  Response.json({ error: 'This server has no copy of the project.', code: 'not_found' }, { status: 404 })

test('a server whose clock differs names both clocks, and nobody else learns that there is such an entry', async () => {
  const path = `/v1/replicas/${randomUUID()}`
  const key = app.deps.keyring.derive(serverKeyPurpose)
  const ask = (at: number, of: Buffer) => {
    const header = signOwn(of, { method: 'GET', path }, { from: 'there', to: 'here' }, at)
    return app.request<{ error: string; clock_seconds: number }>('GET', path, { headers: { [serverHeader]: header } })
  }
  const later = app.deps.now().getTime() + 120_000
  const refused = await ask(later, key)
  const { body } = refused
  expect([refused.status, Math.abs(body.clock_seconds - 120) < 5]).toEqual([503, true])
  expect(body.error).toMatch(/^The clock of there is 1\d\d seconds ahead of that of here; servers accept one minute\.$/)
  expect((await ask(later, Buffer.alloc(32))).status).toBe(404)
})

test('another server gets the copy at once when one refuses it for its clock, or takes no copies', async () => {
  const clock = {
    error: 'The clock of here is 120 seconds behind that of skewed.',
    code: 'unavailable',
    clock_seconds: -120,
  }
  await peer('skewed', () => Response.json(clock, { status: 503 }))
  await peer('older', () => Response.json({ error: 'There is no such route.', code: 'not_found' }, { status: 404 }))
  const { project, repo } = await app.managedProject()
  const { deps } = app
  const began = performance.now()
  const row = (await findRow(deps.db, 'projects', { project_id: project.project_id }))!
  const alone = deps.replicas.send(row, repo, [], { waitMs: 1_000 })
  await expect(alone).rejects.toThrow(/skewed answered: The clock of here|older answered: There is no such route/)
  await peer('fine', (path) => (path.endsWith('/fill') ? new Response(null) : noCopy()))
  expect(await deps.replicas.send(row, repo, [])).toBe('fine')
  expect(performance.now() - began).toBeLessThan(6_000)
  expect((await findReplica(deps.db, project.project_id))?.server).toBe('fine')
}, 120_000)

test('a change waits no longer for a copy that is being made, and another server gets it when the first falls silent', async () => {
  await app.deps.db.deleteFrom('server_instances').where('server_name', 'is not', null).execute()
  const never = new Promise<Response>(() => {})
  let isSilent = false
  await peer('paused', (path) => (isSilent || path.endsWith('/fill') ? never : noCopy()))
  const { project, repo } = await app.managedProject()
  const { deps } = app
  const row = (await findRow(deps.db, 'projects', { project_id: project.project_id }))!
  await expect(deps.replicas.send(row, repo, [], { waitMs: 1_000 })).rejects.toThrow('It is being made.')
  await peer('other', (path) => (path.endsWith('/fill') ? new Response(null) : noCopy()))
  isSilent = true
  expect(await deps.replicas.send(row, repo, [])).toBe('other')
}, 120_000)
