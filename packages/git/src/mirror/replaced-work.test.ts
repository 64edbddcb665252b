import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { readFile, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { git, gitLine } from '../process/git.ts'
import { bundleWork, keepWork } from './kept-work.ts'
import { packFiles } from '../objects/open-packs.ts'
import { readKeptRef } from '../refs/refs.ts'
import { noteReplacedWork, pruneReplacedWork } from './replaced-work.ts'
import { commit, makeRepo, type TestRepository } from '../testing.ts'

const made: TestRepository[] = []
afterAll(async () => {
  for (const repo of made) await repo.remove()
})

const later = () => new Date(Date.now() + 3_600_000)
const has = async (repo: TestRepository, sha: string) =>
  (await git(repo.dir, ['cat-file', '-e', sha], { accept: [0, 1, 128] })).code === 0

/** A sandbox: it saves one snapshot after the other into the store, each without what the store has. */
async function sandboxOf(store: TestRepository) {
  const repo = await makeRepo({})
  made.push(repo)
  await git(repo.dir, ['fetch', '--quiet', store.dir, '+refs/heads/*:refs/heads/*'], {
    env: { GIT_ALLOW_PROTOCOL: 'file' },
  })
  let last: string | null = null
  return async (files: Record<string, string>): Promise<string> => {
    const sha = await commit(repo, `snapshot-${Object.keys(files).join('-')}`, files)
    const wanted = [sha, `^${await store.tip('main')}`, ...(last === null ? [] : [`^${last}`]), '']
    const args = ['pack-objects', '--revs', '--stdout', '--quiet', '--thin']
    const { stdout } = await git(repo.dir, args, { input: wanted.join('\n') })
    const pack = (async function* () {
      yield stdout
    })()
    const input = { name: 'wip/s1', commit: sha, pack, bytesMax: 1e9, signal: new AbortController().signal }
    expect(await keepWork(store, input)).toMatchObject({ kind: 'kept' })
    last = sha
    return sha
  }
}

describe('removing replaced snapshots', () => {
  let store: TestRepository
  let first: string
  let second: string
  let alone: string
  let shared: string
  let pushed: string

  beforeEach(async () => {
    store = await makeRepo({ main: { 'a.txt': '1\n' } })
    made.push(store)
    const save = await sandboxOf(store)
    first = await save({ 'only-first.txt': 'x\n'.repeat(100), 'in-both.txt': 'both\n', 'pushed.txt': 'pushed\n' })
    ;[alone, shared, pushed] = (await Promise.all(
      ['only-first', 'in-both', 'pushed'].map((name) => gitLine(store.dir, ['rev-parse', `${first}:${name}.txt`])),
    )) as [string, string, string]
    // On a branch that is gone: whoever knows the commit can still look at it.
    await commit(store, 'gone', { 'pushed.txt': 'pushed\n' })
    await git(store.dir, ['update-ref', '-d', 'refs/heads/gone'])
    second = await save({ 'only-second.txt': 'y\n', 'in-both.txt': 'both\n' })
    await noteReplacedWork(store, [first], new Date(Date.now() - 1000))
  })

  test('removes replaced snapshots and their objects, and keeps the newest one whole', async () => {
    expect(await pruneReplacedWork(store, later())).toBeGreaterThanOrEqual(3)
    expect([await has(store, first), await has(store, alone)]).toEqual([false, false])
    expect([await has(store, second), await has(store, shared), await has(store, pushed)]).toEqual([true, true, true])
    expect(await readKeptRef(store, 'wip/s1')).toBe(second)
    await git(store.dir, ['fsck', '--full', '--no-dangling'])
    expect(await pruneReplacedWork(store, later())).toBe(0)
    expect(await readFile(join(store.dir, 'svc-replaced-work'), 'utf8')).toBe('')
  })

  test('keeps replaced snapshots until their time is over and their pack is unused', async () => {
    expect(await pruneReplacedWork(store, new Date(Date.now() - 60_000))).toBe(0)
    const packs = (await packFiles(store.dir)).filter((name) => name.endsWith('.pack'))
    const soon = new Date(Date.now() + 7_200_000)
    for (const name of packs) await utimes(join(store.dir, 'objects/pack', name), soon, soon)
    expect(await pruneReplacedWork(store, later())).toBe(0)
    expect(await has(store, first)).toBe(true)
    for (const name of packs) await utimes(join(store.dir, 'objects/pack', name), new Date(), new Date())
    expect(await pruneReplacedWork(store, later())).toBeGreaterThanOrEqual(3)
  })

  test('never removes what a ref still names, whatever was recorded', async () => {
    await noteReplacedWork(store, [second, await store.tip('main')], new Date(Date.now() - 1000))
    await pruneReplacedWork(store, later())
    expect([await has(store, first), await has(store, second), await has(store, await store.tip('main'))]).toEqual([
      false,
      true,
      true,
    ])
    await git(store.dir, ['fsck', '--full', '--no-dangling'])
  })

  test('removes replaced snapshots while the newest one is being read completely', async () => {
    const { signal } = new AbortController()
    const bundle = await bundleWork(store, { name: 'wip/s1', commit: second, have: [second], signal })
    await pruneReplacedWork(store, later())
    const path = join(store.dir, 'read.bundle')
    await Bun.write(path, await new Response(bundle).bytes())
    await git(store.dir, ['bundle', 'verify', '--quiet', path])
    expect((await stat(path)).size).toBeGreaterThan(100)
  })

  test('bundles no snapshot under a name that has another commit or none', async () => {
    const { signal } = new AbortController()
    const read = (name: string, commit: string) => bundleWork(store, { name, commit, have: [], signal })
    expect(await read('wip/s1', first)).toBeNull()
    expect(await read('wip/nobody', second)).toBeNull()
  })

  test('removes replaced snapshots from packs that were joined', async () => {
    await git(store.dir, ['repack', '--geometric=2', '-d', '--quiet'])
    await git(store.dir, ['commit-graph', 'write', '--reachable'])
    expect(await has(store, first)).toBe(true)
    expect(await pruneReplacedWork(store, later())).toBeGreaterThanOrEqual(3)
    expect([await has(store, first), await has(store, second), await has(store, pushed)]).toEqual([false, true, true])
    await git(store.dir, ['commit-graph', 'verify'])
    await git(store.dir, ['fsck', '--full', '--no-dangling'])
  })
})
