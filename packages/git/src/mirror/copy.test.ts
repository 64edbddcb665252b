import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { git } from '../process/git.ts'
import { keepRef } from '../refs/refs.ts'
import { commit, makeRepo, tempDir, type TestRepository } from '../testing.ts'
import { type GatewayServer, serveGatewayOverHttp } from '../serve/testing-gateway.ts'
import { fetchCopy, finishCopy, isSameCopy, placeCopy, readCopyManifest } from './copy.ts'

let temp: Awaited<ReturnType<typeof tempDir>>
let source: TestRepository
let peer: GatewayServer
beforeAll(async () => {
  temp = await tempDir()
  source = await makeRepo({ main: { a: '1\n' } })
  peer = await serveGatewayOverHttp(source, () => 'This entry is read-only.', { isWhole: true })
})
afterAll(async () => {
  await peer.close()
  await source.remove()
  await temp.remove()
})

test('a copy has every ref, symbolic and hidden ones, and commits that only a row names', async () => {
  const unreferenced = await commit(source, 'gone', { a: 'gone\n' }, { orphan: true })
  await git(source.dir, ['update-ref', '-d', 'refs/heads/gone'])
  const kept = await commit(source, 'kept', { a: 'kept\n' }, { orphan: true })
  await git(source.dir, ['update-ref', '-d', 'refs/heads/kept'])
  await keepRef(source, 'wip/one', kept)
  await git(source.dir, ['symbolic-ref', 'refs/heads/alias', 'refs/heads/main'])
  const roots = [unreferenced, '1'.repeat(40)]
  const made = join(temp.path, 'moving/copy.git')
  const from = () => ({ url: peer.url, credential: null, allowProtocols: ['http'] })
  for (let pass = 0; pass < 3; pass++) {
    await commit(source, 'main', { [`pass-${pass}`]: 'x\n' })
    const manifest = (await readCopyManifest(source.dir, roots))!
    expect(manifest.roots).toEqual([unreferenced])
    expect(await fetchCopy(made, from, manifest)).toEqual({ unreadable: [] })
    await finishCopy(made, manifest)
    expect(isSameCopy((await readCopyManifest(made))!, manifest)).toBe(true)
  }
  await git(source.dir, ['symbolic-ref', '--delete', 'refs/heads/alias'])
  const manifest = (await readCopyManifest(source.dir, roots))!
  expect(isSameCopy((await readCopyManifest(made))!, manifest)).toBe(false)
  await fetchCopy(made, from, manifest)
  await finishCopy(made, manifest)
  const dir = join(temp.path, 'repositories/copy.git')
  await placeCopy(made, dir)
  expect(isSameCopy((await readCopyManifest(dir))!, manifest)).toBe(true)
  const { stdout } = await git(dir, ['cat-file', '-t', unreferenced])
  expect(stdout.toString()).toBe('commit\n')
  await git(dir, ['fsck', '--connectivity-only'])
})
