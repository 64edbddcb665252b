/** Branches are deleted at exactly the commit that the caller knows. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { openMirror } from '../mirror/mirror.ts'
import { readTips } from '../refs/tips.ts'
import type { Repository } from '../repository.ts'
import { commit, makeRepo, serveHttpBackend, tempDir, type TestRepository } from '../testing.ts'
import { deleteBranches } from './delete-branches.ts'

let origin: TestRepository
let host: Awaited<ReturnType<typeof serveHttpBackend>>
let temp: Awaited<ReturnType<typeof tempDir>>
const repositories: Record<string, () => Promise<Repository>> = {
  'on disk': async () => origin,
  'behind HTTP': () => openMirror(join(temp.path, 'mirror.git'), remoteAt(host.url)),
  'in a folder': () => openMirror(join(temp.path, 'folder.git'), remoteAt(`file://${origin.dir}`)),
}
const remoteAt = (url: string) => ({ url, credential: null, allowProtocols: ['http' as const, 'file' as const] })

beforeAll(async () => {
  origin = await makeRepo({ main: { a: '1\n' } })
  host = await serveHttpBackend(origin.dir)
  temp = await tempDir()
}, 120_000)
afterAll(async () => {
  await host.close()
  await temp.remove()
  await origin.remove()
})

const branches = async () => {
  const found = await readTips(origin, 'all')
  return found.kind === 'tips' ? [...found.tips.keys()].toSorted() : []
}

describe.each(Object.keys(repositories))('a repository %s', (kind) => {
  test('loses the branches that are at the given commits, and keeps the others', async () => {
    const repo = await repositories[kind]!()
    const sha = await commit(origin, 'one', { b: '1\n' })
    await commit(origin, 'two', { b: '1\n' })
    const moved = await commit(origin, 'two', { b: '2\n' })
    const outcomes = await deleteBranches(repo, [
      { branch: 'one', sha },
      { branch: 'two', sha },
      { branch: 'three', sha },
    ])
    expect([...outcomes]).toEqual([
      ['one', { kind: 'deleted' }],
      ['two', { kind: 'moved' }],
      ['three', { kind: 'moved' }],
    ])
    expect(await branches()).toEqual(['main', 'two'])
    expect([...(await deleteBranches(repo, [{ branch: 'two', sha: moved }]))]).toEqual([['two', { kind: 'deleted' }]])
    expect(await branches()).toEqual(['main'])
    expect([...(await deleteBranches(repo, []))]).toEqual([])
  }, 120_000)
})

test('a host that refuses keeps the branch and says why', async () => {
  const repo = await repositories['behind HTTP']!()
  const sha = await commit(origin, 'one', { b: '1\n' })
  const hook = join(origin.dir, 'hooks/pre-receive')
  await mkdir(dirname(hook), { recursive: true })
  await writeFile(hook, '#!/bin/sh\necho "branches stay" >&2\nexit 1\n', { mode: 0o755 })
  const refused = await deleteBranches(repo, [{ branch: 'one', sha }])
  expect(refused.get('one')).toEqual({ kind: 'kept', reason: expect.stringContaining('branches stay') })
  expect(await branches()).toEqual(['main', 'one'])
  await rm(hook)
}, 120_000)
