import { afterAll, beforeAll, expect, test } from 'bun:test'
import { countApart, isContained, listCommits, listTree, readFileAt, streamFile } from './browse.ts'
import { pathBytes, pathText } from '../formats/paths.ts'
import { commit, makeRepo, type TestRepository } from '../testing.ts'

let repo: TestRepository
let sha: string
const latin = '"caf\\351.txt"'
beforeAll(async () => {
  repo = await makeRepo({
    main: {
      'a.txt': 'a\n',
      '*.txt': 'a star\n',
      ':(top)x': 'magic\n',
      '-dash': 'dash\n',
      'tab\there "quoted"': 'odd\n',
      'new\nline': 'line\n',
      '"\\"literally quoted\\""': 'quotes\n',
      [latin]: 'latin\n',
      '"d\\377r/in\\376side"': 'deep\n',
      'run.sh': { mode: '100755', content: '#!/bin/sh\n' },
      link: { mode: '120000', content: 'a.txt' },
      sub: { mode: '160000', content: '1'.repeat(40) },
      'dir/inner/deep.txt': 'deep\n',
      'bin.dat': new Uint8Array([1, 0, 2, 255]),
    },
  })
  sha = await repo.tip('main')
})
afterAll(() => repo.remove())

test('every listed path finds its own file', async () => {
  const root = (await listTree(repo, { sha, path: '' }))!
  expect(root.slice(0, 2).map(({ type }) => type)).toEqual(['directory', 'directory'])
  expect(root.find(({ name }) => name === 'run.sh')).toMatchObject({ type: 'executable', size: 10 })
  expect(root.find(({ name }) => name === 'sub')).toMatchObject({ type: 'submodule', size: null })
  for (const { path, type } of root) {
    const file = await readFileAt(repo, { sha, path })
    expect([path, file.kind]).toEqual([path, type === 'directory' || type === 'submodule' ? type : 'file'])
  }
  const text = async (path: string) => {
    const file = await readFileAt(repo, { sha, path })
    return file.kind === 'file' ? Buffer.from(file.content).toString() : file.kind
  }
  expect(await text('*.txt')).toBe('a star\n')
  expect(await text(':(top)x')).toBe('magic\n')
  expect(await text('-dash')).toBe('dash\n')
  expect(await text('new\nline')).toBe('line\n')
  expect(await text('"literally quoted"')).toBe('quotes\n')
  expect(await text(latin)).toBe('latin\n')
  expect(await text('link')).toBe('a.txt')
  const folder = root.find(({ type, name }) => type === 'directory' && name !== 'dir')!
  const [inside] = (await listTree(repo, { sha, path: folder.path }))!
  expect(inside).toMatchObject({ name: '"in\\376side"', path: '"d\\377r/in\\376side"' })
  expect(await text(inside!.path)).toBe('deep\n')
})

test('reports an invalid path as missing', async () => {
  for (const path of ['..', '../a.txt', './a.txt', 'dir//inner', 'a.txt/x', 'link/x', 'nothing', 'A.TXT', '?.txt'])
    expect([path, (await readFileAt(repo, { sha, path })).kind]).toEqual([path, 'missing'])
  for (const path of ['..', 'a.txt', 'link', 'sub', 'nothing', 'd*'])
    expect([path, await listTree(repo, { sha, path })]).toEqual([path, null])
  expect((await listTree(repo, { sha, path: '/dir/inner/' }))!.map(({ path }) => path)).toEqual(['dir/inner/deep.txt'])
})

test('finds a file by its path as text and by its bytes', () => {
  for (const bytes of [
    Buffer.from([0x63, 0xe9]),
    Buffer.from('"a"'),
    Buffer.from('é'),
    Buffer.from([0xff, 0x22, 0x5c]),
  ])
    expect(pathBytes(pathText(bytes))).toEqual(bytes)
})

test('the history of a file contains only its own commits, whatever its name is', async () => {
  const own = await makeRepo({ main: { 'a.txt': 'a\n', '*.txt': '1\n', [latin]: '1\n' } })
  const star = await commit(own, 'main', { '*.txt': '2\n' })
  const accent = await commit(own, 'main', { [latin]: '2\n' })
  const tip = await commit(own, 'main', { 'a.txt': 'b\n' })
  const of = async (path: string) => (await listCommits(own, { sha: tip, limit: 10, path })).map((entry) => entry.sha)
  expect((await of('*.txt')).slice(0, -1)).toEqual([star])
  expect((await of(latin)).slice(0, -1)).toEqual([accent])
  expect((await of('a.txt')).slice(0, -1)).toEqual([tip])
  expect(await of('nothing')).toEqual([])
  await own.remove()
})

test('finds only commits that a tip contains', async () => {
  const own = await makeRepo({ main: { 'a.txt': 'a\n' }, work: { 'b.txt': 'b\n' } })
  const [first, work] = [await own.tip('main'), await own.tip('work')]
  const main = await commit(own, 'main', { 'c.txt': 'c\n' })
  const blob = (await listTree(own, { sha: main, path: '' }))![0]!.sha
  const isIn = (one: string, tips: string[]) => isContained(own, { sha: one, tips })
  expect(await isIn(main, [work, main])).toBe(true)
  expect(await isIn(first, [work])).toBe(true)
  expect(await isIn(work, [main])).toBe(false)
  expect(await isIn(first, [])).toBe(false)
  expect(await isIn(blob, [main])).toBe(false)
  expect(await isIn('0'.repeat(40), [main])).toBe(false)
  expect(await countApart(own, { baseSha: main, headSha: work })).toEqual({ ahead: 1, behind: 1 })
  await own.remove()
})

test('truncates a file on request and streams it whole', async () => {
  const big = 'x'.repeat(200_000)
  const own = await makeRepo({ main: { big } })
  const file = await readFileAt(own, { sha: await own.tip('main'), path: 'big', bytesMax: 1000 })
  expect(file).toMatchObject({ kind: 'file', size: 200_000, truncated: true })
  if (file.kind !== 'file') return
  expect(file.content.length).toBe(1000)
  expect(await new Response(await streamFile(own, file.sha)).text()).toBe(big)
  await own.remove()
})
