/** Objects and refs that git would not write. */
import { deflateSync } from 'node:zlib'
import type { Hostile } from './programs.ts'
import type { Entry, HostileRepository } from './repository.ts'

async function entries(repo: HostileRepository, list: [mode: string, name: string | Buffer][]): Promise<Entry[]> {
  const sha = await repo.blob('content\n')
  return list.map(([mode, name]) => ({ mode, name, sha }))
}

const odd = (name: string, list: [string, string | Buffer][], more: Partial<Hostile> = {}): Hostile => ({
  name,
  ...more,
  async make(repo) {
    await repo.mainAndWork(await repo.tree(await entries(repo, list)))
  },
})

export const malformed: Hostile[] = [
  odd(
    'a tree with `..`, `.`, nothing and slashes for names',
    [
      ['100644', ''],
      ['100644', '.'],
      ['100644', '..'],
      ['100644', '../../escaped'],
      ['100644', '/etc/passwd'],
    ],
    { small: true, paths: ['..', '../../escaped', '/etc/passwd'] },
  ),
  {
    name: 'attribute files below `..`, on the side that is merged into',
    async make(repo) {
      const attributes = await repo.blob('* merge=union\n')
      const inner = await repo.tree([{ mode: '100644', name: '.gitattributes', sha: attributes }])
      const side = async (text: string) =>
        repo.tree([
          { mode: '40000', name: '..', sha: inner },
          { mode: '40000', name: '.git', sha: inner },
          { mode: '100644', name: 'text', sha: await repo.blob(`${text}\n`) },
        ])
      await repo.threeWay(await side('0'), await side('1'), await side('2'))
    },
  },
  odd('the same name again and again, as a file, a folder and a link, in no order', [
    ['100644', 'z'],
    ['100644', 'a'],
    ['100644', 'a'],
    ['40000', 'a'],
    ['120000', 'a'],
    ['100644', 'Z'],
  ]),
  odd(
    'modes that git does not know',
    [
      ['0', 'a'],
      ['100666', 'b'],
      ['104755', 'c'],
      ['060644', 'd'],
      ['170000', 'e'],
      ['0100644', 'f'],
      ['99999999999', 'g'],
    ],
    {},
  ),
  {
    name: 'entries whose objects are of another type than their modes say',
    async make(repo) {
      const blob = await repo.blob('content\n')
      const tree = await repo.files({ a: '1\n' })
      const commit = await repo.commit({ tree })
      await repo.mainAndWork(
        await repo.tree([
          { mode: '40000', name: 'blob-as-tree', sha: blob },
          { mode: '40000', name: 'commit-as-tree', sha: commit },
          { mode: '100644', name: 'tree-as-blob', sha: tree },
          { mode: '160000', name: 'tree-as-commit', sha: tree },
        ]),
      )
    },
    paths: ['blob-as-tree', 'tree-as-blob', 'commit-as-tree'],
  },
  {
    name: 'commits without author, date, tree or an end',
    async make(repo) {
      const { main } = await repo.mainAndWork(await repo.files({ a: '2\n' }))
      const tree = await repo.files({ a: '3\n' })
      const bodies = [
        `tree ${tree}\n`,
        `tree ${tree}\nparent ${main}\n\nm\n`,
        `tree ${tree}\nparent ${main}\nauthor \0<> 99999999999999999999 +9999999\ncommitter <<>> -1 -x\n\nm\n`,
        `author x <x> 0 +0000\ntree ${tree}\nparent ${main}\n\nm\n`,
        `tree ${'0'.repeat(40)}\nparent ${'0'.repeat(40)}\nauthor x <x> 0 +0000\ncommitter x <x> 0 +0000\n\nm\n`,
      ]
      let last = main
      for (const [n, body] of bodies.entries()) {
        last = await repo.object('commit', Buffer.from(body))
        await repo.ref(`refs/heads/bad-${n}`, last)
      }
      await repo.ref('refs/heads/work', await repo.object('commit', Buffer.from(bodies[2]!)))
    },
  },
  {
    name: 'dates before and after all time, and zones of a thousand hours',
    async make(repo) {
      const tree = await repo.files({ a: '1\n' })
      let parent = await repo.commit({ tree, author: 'x <x@x> 1 +0000' })
      await repo.ref('refs/heads/main', parent)
      for (const date of ['18446744073709551615 +0000', '9223372036854775807 -9999', '99999999999 +1400', '0 -0000'])
        parent = await repo.commit({
          tree: await repo.files({ a: date }),
          parents: [parent],
          author: `x <x@x> ${date}`,
        })
      await repo.ref('refs/heads/work', parent)
    },
  },
  {
    name: 'messages with NUL, escape sequences, bidi and an encoding nobody knows',
    async make(repo) {
      const main = await repo.commit({ tree: await repo.files({ a: '1\n' }) })
      const message = Buffer.concat([
        Buffer.from('\u001b]0;owned\u0007\u202eevil\u2066 '),
        Buffer.from([0xff, 0xfe, 0x80]),
        Buffer.from('\nafter\u0000the end\nCo-authored-by: x\n'),
      ])
      const work = await repo.commit({
        tree: await repo.files({ a: '2\n' }),
        parents: [main],
        message,
        headers: 'encoding ../../../../tmp/evil\nencoding UTF-7\nx-evil \u0001\n',
        author: '\u001b[31m\u202e"><img src=x> <a\u0001b> 1700000000 +0000',
      })
      await repo.branches(main, work)
    },
  },
  {
    name: 'names with control characters, options, no UTF-8, bidi and 4 KB',
    paths: ['-rf', '--output=/tmp/svc-hostile', ':(attr:x)', ':/', 'a\nb'],
    async make(repo) {
      const sha = await repo.blob('content\n')
      const names: (string | Buffer)[] = [
        '-rf',
        '--output=/tmp/svc-hostile',
        ':(attr:x)',
        ':/',
        'a\nb',
        'a\tb',
        '\u001b[2J',
        '\u202egpj.exe',
        Buffer.from([0xff, 0xfe]),
        Buffer.from([0x61, 0xe2, 0x80]),
        'n'.repeat(4090),
        '"quoted" \\ name',
        'COM1',
        'a b',
      ]
      const sorted = names.map((name) => Buffer.from(name as string)).toSorted(Buffer.compare)
      await repo.mainAndWork(await repo.tree(sorted.map((name) => ({ mode: '100644', name, sha }))))
    },
  },
  {
    name: 'branches that are no commits: a file, a tree, a tag of a tag',
    async make(repo) {
      const { main, work } = await repo.mainAndWork(await repo.files({ a: '2\n' }))
      const tag = (object: string, type: string) =>
        repo.object('tag', Buffer.from(`object ${object}\ntype ${type}\ntag t\ntagger x <x> 0 +0000\n\nm\n`))
      let chain = await tag(work, 'commit')
      for (let n = 0; n < 50; n++) chain = await tag(chain, 'tag')
      await repo.ref('refs/heads/a-file', await repo.blob('content\n'))
      await repo.ref('refs/heads/a-tree', await repo.files({ a: '1\n' }))
      await repo.ref('refs/heads/a-tag', chain)
      await repo.ref('refs/tags/chain', chain)
      await repo.place('packed-refs', `${main} refs/heads/packed\n^${main}\nnonsense\n`)
    },
  },
  {
    name: 'objects that are cut, of another name, or not compressed at all',
    async make(repo) {
      const { main } = await repo.mainAndWork(await repo.files({ a: '2\n' }))
      const cut = await repo.blob('x'.repeat(100_000))
      await repo.looseFile(cut, deflateSync(Buffer.from('blob 100000\0xxx')).subarray(0, 12))
      const other = '3'.repeat(40)
      await repo.looseFile(other, deflateSync(Buffer.from('blob 2\0x\n')))
      const plain = '4'.repeat(40)
      await repo.looseFile(plain, Buffer.from('blob 2\0x\n'))
      const tree = await repo.tree(
        [cut, other, plain, '5'.repeat(40)].map((sha, n) => ({ mode: '100644', name: `f${n}`, sha })),
      )
      await repo.ref('refs/heads/work', await repo.commit({ tree, parents: [main] }))
    },
    small: true,
  },
  {
    name: 'a history with holes: a tree, a file and a parent that are not there',
    async make(repo) {
      const main = await repo.commit({ tree: await repo.files({ a: '1\n' }) })
      await repo.ref('refs/heads/main', main)
      const hole = '6'.repeat(40)
      await repo.ref('refs/heads/no-tree', await repo.commit({ tree: hole, parents: [main] }))
      await repo.ref('refs/heads/no-parent', await repo.commit({ tree: await repo.files({}), parents: [hole] }))
      const tree = await repo.tree([{ mode: '100644', name: 'gone', sha: hole }])
      await repo.ref('refs/heads/work', await repo.commit({ tree, parents: [main] }))
    },
  },
  {
    name: 'refs with names of 4 KB, of options and of nothing',
    async make(repo) {
      const { main, work } = await repo.mainAndWork(await repo.files({ a: '2\n' }))
      const names = [
        '-x',
        '--upload-pack=evil',
        '+main',
        'HEAD',
        'refs/heads/main',
        'a'.repeat(40),
        `${'d/'.repeat(1800)}deep`,
        'x'.repeat(4000),
        '$(id)',
        '`id`',
        '\u202emain',
      ]
      const lines = names.map((name) => `${work} refs/heads/${name}\n`).toSorted()
      await repo.place('packed-refs', `# pack-refs with: peeled fully-peeled \n${lines.join('')}`)
      await repo.ref('refs/heads/main', main)
    },
  },
]
