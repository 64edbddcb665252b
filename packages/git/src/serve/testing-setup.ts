/** A repository, a gateway before it and a git client, for tests. They end with the test. */
import { afterAll, afterEach, expect } from 'bun:test'
import { join } from 'node:path'
import { openMirror } from '../mirror/mirror.ts'
import { allowOnlyBranch, type PushGate } from '../receive/gate.ts'
import type { Repository } from '../repository.ts'
import { makeRepo, serveGatewayOverHttp, serveHttpBackend, tempDir, type TestRepository } from '../testing.ts'
import type { GatewayOptions } from './gateway.ts'
import { clientAt, makeClient, type GitClient } from './testing-client.ts'

const temp = await tempDir()
afterAll(() => temp.remove())
export const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

export const anything: PushGate = () => null

export interface Setup {
  origin: TestRepository
  served: Repository
  url: string
  client: GitClient
  /** The requests that the external host got; empty for a managed repository. */
  asked: string[]
  hostAway: () => Promise<void>
}

let mirrors = 0
export async function setUp(
  kind: 'managed' | 'external',
  gate: PushGate = allowOnlyBranch('work'),
  options: GatewayOptions = {},
): Promise<Setup> {
  const origin = await makeRepo({ main: { 'a.txt': '1\n' }, work: { 'b.txt': '2\n' } })
  closing.push(origin.remove)
  const host = await serveHttpBackend(origin.dir)
  closing.push(host.close)
  const remote = { url: host.url, credential: null, allowProtocols: ['http'] }
  const served: Repository =
    kind === 'managed' ? { ...origin } : await openMirror(join(temp.path, `m${mirrors++}.git`), remote)
  const server = await serveGatewayOverHttp(served, gate, options)
  closing.push(server.close)
  const client = await makeClient()
  closing.push(client.remove)
  return { origin, served, url: server.url, client, asked: host.requests, hostAway: host.close }
}

export async function cloned({ client, url }: Setup, ...flags: string[]): Promise<GitClient> {
  const done = await client.run(...flags, 'clone', '--quiet', url, 'clone')
  expect(done).toMatchObject({ code: 0 })
  return clientAt(join(client.cwd, 'clone'))
}

export async function committed(client: GitClient, path: string, content: string): Promise<string> {
  await client.write(path, content)
  await client.run('add', '--all')
  expect((await client.run('commit', '--quiet', '-m', `write ${path}`)).code).toBe(0)
  return (await client.run('rev-parse', 'HEAD')).out
}
