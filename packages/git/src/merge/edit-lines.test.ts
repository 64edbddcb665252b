import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { git } from '../process/git.ts'
import { commit, makeRepo, type TestRepository } from '../testing.ts'
import { editLines, type LineEdit } from './edit-lines.ts'

const author = { name: 'Ada', email: 'ada@example.test' }
const committer = { name: 'svc', email: 'noreply@svc.invalid' }
const at = new Date('2026-01-02T03:04:05Z')

let repo: TestRepository
let parent: string
beforeAll(async () => {
  repo = await makeRepo({
    main: {
      'a.txt': 'one\ntwo\nthree\n',
      'crlf.txt': 'one\r\ntwo\r\nthree',
      'latin1.txt': Buffer.from([0xe9, 10, 0xe8, 10]),
      'x/run': { mode: '100755', content: 'a\nb\n' },
      link: { mode: '120000', content: 'a.txt' },
      'image.bin': Buffer.from([0, 1, 2, 10]),
    },
  })
  parent = await repo.tip('main')
})
afterAll(() => repo.remove())

const edit = (edits: LineEdit[], from = parent) =>
  editLines(repo, { parent: from, edits, message: 'Edit\n', author, committer, at }, async ({ sha, treeSha, keep }) => {
    await keep()
    return { sha, treeSha }
  })
const text = async (...args: string[]) => (await git(repo.dir, args)).stdout.toString()

async function edited(...edits: LineEdit[]): Promise<string> {
  const made = await edit(edits)
  if (made.kind !== 'done') throw new Error(`Refused: ${made.kind}`)
  return made.value.sha
}

describe('editing lines', () => {
  test('writes one commit that changes only those lines, and moves no branch', async () => {
    const sha = await edited(
      { path: 'a.txt', first: 3, last: 3, lines: ['drei', 'vier'] },
      { path: 'a.txt', first: 1, last: 1, lines: [] },
      { path: 'x/run', first: 2, last: 2, lines: ['ü'] },
    )
    expect(await text('show', `${sha}:a.txt`)).toBe('two\ndrei\nvier\n')
    expect(await text('show', `${sha}:x/run`)).toBe('a\nü\n')
    expect(await text('ls-tree', sha, 'x/run')).toStartWith('100755 blob')
    expect(await text('diff', '--name-only', parent, sha)).toBe('a.txt\nx/run\n')
    expect(await text('log', '-1', '--format=%an <%ae> %cn %aI %s %P', sha)).toBe(
      `Ada <ada@example.test> svc 2026-01-02T03:04:05+00:00 Edit ${parent}\n`,
    )
    expect(await repo.tip('main')).toBe(parent)
    await git(repo.dir, ['fsck', '--strict'])
  })

  test('keeps line ends, a missing last one, and bytes that are no UTF-8', async () => {
    const sha = await edited(
      { path: 'crlf.txt', first: 2, last: 3, lines: ['zwei', 'drei'] },
      { path: 'latin1.txt', first: 2, last: 2, lines: ['è'] },
    )
    expect(await text('show', `${sha}:crlf.txt`)).toBe('one\r\nzwei\r\ndrei')
    expect([...(await git(repo.dir, ['show', `${sha}:latin1.txt`])).stdout]).toEqual([0xe9, 10, 0xc3, 0xa8, 10])
  })

  test('gives the tree of the parent when nothing changes', async () => {
    const made = await edit([{ path: 'a.txt', first: 2, last: 2, lines: ['two'] }])
    expect(made).toMatchObject({
      kind: 'done',
      value: { treeSha: (await text('rev-parse', `${parent}^{tree}`)).trim() },
    })
  })

  test.each<[string, LineEdit[], object]>([
    ['a missing file', [{ path: 'b.txt', first: 1, last: 1, lines: [] }], { kind: 'missing', at: 0 }],
    ['a link', [{ path: 'link', first: 1, last: 1, lines: [] }], { kind: 'not-text', at: 0 }],
    ['a binary file', [{ path: 'image.bin', first: 1, last: 1, lines: [] }], { kind: 'not-text', at: 0 }],
    ['lines past the end', [{ path: 'a.txt', first: 3, last: 4, lines: [] }], { kind: 'past-end', at: 0 }],
    [
      'lines that overlap',
      [
        { path: 'a.txt', first: 2, last: 3, lines: ['x'] },
        { path: 'a.txt', first: 1, last: 2, lines: ['y'] },
      ],
      { kind: 'overlap', at: 0 },
    ],
  ])('refuses %s', async (_, edits, refusal) => {
    expect(await edit(edits)).toEqual(refusal as never)
  })

  test('leaves no objects and folders behind when its work fails', async () => {
    const before = await text('count-objects')
    const failing = editLines(
      repo,
      {
        ...{ parent, message: 'No\n', author, committer, at },
        edits: [{ path: 'a.txt', first: 1, last: 1, lines: ['no'] }],
      },
      () => Promise.reject(new Error('refused')),
    )
    const failure = await failing.catch((error: Error) => error.message)
    expect(failure).toBe('refused')
    expect(await text('count-objects')).toBe(before)
  })

  test('works in a SHA-256 repository', async () => {
    const other = await makeRepo({ main: { a: '1\n' } }, { format: 'sha256' })
    const head = await commit(other, 'main', { b: '2\n' })
    const edits = [{ path: 'a', first: 1, last: 1, lines: ['3'] }]
    const made = await editLines(other, { parent: head, edits, message: 'm', author, committer, at }, async (done) => {
      await done.keep()
      return done.sha
    })
    if (made.kind !== 'done') throw new Error('Refused.')
    expect((await git(other.dir, ['show', `${made.value}:a`])).stdout.toString()).toBe('3\n')
    await other.remove()
  })
})
