import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { git, gitLine } from '../process/git.ts'
import { attributeFilesMax, attributeFoldersMax } from './attributes.ts'
import { findStray, readComparisons } from './check.ts'
import { conflictedFiles } from '../formats/conflicts.ts'
import { planMerge } from './merge.ts'
import { readBlobs } from '../objects/object-reader.ts'
import type { Sha } from '../repository.ts'
import { endPooledGit } from '../process/pooled-git.ts'
import { makeRepo, type TestRepository, yieldsToOthers } from '../testing.ts'

/** Merges of very many files, and of attributes without end: whoever asks nothing of them must not wait for them. */

const sha = 'a'.repeat(40)
const paths = Array.from({ length: 40_000 }, (_, n) => `folder/of/files/f${String(n).padStart(6, '0')}`)

describe('processing the output of a merge of 40,000 files', () => {
  test('yields to other work while it reads conflicts', async () => {
    const records = paths.flatMap((path) => [1, 2, 3].map((stage) => `100644 ${sha} ${stage}\t${path}`))
    const messages = paths.flatMap((path) => ['1', path, 'CONFLICT (contents)', `CONFLICT (content): in ${path}\n`])
    let files: string[] = []
    const turns = await yieldsToOthers(async () => {
      files = await conflictedFiles([...records, '', ...messages, ''])
    })
    expect(files).toEqual(paths)
    expect(turns).toBeGreaterThan(5)
  })

  test('yields to other work while it checks the result', async () => {
    const answer = (of: string[]) =>
      [sha, ...of.flatMap((path) => [`:100644 100644 ${sha} ${sha} M`, path])].map((field) => `${field}\0`).join('')
    const [byHead, byBase] = [paths.slice(0, 30_000), paths.slice(30_000)]
    let [read, stray]: [unknown[][], unknown] = [[], '']
    const turns = await yieldsToOthers(async () => {
      const all = await readComparisons(Buffer.from([byHead, byBase, byHead, byBase].map(answer).join('')))
      read = all
      stray = await findStray({ byHead: all[0]!, byBase: all[1]!, overBase: all[2]!, overHead: all[3]! })
    })
    expect(read.map((changes) => changes.length)).toEqual([30_000, 10_000, 30_000, 10_000])
    expect(stray).toBeNull()
    expect(turns).toBeGreaterThan(5)
  })
})

describe('limits of .gitattributes', () => {
  let repo: TestRepository
  const blob = (text: string) => gitLine(repo.dir, ['hash-object', '-w', '--stdin'], { input: text })
  const tree = (entries: string[]) => gitLine(repo.dir, ['mktree'], { input: `${entries.join('\n')}\n` })
  const commitTree = (of: Sha, ...parents: Sha[]) =>
    gitLine(repo.dir, ['commit-tree', of, ...parents.flatMap((parent) => ['-p', parent])], {
      input: 'c\n',
      env: Object.fromEntries(
        ['AUTHOR', 'COMMITTER'].flatMap((who) => [
          [`GIT_${who}_NAME`, 'x'],
          [`GIT_${who}_EMAIL`, 'x@x'],
        ]),
      ),
    })

  beforeAll(async () => {
    repo = await makeRepo({ main: { 'a.txt': '1\n' } })
  })
  afterAll(async () => {
    await endPooledGit()
    await repo.remove()
  })

  /** Both sides change a file, so that attributes could have a say. */
  async function threeWay(more: string[]): Promise<{ baseSha: Sha; headSha: Sha }> {
    const lines = (first: string, last: string) => `${first}\n${'line\n'.repeat(20)}${last}\n`
    const side = async (text: string) => tree([...more, `100644 blob ${await blob(text)}\ttext`])
    const root = await commitTree(await side(lines('0', '0')))
    return {
      baseSha: await commitTree(await side(lines('1', '0')), root),
      headSha: await commitTree(await side(lines('0', '1')), root),
    }
  }
  const merge = (pair: { baseSha: Sha; headSha: Sha }) => planMerge(repo, { ...pair, message: 'm', date: new Date(0) })

  test('refuses more .gitattributes files than any repository has before it lists all of them', async () => {
    const small = await tree([`100644 blob ${await blob('* merge=union\n')}\t.gitattributes`])
    const folders = (of: Sha, count: number) =>
      tree(Array.from({ length: count }, (_, n) => `040000 tree ${of}\td${n}`))
    const thousand = await folders(small, 1000)
    const many = await folders(thousand, attributeFilesMax / 1000 + 1)
    const refused = merge(
      await threeWay([`100644 blob ${await blob('* merge=union\n')}\t.gitattributes`, `040000 tree ${many}\tmany`]),
    )
    await expect(refused).rejects.toThrow(`more than ${attributeFilesMax} .gitattributes files`)
    // The limit also holds for 16 billion.
    let endless = many
    for (let level = 0; level < 2; level++) endless = await folders(endless, 500)
    const refusedToo = merge(
      await threeWay([`100644 blob ${await blob('* merge=union\n')}\t.gitattributes`, `040000 tree ${endless}\tmany`]),
    )
    await expect(refusedToo).rejects.toThrow(/more than .* \.gitattributes files/)
  })

  test('refuses a .gitattributes file that is too large without buffering it', async () => {
    const large = await blob('[attr]a a\n*.x a\n'.repeat(2_000_000))
    const glued = spyOn(Buffer, 'concat')
    try {
      expect(await readBlobs(repo, [large])).toBeNull()
      // Each call makes a buffer of what came so far and a piece: a gigabyte, if it went on to the end.
      const bytes = glued.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0)
      expect(bytes).toBeLessThan(200 * 1024 * 1024)
    } finally {
      glued.mockRestore()
    }
    const pair = await threeWay([`100644 blob ${large}\t.gitattributes`])
    await expect(merge(pair)).rejects.toThrow(
      'The .gitattributes files of this repository are larger than 8 MB together.',
    )
  })

  test('refuses .gitattributes files below too many folders', async () => {
    const union = `100644 blob ${await blob('* merge=union\n')}\t.gitattributes`
    let deep = await tree([union])
    for (let level = 0; level < 99; level++) deep = await tree([`040000 tree ${deep}\td`])
    const many = await tree(Array.from({ length: 2600 }, (_, n) => `040000 tree ${deep}\td${n}`))
    const refused = merge(await threeWay([union, `040000 tree ${many}\tmany`]))
    await expect(refused).rejects.toThrow(`more than ${attributeFoldersMax} folders on the way to .gitattributes files`)
  })

  test('ignores .gitattributes files that are too deep for a work tree, as git does', async () => {
    const union = `100644 blob ${await blob('* merge=union\n')}\t.gitattributes`
    let deep = await tree([union])
    for (let level = 0; level < 50; level++) deep = await tree([`040000 tree ${deep}\t${'d'.repeat(100)}`])
    const made = await merge(await threeWay([union, `040000 tree ${deep}\tdeep`]))
    expect(made.kind).toBe('merge-commit')
  })

  test('applies .gitattributes files of a reasonable size in thousands of folders', async () => {
    const small = await tree([
      `100644 blob ${await blob('* merge=union\n')}\t.gitattributes`,
      `100644 blob ${await blob('1\n')}\tfile`,
    ])
    const of = async (text: string) => {
      const changed = await tree([
        `100644 blob ${await blob('* merge=union\n')}\t.gitattributes`,
        `100644 blob ${await blob(text)}\tfile`,
      ])
      return tree([
        ...Array.from({ length: 2000 }, (_, n) => `040000 tree ${small}\td${n}`),
        `040000 tree ${changed}\tz`,
      ])
    }
    const root = await commitTree(await of('0\n'))
    const made = await merge({
      baseSha: await commitTree(await of('ours\n'), root),
      headSha: await commitTree(await of('theirs\n'), root),
    })
    if (made.kind !== 'merge-commit') throw new Error(made.kind)
    const { stdout } = await git(repo.dir, ['cat-file', 'blob', `${made.treeSha}:z/file`])
    expect(stdout.toString()).toBe('ours\ntheirs\n')
  })
})
