import { afterAll, describe, expect, test } from 'bun:test'
import { listCommits, listTree, readFileAt } from './browse.ts'
import { commit, makeRepo } from '../testing.ts'

const repo = await makeRepo({
  main: {
    'README.md': '# hi\n',
    'src/a.ts': 'a\n',
    'src/deep/b.ts': 'b\n',
    'src/run': { mode: '100755', content: 'x\n' },
    link: { mode: '120000', content: 'README.md' },
    mod: { mode: '160000', content: '1'.repeat(40) },
    'bin.dat': 'a\0b',
    'odd "\n': 'odd\n',
    '*': 'star\n',
  },
})
afterAll(() => repo.remove())
const sha = await repo.tip('main')

describe('browsing', () => {
  test('lists a folder, with folders first', async () => {
    const root = await listTree(repo, { sha, path: '' })
    expect(root?.map(({ name, type }) => [name, type])).toEqual([
      ['src', 'directory'],
      ['*', 'file'],
      ['README.md', 'file'],
      ['bin.dat', 'file'],
      ['link', 'symlink'],
      ['mod', 'submodule'],
      ['odd "\n', 'file'],
    ])
    expect(await listTree(repo, { sha, path: '/src/' })).toMatchObject([
      { name: 'deep', path: 'src/deep', type: 'directory', size: null },
      { name: 'a.ts', path: 'src/a.ts', type: 'file', size: 2 },
      { name: 'run', path: 'src/run', type: 'executable' },
    ])
    for (const path of ['nowhere', 'README.md', '../etc', 'src/../src', 'src//deep', '.', 'a\0b'])
      expect(await listTree(repo, { sha, path })).toBeNull()
  })

  test('reads a file, truncated on request', async () => {
    const read = async (path: string, bytesMax?: number) => {
      const found = await readFileAt(repo, { sha, path, ...(bytesMax ? { bytesMax } : {}) })
      return found.kind === 'file' ? { ...found, content: new TextDecoder().decode(found.content), sha: '' } : found
    }
    expect(await read('README.md')).toEqual({
      kind: 'file',
      sha: '',
      mode: '100644',
      size: 5,
      content: '# hi\n',
      binary: false,
      truncated: false,
    })
    expect(await read('README.md', 2)).toMatchObject({ content: '# ', truncated: true, size: 5 })
    expect(await read('bin.dat')).toMatchObject({ binary: true })
    expect(await read('link')).toMatchObject({ mode: '120000', content: 'README.md' })
    expect(await read('odd "\n')).toMatchObject({ content: 'odd\n' })
    expect(await read('*')).toMatchObject({ content: 'star\n' })
    expect(await read('src')).toEqual({ kind: 'directory' })
    expect(await read('mod')).toEqual({ kind: 'submodule' })
    for (const path of ['nowhere', 'README.md/x', ':(glob)**', '../x', '-x'])
      expect(await read(path)).toEqual({ kind: 'missing' })
  })

  test('lists the history of a repository or a path, newest first, in pages', async () => {
    const second = await commit(repo, 'main', { 'src/a.ts': '2\n' }, { message: 'Second\n\nWith a body: ünï\n' })
    const third = await commit(repo, 'main', { 'README.md': '3\n' }, { message: 'Third' })
    const all = await listCommits(repo, { sha: third, limit: 10 })
    expect(all.map((one) => one.sha)).toEqual([third, second, sha])
    expect(all[1]).toMatchObject({
      parents: [sha],
      subject: 'Second',
      body: 'With a body: ünï',
      author_name: 'Test',
      author_email: 'test@svc.invalid',
    })
    expect(all[1]?.committed_at).toMatch(/^\d{4}-\d\d-\d\dT.*\.000Z$/)
    expect((await listCommits(repo, { sha: third, limit: 1, skip: 1 })).map((one) => one.sha)).toEqual([second])
    expect((await listCommits(repo, { sha: third, limit: 10, path: 'src' })).map((one) => one.sha)).toEqual([
      second,
      sha,
    ])
    // Nor is it an error: no commit has changed what no tree can hold.
    for (const path of ['..', '../../x', 'a/../b', './a'])
      expect(await listCommits(repo, { sha: third, limit: 10, path })).toEqual([])
    expect((await listCommits(repo, { sha: third, limit: 10, notIn: sha })).map((one) => one.sha)).toEqual([
      third,
      second,
    ])
  })
})
