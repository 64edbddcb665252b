/** Repositories that are small to send and endless to read. */
import type { Hostile } from './programs.ts'
import { packOf, type PackEntry, repeatingDelta } from './repository.ts'
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const mebibyte = 1024 * 1024

/** Lines of a small alphabet in random order: the most expensive input for a diff of two files. */
function shuffled(seed: number, lines: number, alphabet: number): string {
  let state = seed
  const out: string[] = []
  for (let n = 0; n < lines; n++) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    out.push(String((state >> 8) % alphabet))
  }
  return `${out.join('\n')}\n`
}

const idOf = (type: string, body: Buffer) =>
  createHash('sha1')
    .update(Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body]))
    .digest('hex')

export const bombs: Hostile[] = [
  {
    name: 'fifteen objects whose diff runs for ever',
    async make(repo) {
      const side = async (seed: number) => {
        const names = ['a', 'b', 'c', 'd']
        const files = names.map((name, n): [string, string] => [name, shuffled(seed + n, 900_000, 40)])
        return repo.files(Object.fromEntries(files))
      }
      await repo.mainAndWork(await side(11), await side(7))
    },
  },
  {
    name: 'files that both sides changed everywhere',
    async make(repo) {
      const side = (seed: number) => repo.files({ a: shuffled(seed, 400_000, 40), b: shuffled(seed + 1, 400_000, 40) })
      await repo.threeWay(await side(3), await side(5), await side(9))
    },
  },
  {
    name: 'a tree of twelve objects and a billion files',
    paths: ['d0/d0/d0/d0/d0/d0/d0/d0/f0'],
    async make(repo) {
      let inner = await repo.files({ f0: '1\n' })
      for (let level = 0; level < 10; level++)
        inner = await repo.tree(Array.from({ length: 10 }, (_, n) => ({ mode: '40000', name: `d${n}`, sha: inner })))
      await repo.mainAndWork(inner)
    },
  },
  {
    name: 'a tree of a billion files that both sides changed',
    async make(repo) {
      const side = async (text: string) => {
        let inner = await repo.files({ f0: text })
        for (let level = 0; level < 10; level++)
          inner = await repo.tree(Array.from({ length: 10 }, (_, n) => ({ mode: '40000', name: `d${n}`, sha: inner })))
        return inner
      }
      await repo.threeWay(await side('1\n'), await side('2\n'), await side('3\n'))
    },
  },
  {
    name: 'folders in folders, 30,000 deep',
    async make(repo) {
      let inner = await repo.files({ deepest: '1\n' })
      for (let level = 0; level < 30_000; level++) inner = await repo.tree([{ mode: '40000', name: 'd', sha: inner }])
      await repo.mainAndWork(inner)
    },
    paths: ['d/d/d/d'],
  },
  {
    name: 'one folder of 300,000 files',
    async make(repo) {
      const sha = await repo.blob('1\n')
      const list = Array.from({ length: 300_000 }, (_, n) => ({
        mode: '100644',
        name: `f${String(n).padStart(6, '0')}`,
        sha,
      }))
      await repo.mainAndWork(await repo.tree(list))
    },
    paths: ['f299999'],
  },
  {
    name: 'a file of a gigabyte that is all the same',
    paths: ['zero'],
    async make(repo) {
      await repo.mainAndWork(await repo.files({ zero: Buffer.alloc(1024 * mebibyte) }))
    },
  },
  {
    name: 'forty texts of fifteen megabytes each',
    paths: ['t0'],
    async make(repo) {
      const side = async (letter: string) => {
        const names = Array.from({ length: 40 }, (_, n) => `t${n}`)
        return repo.files(Object.fromEntries(names.map((name) => [name, `${letter}${name}\n`.repeat(3_700_000)])))
      }
      await repo.mainAndWork(await side('b'), await side('a'))
    },
  },
  {
    name: 'a delta of a few bytes that is two gigabytes',
    async make(repo) {
      const { main } = await repo.mainAndWork(await repo.files({ a: '1\n' }))
      const seed = Buffer.alloc(mebibyte, 'a')
      const chain: PackEntry[] = [{ type: 'blob', body: seed }]
      let size = seed.length
      let base = idOf('blob', seed)
      // The name of the last one is unknown until it is made; the branch points to the one before it.
      for (const times of [16, 16]) {
        chain.push({ type: 'ref-delta', base, body: repeatingDelta(size, times) })
        size *= times
        base = idOf('blob', Buffer.alloc(size, 'a'))
      }
      chain.push({ type: 'ref-delta', base, body: repeatingDelta(size, 8) })
      const pack = packOf(chain)
      const at = join(repo.dir, 'objects/pack')
      await mkdir(at, { recursive: true })
      const path = join(at, `pack-${pack.subarray(-20).toString('hex')}.pack`)
      await writeFile(path, pack)
      await repo.git(['index-pack', path])
      const listed = await repo.git(['verify-pack', '-v', path])
      const ids = [...listed.matchAll(/^([0-9a-f]{40}) blob/gm)].map(([, sha = '']) => sha)
      const tree = await repo.tree(ids.map((sha, n) => ({ mode: '100644', name: `d${n}`, sha })))
      await repo.ref('refs/heads/work', await repo.commit({ tree, parents: [main] }))
    },
    paths: ['d0', 'd3'],
  },
  {
    name: '100,000 branches',
    async make(repo) {
      const { main, work } = await repo.mainAndWork(await repo.files({ a: '2\n' }))
      const lines = Array.from(
        { length: 100_000 },
        (_, n) => `${n % 2 ? main : work} refs/heads/b${String(n).padStart(6, '0')}\n`,
      )
      await repo.place('packed-refs', `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`)
    },
  },
  {
    name: 'a message of 60 MB',
    async make(repo) {
      const main = await repo.commit({ tree: await repo.files({ a: '1\n' }) })
      await repo.ref('refs/heads/main', main)
      let parent = main
      for (const text of ['one line ', 'many\nlines\n'])
        parent = await repo.commit({
          tree: await repo.files({ a: text }),
          parents: [parent],
          message: text.repeat((60 * mebibyte) / text.length),
        })
      await repo.ref('refs/heads/work', parent)
    },
  },
  {
    name: 'a thousand commits of 200 KB each, by authors of 100 KB',
    async make(repo) {
      const tree = await repo.files({ a: '1\n' })
      let parent = await repo.commit({ tree })
      await repo.ref('refs/heads/main', parent)
      for (let n = 0; n < 1000; n++)
        parent = await repo.commit({
          tree,
          parents: [parent],
          author: `${'n'.repeat(100_000)} <x@x> 1700000000 +0000`,
          message: `${n}${'m'.repeat(200_000)}\n`,
        })
      await repo.ref('refs/heads/work', parent)
    },
  },
  {
    name: 'a commit of 20,000 parents',
    async make(repo) {
      const tree = await repo.files({ a: '1\n' })
      const main = await repo.commit({ tree })
      const parents: string[] = [main]
      for (let n = 0; n < 20_000; n++) parents.push(await repo.commit({ tree, parents: [main], message: `${n}\n` }))
      await repo.ref('refs/heads/main', main)
      await repo.ref('refs/heads/work', await repo.commit({ tree: await repo.files({ a: '2\n' }), parents }))
    },
  },
  {
    name: 'two histories that cross forty times over',
    async make(repo) {
      const blob = async (one: string, two: string) => repo.files({ a: `${one}\n\n\n\n\n${two}\n` })
      const root = await repo.commit({ tree: await blob('0', '0') })
      let [left, right] = [
        await repo.commit({ tree: await blob('1', '0'), parents: [root] }),
        await repo.commit({ tree: await blob('0', '1'), parents: [root] }),
      ]
      for (let n = 2; n < 42; n++) {
        const nextLeft = await repo.commit({ tree: await blob(`${n}`, 'x'), parents: [left, right] })
        right = await repo.commit({ tree: await blob('y', `${n}`), parents: [right, left] })
        left = nextLeft
      }
      await repo.branches(left, right)
    },
  },
  {
    name: 'sixty common ancestors at once',
    async make(repo) {
      const tree = (n: number | string) => repo.files({ a: `${n}\n` })
      const root = await repo.commit({ tree: await tree('root') })
      const bases: string[] = []
      for (let n = 0; n < 60; n++) bases.push(await repo.commit({ tree: await tree(n), parents: [root] }))
      await repo.ref('refs/heads/main', await repo.commit({ tree: await tree('ours'), parents: bases }))
      await repo.ref('refs/heads/work', await repo.commit({ tree: await tree('theirs'), parents: bases.toReversed() }))
    },
  },
  {
    name: 'a line of 150,000 commits on each side',
    async make(repo) {
      function* stream() {
        yield 'commit refs/heads/main\nmark :1\ncommitter x <x@x> 1700000000 +0000\ndata 1\nr\nM 100644 inline a\ndata 2\n1\n\n'
        for (const branch of ['main', 'work'])
          for (let n = 0; n < 150_000; n++)
            yield `commit refs/heads/${branch}\ncommitter x <x@x> ${1700000001 + n} +0000\ndata 1\nm\n${n === 0 ? 'from :1\n' : ''}M 100644 inline ${branch}\ndata ${String(n).length}\n${n}\n\n`
      }
      await repo.import(stream())
    },
  },
  {
    name: '6,000 files renamed and changed on both sides',
    async make(repo) {
      const text = (n: number, more: string) => `${n}\n${`line of file ${n}\n`.repeat(20)}${more}\n`
      const side = (prefix: string) =>
        repo.files(Object.fromEntries(Array.from({ length: 6000 }, (_, n) => [`${prefix}${n}`, text(n, prefix)])))
      await repo.threeWay(await side('old'), await side('ours'), await side('theirs'))
    },
  },
  {
    name: '40,000 files in conflict',
    async make(repo) {
      const side = (text: string) =>
        repo.files(Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`f${n}`, `${text}\n`])))
      await repo.threeWay(await side('0'), await side('1'), await side('2'))
    },
  },
  {
    name: 'attributes of 60 MB, in one file and in 20,000',
    async make(repo) {
      const small = await repo.tree([
        { mode: '100644', name: '.gitattributes', sha: await repo.blob('* merge=union\n') },
      ])
      const side = async (text: string) =>
        repo.tree([
          { mode: '100644', name: '.gitattributes', sha: await repo.blob('[attr]a a\n*.x a\n'.repeat(4_000_000)) },
          ...Array.from({ length: 20_000 }, (_, n) => ({
            mode: '40000',
            name: `d${String(n).padStart(5, '0')}`,
            sha: small,
          })),
          { mode: '100644', name: 'text', sha: await repo.blob(`${text}\n`) },
        ])
      await repo.threeWay(await side('0'), await side('1'), await side('2'))
    },
  },
  {
    name: 'a .mailmap of 120 MB',
    async make(repo) {
      const line = (n: number) => `New Name ${n} <new${n}@example.test> <old${n}@example.test>\n`
      const text = Array.from({ length: 2_000_000 }, (_, n) => line(n)).join('')
      const base = await repo.files({ '.mailmap': text })
      await repo.mainAndWork(await repo.files({ '.mailmap': text, a: '1\n' }), base)
    },
  },
  {
    name: 'a pack of 400,000 objects',
    async make(repo) {
      function* stream() {
        yield 'commit refs/heads/main\nmark :1\ncommitter x <x@x> 1700000000 +0000\ndata 1\nr\nM 100644 inline a\ndata 2\n1\n\n'
        yield 'commit refs/heads/work\ncommitter x <x@x> 1700000001 +0000\ndata 1\nm\nfrom :1\n'
        for (let n = 0; n < 400_000; n++) {
          const text = `${n}`
          yield `M 100644 inline d${n % 500}/f${n}\ndata ${text.length}\n${text}\n`
        }
        yield '\n'
      }
      await repo.import(stream())
    },
  },
]
