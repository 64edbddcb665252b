import { describe, expect, test } from 'bun:test'
import { commitFilesOnBranch } from './commit-files.ts'
import { git } from '../process/git.ts'
import { commit, makeRepo } from '../testing.ts'

const author = { name: 'svc', email: 'noreply@svc.invalid' }
const at = new Date('2026-01-02T03:04:05Z')

describe('committing files', () => {
  test('changes only that file, on a branch of its own', async () => {
    const repo = await makeRepo({
      main: { 'svc.toml': 'a\n', 'x/y.txt': 'y\n', 'ü.txt': 'u\n', run: { mode: '100755', content: '' } },
    })
    const text = async (...args: string[]) => (await git(repo.dir, args)).stdout.toString().trim()
    const parent = await text('rev-parse', 'refs/heads/main')
    const made = await commitFilesOnBranch(repo, {
      ...{
        parent,
        branch: 'svc/edit',
        files: [{ path: 'svc.toml', content: 'b\n' }],
        message: 'Edit it\n',
        author,
        at,
      },
    })
    expect(made).toEqual({ kind: 'created', sha: await text('rev-parse', 'refs/heads/svc/edit') })
    expect(await text('diff', '--name-status', 'main', 'svc/edit')).toBe('M\tsvc.toml')
    expect(await text('show', 'svc/edit:svc.toml')).toBe('b')
    expect(await text('log', '-1', '--format=%an <%ae> %aI %s %P', 'svc/edit')).toBe(
      `svc <noreply@svc.invalid> 2026-01-02T03:04:05+00:00 Edit it ${parent}`,
    )
    await git(repo.dir, ['fsck', '--strict'])
    await repo.remove()
  })

  test('adds a missing file, and keeps an existing branch unchanged', async () => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    const parent = (await git(repo.dir, ['rev-parse', 'refs/heads/main'])).stdout.toString().trim()
    const input = { parent, branch: 'edit', files: [{ path: 'svc.toml', content: 'b\n' }], message: 'm', author, at }
    expect((await commitFilesOnBranch(repo, input)).kind).toBe('created')
    await commit(repo, 'edit', { other: 'x' })
    expect((await commitFilesOnBranch(repo, { ...input, files: [{ path: 'svc.toml', content: 'c\n' }] })).kind).toBe(
      'exists',
    )
    await repo.remove()
  })

  test('changes a file in a folder, and keeps its mode, its line endings and the other files', async () => {
    const script = { mode: '100755', content: 'a\r\n' } as const
    const repo = await makeRepo({
      main: { 'a/b/run.sh': script, 'a/b/c.txt': 'c\n', 'a/d.txt': 'd\n', 'e.txt': 'e\n' },
    })
    const text = async (...args: string[]) => (await git(repo.dir, args)).stdout.toString()
    const parent = (await text('rev-parse', 'refs/heads/main')).trim()
    const input = { parent, message: 'm', author, at }
    await commitFilesOnBranch(repo, { ...input, branch: 'edit', files: [{ path: 'a/b/run.sh', content: 'a\r\nb' }] })
    expect(await text('diff', '--raw', '--abbrev=4', 'main', 'edit')).toMatch(
      /^:100755 100755 \S+ \S+ M\ta\/b\/run\.sh\n$/,
    )
    expect(await text('show', 'edit:a/b/run.sh')).toBe('a\r\nb')
    await commitFilesOnBranch(repo, { ...input, branch: 'new', files: [{ path: 'a/new/deep.txt', content: 'n\n' }] })
    expect(await text('diff', '--name-status', 'main', 'new')).toBe('A\ta/new/deep.txt\n')
    await git(repo.dir, ['fsck', '--strict'])
    await repo.remove()
  })

  test('changes no other file whose name ends like it, after a tab', async () => {
    const repo = await makeRepo({ main: { 'a\tbar': 'tab\n', bar: 'bar\n' } })
    const text = async (...args: string[]) => (await git(repo.dir, args)).stdout.toString()
    const parent = (await text('rev-parse', 'refs/heads/main')).trim()
    await commitFilesOnBranch(repo, {
      parent,
      message: 'm',
      author,
      at,
      branch: 'edit',
      files: [{ path: 'bar', content: 'b\n' }],
    })
    expect(await text('diff', '--name-status', 'main', 'edit')).toBe('M\tbar\n')
    await git(repo.dir, ['fsck', '--strict'])
    await repo.remove()
  })

  test('makes the first commit of an empty repository, with files in folders', async () => {
    const repo = await makeRepo({})
    const text = async (...args: string[]) => (await git(repo.dir, args)).stdout.toString()
    const files = [
      { path: 'README.md', content: '# Hello\n' },
      { path: 'src/a.txt', content: 'a\r\n' },
      { path: 'src/b.txt', content: '' },
    ]
    const input = { parent: null, branch: 'main', files, message: 'First commit\n', author, at }
    const made = await commitFilesOnBranch(repo, input)
    expect(made).toEqual({ kind: 'created', sha: (await text('rev-parse', 'refs/heads/main')).trim() })
    expect(await text('ls-tree', '-r', '--name-only', 'main')).toBe('README.md\nsrc/a.txt\nsrc/b.txt\n')
    expect(await text('show', 'main:src/a.txt')).toBe('a\r\n')
    expect(await text('log', '--format=%s|%P', 'main')).toBe('First commit|\n')
    await git(repo.dir, ['fsck', '--strict'])
    expect((await commitFilesOnBranch(repo, { ...input, files: files.slice(1) })).kind).toBe('exists')
    await repo.remove()
  })

  test.each(['', '/x', 'a//b', '../x', 'a/.git/config', '.'])('refuses the path %j', async (path) => {
    const repo = await makeRepo({ main: { a: '1\n' } })
    const parent = (await git(repo.dir, ['rev-parse', 'refs/heads/main'])).stdout.toString().trim()
    const input = { parent, branch: 'edit', files: [{ path, content: 'b\n' }], message: 'm', author, at }
    expect(commitFilesOnBranch(repo, input)).rejects.toThrow('Not a path of a file')
    await repo.remove()
  })
})
