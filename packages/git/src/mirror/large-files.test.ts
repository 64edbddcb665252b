/** Large files on their way to another server of ours, as with a move or a copy, and to users. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { git, gitLine, gitLines } from '../process/git.ts'
import { type GatewayServer, serveGatewayOverHttp } from '../serve/testing-gateway.ts'
import { commit, makeRepo, tempDir, type TestRepository } from '../testing.ts'
import { fetchCopy, readCopyManifest } from './copy.ts'
import { fillReplica, listAllRefs, packForReplica, tidyReplica } from './replica.ts'

let temp: Awaited<ReturnType<typeof tempDir>>
let source: TestRepository
let peer: GatewayServer
beforeAll(async () => {
  temp = await tempDir()
  source = await makeVersions()
  peer = await serveGatewayOverHttp(source, () => 'This entry is read-only.', { isWhole: true })
})
afterAll(async () => {
  await peer.close()
  await source.remove()
  await temp.remove()
})

/** Three versions of a large file, one of them stored as a delta, and two of a small one. */
async function makeVersions(): Promise<TestRepository> {
  const [large, small] = [2.5 * 1024 ** 2, 1024].map((bytes) => randomBytes(bytes).toString('hex'))
  const repo = await makeRepo({ main: { large: large!, small: small! } })
  await commit(repo, 'main', { large: `${large} stored as a delta` })
  await git(repo.dir, ['repack', '-adq', '--no-write-bitmap-index'])
  await commit(repo, 'main', { large: `${large} stored whole`, small: `${small} stored whole` })
  return repo
}

/** How many versions of each file are stored as deltas. */
async function deltasIn(dir: string): Promise<Record<string, number>> {
  const counted: Record<string, number> = {}
  for (const path of ['large', 'small']) {
    const commits = await gitLines(dir, ['log', '--format=%H', 'main', '--', path])
    const input = commits.map((sha) => `${sha}:${path}\n`).join('')
    const bases = await gitLines(dir, ['cat-file', '--batch-check=%(deltabase)'], { input })
    counted[path] = bases.filter((base) => !/^0+$/.test(base)).length
  }
  return counted
}

test('a move sends a large file without a search for deltas, and those that are stored as they are', async () => {
  const dir = join(temp.path, 'moved.git')
  const from = () => ({ url: peer.url, credential: null, allowProtocols: ['http'] })
  await fetchCopy(dir, from, (await readCopyManifest(source.dir))!)
  expect(await deltasIn(source.dir)).toEqual({ large: 1, small: 0 })
  expect(await deltasIn(dir)).toEqual({ large: 1, small: 1 })
})

test('a new copy gets a large file without a search for deltas, and those that are stored as they are', async () => {
  const dir = join(temp.path, 'copied.git')
  const refs = await listAllRefs(source.dir)
  const pack = (await packForReplica(source, { wants: refs.map(({ sha }) => sha), has: [] })) as never
  await fillReplica(dir, { epoch: 1, seq: 1, refs, format: 'sha1', pack })
  expect(await deltasIn(dir)).toEqual({ large: 1, small: 1 })
})

test('a copy is tidied without a search for deltas of a large file', async () => {
  const { dir, remove } = await makeVersions()
  await tidyReplica(dir)
  expect(await deltasIn(dir)).toEqual({ large: 1, small: 1 })
  await remove()
})

test('a clone gets a large file without a search for deltas, and those that are stored as they are', async () => {
  const dir = join(temp.path, 'cloned.git')
  const open = await serveGatewayOverHttp(source, () => 'This entry is read-only.')
  const remote = { url: open.url, credential: null, allowProtocols: ['http'] }
  await git(null, ['clone', '--quiet', '--bare', remote.url, dir], { remote, lane: 'network' })
  await open.close()
  expect(await deltasIn(dir)).toEqual({ large: 1, small: 1 })
})

test('a large file is not compared with the version that a copy has', async () => {
  const has = await gitLine(source.dir, ['rev-parse', 'main~1'])
  const pack = (await packForReplica(source, { wants: [await source.tip('main')], has: [has] })) as never
  const sent = Buffer.concat((await Array.fromAsync(pack)) as Uint8Array[])
  expect(sent.length).toBeGreaterThan(1024 ** 2)
})
