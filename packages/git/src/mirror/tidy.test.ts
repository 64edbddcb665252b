import { afterAll, beforeEach, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { access, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { git, gitLine } from '../process/git.ts'
import { fetchObjects } from './repair.ts'
import { openMirror } from './mirror.ts'
import { packFiles } from '../objects/open-packs.ts'
import type { Sha } from '../repository.ts'
import { commit, makeRepo, tempDir, type TestRepository } from '../testing.ts'
import { tidyAfter, tidyRepository } from './tidy.ts'

const made: TestRepository[] = []
afterAll(async () => {
  for (const repo of made) await repo.remove()
})

let repo: TestRepository
let blobs: Sha[]
beforeEach(async () => {
  repo = await makeRepo({ main: { a: '1\n' } })
  made.push(repo)
  blobs = []
})

/** A pack of one file, as a push of it leaves. */
async function addPack(bytes: number, input = randomBytes(bytes)): Promise<string> {
  const sha = await gitLine(repo.dir, ['hash-object', '-w', '--stdin'], { input })
  blobs.push(sha)
  const hash = await gitLine(repo.dir, ['pack-objects', '--quiet', join(repo.dir, 'objects/pack/pack')], {
    input: `${sha}\n`,
  })
  return `pack-${hash}.pack`
}

async function addPacks(count: number, bytes: number): Promise<string[]> {
  const names = await Promise.all(Array.from({ length: count }, () => addPack(bytes)))
  await git(repo.dir, ['prune-packed', '--quiet'])
  return names
}

const packs = async () => (await packFiles(repo.dir)).filter((name) => name.endsWith('.pack'))
const refsArePacked = () =>
  access(join(repo.dir, 'packed-refs')).then(
    () => true,
    () => false,
  )
async function expectAllThere(): Promise<void> {
  const { stdout } = await git(repo.dir, ['cat-file', '--batch-check=%(objectname)'], {
    input: `${blobs.join('\n')}\n`,
  })
  expect(stdout.toString().trim().split('\n')).toEqual(blobs)
}

test('joins small packs and keeps large ones', async () => {
  const large = await addPacks(3, 20_000)
  const small = await addPacks(51, 100)
  await tidyAfter(repo, 0, { largePackBytes: 20_000 })
  const now = await packs()
  expect(now).toEqual(expect.arrayContaining(large))
  expect(now.filter((name) => small.includes(name))).toEqual([])
  expect(now.length).toBeLessThan(8)
  await expectAllThere()
  expect(await refsArePacked()).toBe(true)
})

test('computes no deltas between very large files, but between smaller ones', async () => {
  const add = async (bytes: number) => {
    const first = randomBytes(bytes)
    const second = Buffer.concat([first.subarray(0, -1), Buffer.from([first.at(-1)! ^ 1])])
    for (const input of [first, second]) await addPack(bytes, input)
    return blobs.slice(-2)
  }
  const [large, small] = [await add(4 * 1024 * 1024 + 1), await add(100_000)]
  await addPacks(50, 100)
  await tidyAfter(repo, 0)
  const { stdout } = await git(repo.dir, ['cat-file', '--batch-check=%(objectname) %(deltabase)'], {
    input: `${[...large, ...small].join('\n')}\n`,
  })
  const isDifference = stdout
    .toString()
    .trim()
    .split('\n')
    .map((line) => !/ 0+$/.test(line))
  expect([isDifference.slice(0, 2), isDifference.slice(2).filter(Boolean)]).toEqual([[false, false], [true]])
  await expectAllThere()
})

test('does not start because of large packs, however many there are', async () => {
  const large = await addPacks(51, 100)
  await tidyAfter(repo, 0, { largePackBytes: 100 })
  expect(new Set(await packs())).toEqual(new Set(large))
  expect(await refsArePacked()).toBe(false)
  await tidyAfter(repo, 0)
  expect((await packs()).length).toBeLessThan(8)
  await expectAllThere()
})

test('does not retry a failed join after the next push, but writes its commit graph', async () => {
  const all = await addPacks(51, 100)
  // git waits for a writer at this pipe, so it never ends within its time, however little it has to join.
  const pipe = join(repo.dir, 'objects/info/alternates')
  await Bun.$`mkfifo ${pipe}`
  await tidyAfter(repo, 0, { timeoutMs: 1 })
  await rm(pipe)
  await tidyAfter(repo, 1_000)
  expect(new Set(await packs())).toEqual(new Set(all))
  expect(await gitLine(repo.dir, ['commit-graph', 'verify', '--no-progress'])).toBe('')
  await access(join(repo.dir, 'objects/info/commit-graphs/commit-graph-chain'))
  await tidyRepository(repo)
  expect((await packs()).length).toBeLessThan(8)
  await expectAllThere()
})

test('a fetch succeeds when only the maintenance after it fails', async () => {
  const host = repo
  const remote = { url: `file://${host.dir}`, credential: null, allowProtocols: ['file'] }
  const temp = await tempDir()
  const mirror = await openMirror(join(temp.path, 'mirror.git'), remote)
  expect(await fetchObjects(mirror, [await host.tip('main')])).toEqual({ kind: 'present' })
  repo = { ...host, ...mirror, remote: null }
  const all = await addPacks(51, 100)
  // In the way of the file that git packs refs into.
  await mkdir(join(mirror.dir, 'packed-refs.new/x'), { recursive: true })
  const sha = await commit(host, 'main', { a: '2\n' })
  expect(await fetchObjects(mirror, [sha])).toEqual({ kind: 'present' })
  // It was tried: packs are joined before refs are packed.
  expect((await packs()).filter((name) => all.includes(name))).toEqual([])
  expect(await refsArePacked()).toBe(false)
  await temp.remove()
})
