import { afterAll, describe, expect, test } from 'bun:test'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commit, makeRepo, tempDir } from '../testing.ts'
import { planMerge } from '../merge/merge.ts'
import { git, gitLine, gitLines } from '../process/git.ts'
import { notedKeptRefs } from '../refs/kept-refs.ts'
import { keepRef, readRefValue } from '../refs/refs.ts'
import { zeroSha } from '../repository.ts'
import {
  fillReplica,
  followReplica,
  incompleteCommits,
  keepReplicaPack,
  dropRoots,
  keepRoots,
  listAllRefs,
  packForReplica,
  readReplicaMark,
  sweepReplica,
  tidyReplica,
} from './replica.ts'
import { filesOfCommit, keepReplicaFiles, writeFiles } from './replica-files.ts'

const temp = await tempDir()
const dir = temp.path
afterAll(() => temp.remove())
let count = 0
const submodule = { mode: '160000', content: '1'.repeat(40) } as const

async function filled(files: Record<string, string> = { 'a.txt': 'a' }) {
  const repo = await makeRepo({ main: files })
  const copy = join(dir, `copy-${++count}.git`)
  const refs = await listAllRefs(repo.dir)
  const pack = (await packForReplica(repo, { wants: refs.map(({ sha }) => sha), has: [] })) as never
  await fillReplica(copy, { epoch: 1, seq: 4, refs, format: 'sha1', pack })
  return { repo, copy, tip: refs[0]!.sha }
}

test('a replica has all refs, hidden ones too, and says as of which change', async () => {
  const { repo, copy, tip } = await filled()
  expect(await listAllRefs(copy)).toEqual(await listAllRefs(repo.dir))
  expect(await readReplicaMark(copy)).toEqual({ epoch: 1, seq: 4 })
  await keepRef(repo, 'wip/one', tip)
  const refs = await listAllRefs(repo.dir)
  const noted = [{ ref: 'refs/svc/cr/1/head', sha: 'a'.repeat(40) }]
  await fillReplica(copy, { epoch: 2, seq: 5, refs, noted, format: 'sha1', pack: null })
  expect(await listAllRefs(copy)).toEqual(refs)
  expect(await notedKeptRefs(copy)).toEqual(noted)
})

test('a server that was killed while it set many refs does not keep a replica from its next filling', async () => {
  const { copy, tip } = await filled()
  const names = Array.from({ length: 300 }, (_, at) => `refs/heads/many-${at}`)
  for (const name of names) await writeFile(join(copy, `${name}.lock`), '')
  const refs = ['refs/heads/main', ...names].map((ref) => ({ ref, sha: tip }))
  await fillReplica(copy, { epoch: 1, seq: 5, refs, format: 'sha1', pack: null })
  expect((await listAllRefs(copy)).map(({ ref }) => ref)).toEqual(refs.map(({ ref }) => ref).toSorted())
  expect((await readdir(join(copy, 'refs/heads'))).filter((name) => name.endsWith('.lock'))).toEqual([])
})

test('a thin pack arrives ahead of its ref, which follows only forwards', async () => {
  const { repo, copy, tip } = await filled()
  const next = await commit(repo, 'main', { 'b.txt': 'b' })
  await keepReplicaPack(copy, (await packForReplica(repo, { wants: [next], has: [tip] })) as never)
  expect(await incompleteCommits(copy, [next])).toEqual([])
  expect(await readRefValue({ dir: copy }, 'refs/heads/main')).toBe(tip)
  const values = [{ ref: 'refs/heads/main', sha: next }]
  expect(await followReplica(copy, values, { epoch: 1, seq: 5 })).toBe(true)
  expect(await followReplica(copy, [{ ref: 'refs/heads/main', sha: tip }], { epoch: 1, seq: 5 })).toBe(false)
  expect(await readRefValue({ dir: copy }, 'refs/heads/main')).toBe(next)
  expect(await followReplica(copy, [{ ref: 'refs/heads/main', sha: zeroSha(next) }], { epoch: 1, seq: 6 })).toBe(true)
  expect(await readRefValue({ dir: copy }, 'refs/heads/main')).toBe(null)
})

test('a pack whose source fails is refused with the reason of the source', async () => {
  const { repo, copy } = await filled()
  const next = await commit(repo, 'main', { 'b.txt': 'b' })
  const pack = (await packForReplica(repo, { wants: [next], has: [] })) as unknown as AsyncIterable<Uint8Array>
  async function* failing() {
    for await (const chunk of pack) {
      yield chunk.subarray(0, chunk.length / 2)
      throw new Error('the file is damaged')
    }
  }
  await expect(keepReplicaPack(copy, failing())).rejects.toThrow('the file is damaged')
})

test('a pack that git stops reading is refused with the reason of git', async () => {
  const { copy } = await filled()
  async function* endless() {
    for (;;) yield Buffer.alloc(64 * 1024, 'no pack')
  }
  await expect(keepReplicaPack(copy, endless())).rejects.toThrow('pack signature mismatch')
})

test('refuses refs whose objects did not arrive, and has no mark then', async () => {
  const { repo, copy } = await filled()
  const next = await commit(repo, 'main', { 'b.txt': 'b' })
  const refs = [{ ref: 'refs/heads/main', sha: next }]
  await expect(fillReplica(copy, { epoch: 1, seq: 5, refs, format: 'sha1', pack: null })).rejects.toThrow(
    'lacks objects',
  )
  expect(await readReplicaMark(copy)).toBe(null)
  expect(await incompleteCommits(copy, [next])).toEqual([next])
})

test('loose objects arrive as files, and a damaged one is refused', async () => {
  const { repo, copy, tip } = await filled()
  const next = await commit(repo, 'main', { 'b.txt': 'new' })
  const names = [next, `${next}^{tree}`, `${next}:b.txt`]
  const objects = await Promise.all(names.map((name) => gitLine(repo.dir, ['rev-parse', name])))
  const change = { commit: next, parents: [tip], objects }
  const files = (await filesOfCommit(repo, change))!
  await keepReplicaFiles(copy, writeFiles(files))
  expect(await gitLine(copy, ['cat-file', '-p', objects[2]!])).toBe('new')
  expect(await incompleteCommits(copy, [next])).toEqual([])
  const other = { name: `${'0'.repeat(2)}/${'1'.repeat(38)}`, bytes: files[0]!.bytes }
  await expect(keepReplicaFiles(copy, writeFiles([other]))).rejects.toThrow('damaged')
  const outside = Buffer.from('../../x 1\nx')
  await expect(keepReplicaFiles(copy, outside)).rejects.toThrow('not framed')
  expect(await filesOfCommit(repo, { ...change, objects: [...objects, '1'.repeat(40)] })).toBe(null)
})

describe('the files of a merge', () => {
  const merged = async () => {
    const { repo, copy, tip } = await filled({ 'a.txt': 'a', 'src/one/a.txt': 'a', 'src/two/a.txt': 'a' })
    const head = await commit(repo, 'topic', { 'src/one/a.txt': 'b', 'src/new/a.txt': 'new', sub: submodule })
    const base = await commit(repo, 'main', { 'src/two/a.txt': 'b', 'other.txt': 'b' })
    await keepReplicaPack(copy, (await packForReplica(repo, { wants: [head, base], has: [tip] })) as never)
    const written: { sha: string; objects: string[] }[] = []
    const merge = async (baseSha = base) => {
      const input = { baseSha, headSha: head, message: 'merge', date: new Date(1_700_000_000_000) }
      await planMerge(repo, input, { written: (sha, objects) => void written.push({ sha, objects }) })
      const { sha, objects } = written.at(-1)!
      const files = await filesOfCommit(repo, { commit: sha, parents: [baseSha, head], objects })
      if (files !== null) await keepReplicaFiles(copy, writeFiles(files))
      return { files, lacking: await incompleteCommits(copy, [sha]) }
    }
    return { repo, copy, base, head, merge }
  }

  test('are all that a copy with both parents lacks', async () => {
    const { merge } = await merged()
    expect(await merge()).toEqual({ files: expect.any(Array), lacking: [] })
  })

  test('are not used where git found an object of it in the repository, as of an earlier try', async () => {
    const { repo, base, head, merge } = await merged()
    await git(repo.dir, ['merge-tree', '--write-tree', base, head])
    expect((await merge()).files).toBe(null)
  })

  test('are not used where git found one of its folders', async () => {
    const { repo, copy, base, head, merge } = await merged()
    await git(repo.dir, ['merge-tree', '--write-tree', base, head])
    const later = await commit(repo, 'main', { 'later.txt': 'b' })
    await keepReplicaPack(copy, (await packForReplica(repo, { wants: [later], has: [base] })) as never)
    expect((await merge(later)).files).toBe(null)
  })

  test('are not used where a file has moved to a folder in which neither parent had it', async () => {
    const { repo, copy, tip } = await filled({ 'a.txt': 'a' })
    const next = await commit(repo, 'main', { 'moved/a.txt': 'a', 'a.txt': null })
    const names = [next, `${next}^{tree}`, `${next}:moved`]
    const objects = await Promise.all(names.map((name) => gitLine(repo.dir, ['rev-parse', name])))
    expect(await filesOfCommit(repo, { commit: next, parents: [tip], objects })).toBe(null)
    expect(await incompleteCommits(copy, [next])).toEqual([next])
  })
})

test('tidying keeps objects that wait for their ref', async () => {
  const { repo, copy, tip } = await filled()
  const next = await commit(repo, 'main', { 'b.txt': 'b' })
  await keepReplicaPack(copy, (await packForReplica(repo, { wants: [next], has: [tip] })) as never)
  await tidyReplica(copy)
  expect(await incompleteCommits(copy, [next])).toEqual([])
})

test('tidying keeps commits that rows name, which are no refs of the repository', async () => {
  const { repo, copy, tip } = await filled()
  const next = await commit(repo, 'main', { 'b.txt': 'b' })
  await keepReplicaPack(copy, (await packForReplica(repo, { wants: [next], has: [tip] })) as never)
  const refs = await listAllRefs(copy)
  await keepRoots(copy, [next, tip, 'f'.repeat(40)])
  expect(await listAllRefs(copy)).toEqual(refs)
  expect(await gitLines(copy, ['for-each-ref', '--format=%(refname)', 'refs/svc-roots'])).toEqual([
    `refs/svc-roots/${next}`,
  ])
  await git(copy, ['repack', '-d', '-A', '--unpack-unreachable=now', '-q'])
  expect(await incompleteCommits(copy, [next])).toEqual([])
  await dropRoots(copy)
  expect(await gitLines(copy, ['for-each-ref', 'refs/svc-roots'])).toEqual([])
})

test('a mark that was cut off means that there is no replica', async () => {
  const { copy } = await filled()
  const whole = await readFile(join(copy, 'svc-replica'), 'utf8')
  await writeFile(join(copy, 'svc-replica'), whole.slice(0, 3))
  expect(await readReplicaMark(copy)).toBe(null)
})

test('a pack that broke off leaves nothing on the disk', async () => {
  const { repo, copy, tip } = await filled()
  const next = await commit(repo, 'main', { 'b.txt': 'b'.repeat(10_000) })
  const before = (await readdir(copy, { recursive: true })).toSorted()
  const chunks = await Array.fromAsync((await packForReplica(repo, { wants: [next], has: [tip] })) as never)
  const whole = Buffer.concat(chunks as Uint8Array[])
  const half = (async function* () {
    yield whole.subarray(0, whole.length / 2)
  })()
  await expect(keepReplicaPack(copy, half)).rejects.toThrow('index-pack')
  expect((await readdir(copy, { recursive: true })).toSorted()).toEqual(before)
})

test('a sweep removes what processes that were killed left, and nothing of this one', async () => {
  const { copy } = await filled()
  const young = 'objects/pack/tmp_pack_young'
  await writeFile(join(copy, young), 'x')
  const before = (await readdir(copy, { recursive: true })).toSorted()
  const old = new Date(performance.timeOrigin - 60_000)
  for (const name of ['objects/pack/tmp_pack_abcdef', 'objects/pack/.tmp-12-pack-1.pack']) {
    await writeFile(join(copy, name), 'x')
    await utimes(join(copy, name), old, old)
  }
  const scratch = join(copy, `svc-scratch-${process.pid}-abcdef`)
  await mkdir(scratch)
  await utimes(scratch, old, old)
  await sweepReplica(copy)
  expect((await readdir(copy, { recursive: true })).toSorted()).toEqual(before)
})
