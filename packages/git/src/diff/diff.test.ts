import { afterAll, describe, expect, test } from 'bun:test'
import { diffCommits, streamPatch, type DiffPair } from './diff.ts'
import { diffLimits, DiffReader } from './reader.ts'
import { git } from '../process/git.ts'
import type { Repository } from '../repository.ts'
import { commit, makeRepo, type Files, type TestRepository } from '../testing.ts'

const made: TestRepository[] = []
afterAll(async () => {
  for (const repo of made) await repo.remove()
}, 120_000)

async function changed(
  start: Files,
  change: Files,
  options: { format?: 'sha1' | 'sha256' } = {},
): Promise<{ repo: TestRepository; pair: DiffPair }> {
  const repo = await makeRepo({ main: start, work: change }, options)
  made.push(repo)
  return { repo, pair: { baseSha: await repo.tip('main'), headSha: await repo.tip('work') } }
}

async function text(repo: Repository, pair: DiffPair): Promise<string> {
  return new Response(await streamPatch(repo, pair)).text()
}

const file = (path: string, status: string, additions: number, deletions: number, more: object = {}) => ({
  path,
  old_path: null,
  status,
  additions,
  deletions,
  binary: false,
  ...more,
})

describe('diffCommits', () => {
  test('ignores whitespace, and lists the files that have no other change', async () => {
    const { repo, pair } = await changed(
      {
        'block.ts': 'if (a) {\nb()\n}\nc()\n',
        'indent.ts': 'a\nb\n',
        'lines.txt': 'a\r\nb\r\n',
        'run.sh': 'a\n',
        'old.txt': '1\n2\n3\n4\n5\n',
        'bin.dat': 'a\0 b',
      },
      {
        'block.ts': 'if (a) {\n  b()\n}\nd()\n',
        'indent.ts': '\ta\n  b\n',
        'lines.txt': 'a\nb\n',
        'run.sh': { mode: '100755', content: ' a\n' },
        'old.txt': null,
        'new.txt': '1\n2\n3\n  4\n5\n',
        'bin.dat': 'a\0b',
        'blank.txt': '  \n',
      },
    )
    const diff = await diffCommits(repo, { ...pair, ignoreWhitespace: true, renames: true })
    expect(diff.files).toEqual([
      file('bin.dat', 'modified', 0, 0, { binary: true, old_size: 4, new_size: 3 }),
      file('blank.txt', 'added', 1, 0),
      file('block.ts', 'modified', 1, 1),
      file('new.txt', 'renamed', 0, 0, { old_path: 'old.txt' }),
      file('run.sh', 'modified', 0, 0),
    ] as never)
    expect(diff).toMatchObject({ files_changed: 5, additions: 2, deletions: 1, truncated: false })
    expect(diff.whitespace_only).toEqual(['indent.ts', 'lines.txt'])
    expect(diff.patch).not.toContain('indent.ts')
    expect(diff.patch).toContain('   b()')
    expect(await text(repo, { ...pair, ignoreWhitespace: true, renames: true })).toBe(diff.patch)
    // Kept apart from the answer that tells all.
    const all = await diffCommits(repo, { ...pair, renames: true })
    expect(all).toMatchObject({ files_changed: 7, whitespace_only: [] })

    const other = await changed({ a: 'x\n' }, { a: ' x\n' })
    const none = await diffCommits(other.repo, { ...other.pair, ignoreWhitespace: true })
    expect(none).toMatchObject({ files: [], files_changed: 0, patch: '', whitespace_only: ['a'] })
  })

  test('reports files that are added, modified, deleted, binary, empty, or of another mode or type', async () => {
    const { repo, pair } = await changed(
      { 'mod.txt': '1\n2\n3\n', 'gone.txt': 'x\n', 'bin.dat': 'a\0b', 'run.sh': 'x\n', 'was-file': 'x\n', same: 'x\n' },
      {
        'mod.txt': '1\ntwo\n3\n4\n',
        'gone.txt': null,
        'bin.dat': 'a\0c',
        'run.sh': { mode: '100755', content: 'x\n' },
        'was-file': { mode: '120000', content: 'same' },
        'new.txt': 'a\nb',
        empty: '',
      },
    )
    const diff = await diffCommits(repo, pair)
    expect(diff.files).toEqual([
      file('bin.dat', 'modified', 0, 0, { binary: true, old_size: 3, new_size: 3 }),
      file('empty', 'added', 0, 0),
      file('gone.txt', 'deleted', 0, 1),
      file('mod.txt', 'modified', 2, 1),
      file('new.txt', 'added', 2, 0),
      file('run.sh', 'modified', 0, 0),
      file('was-file', 'modified', 1, 1),
    ] as never)
    expect(diff).toMatchObject({
      base_sha: pair.baseSha,
      head_sha: pair.headSha,
      merge_base: pair.baseSha,
      files_changed: 7,
      additions: 5,
      deletions: 3,
      truncated: false,
    })
    expect(diff.patch).toBe(await text(repo, pair))
    expect(diff.patch).toContain('old mode 100644\nnew mode 100755')
  })

  test('compares with the merge base, not with the tip of the base', async () => {
    const { repo, pair } = await changed({ a: '1\n' }, { b: '2\n' })
    const baseSha = await commit(repo, 'main', { c: '3\n' })
    expect(await diffCommits(repo, { ...pair, baseSha })).toMatchObject({
      merge_base: pair.baseSha,
      files: [{ path: 'b' }],
    })
  })

  test('produces a patch that applies', async () => {
    const { repo, pair } = await changed(
      { a: '1\n', b: '2\n', 'dir/c': 'x\ny\n' },
      { a: null, b: 'two\n', 'dir/c': 'x\nz\n', d: 'new' },
    )
    const { patch } = await diffCommits(repo, pair)
    const env = { GIT_INDEX_FILE: `${repo.dir}/apply.index` }
    await git(repo.dir, ['read-tree', pair.baseSha], { env })
    await git(repo.dir, ['apply', '--cached', '-'], { env, input: patch, cwd: repo.dir })
    const tree = (await git(repo.dir, ['write-tree'], { env })).stdout.toString()
    expect(tree).toBe((await git(repo.dir, ['rev-parse', `${pair.headSha}^{tree}`])).stdout.toString())
  })

  test('reports a rename as two files, or on request as one with its old path', async () => {
    const content = Array.from({ length: 20 }, (_, index) => `line ${index}\n`).join('')
    const { repo, pair } = await changed(
      { 'old/name.txt': content },
      { 'old/name.txt': null, 'new/na"me\t.txt': `${content}more\n` },
    )
    expect((await diffCommits(repo, pair)).files).toEqual([
      file('new/na"me\t.txt', 'added', 21, 0),
      file('old/name.txt', 'deleted', 0, 20),
    ] as never)
    expect((await diffCommits(repo, { ...pair, renames: true })).files).toEqual([
      file('new/na"me\t.txt', 'renamed', 1, 0, { old_path: 'old/name.txt' }),
    ] as never)
  })

  test('handles odd file names', async () => {
    const names = [
      'new\nline',
      'quo"te',
      'tab\there',
      '-dash',
      ' space ',
      'ünï/çødé',
      'back\\slash',
      ':colon',
      'bell\u0007',
      '\u007f',
      '{a => b}',
    ]
    const { repo, pair } = await changed({ x: '1\n' }, Object.fromEntries(names.map((name) => [name, '1\n'])))
    expect((await diffCommits(repo, pair)).files.map(({ path }) => path).sort()).toEqual([...names].sort())
    const bytes = await changed({ x: '1\n' }, { '"caf\\351.txt"': '1\n', '"caf\\350\\n.txt"': '1\n' })
    expect((await diffCommits(bytes.repo, bytes.pair)).files.map(({ path }) => path)).toEqual([
      '"caf\\350\\012.txt"',
      '"caf\\351.txt"',
    ])
  })

  test('compares unrelated histories with an empty tree', async () => {
    for (const format of ['sha1', 'sha256'] as const) {
      const { repo, pair } = await changed({ a: '1\n' }, {}, { format })
      const headSha = await commit(repo, 'other', { b: '2\n' }, { orphan: true })
      expect(await diffCommits(repo, { ...pair, headSha })).toMatchObject({
        merge_base: null,
        files: [{ path: 'b', status: 'added', additions: 1 }],
      })
    }
  })

  test('returns an empty diff when nothing changed', async () => {
    const { repo, pair } = await changed({ a: '1\n' }, { b: '1\n' })
    expect(await diffCommits(repo, { baseSha: pair.headSha, headSha: pair.baseSha })).toMatchObject({
      files: [],
      patch: '',
      truncated: false,
    })
  })

  test('shows a moved submodule as one line', async () => {
    const at = (digit: string) => ({ mode: '160000' as const, content: digit.repeat(40) })
    const { repo, pair } = await changed({ m: at('1') }, { m: at('2') })
    expect((await diffCommits(repo, pair)).files).toEqual([file('m', 'modified', 1, 1)] as never)
  })

  test('ignores attributes and settings of the repository', async () => {
    const { repo, pair } = await changed(
      { '.gitattributes': '* -diff\n*.txt diff=evil\n', 'a.txt': '1\n' },
      { 'a.txt': '2\n' },
    )
    await git(repo.dir, ['config', 'diff.evil.textconv', 'false'])
    await git(repo.dir, ['config', 'diff.external', 'false'])
    await git(repo.dir, ['config', 'diff.noprefix', 'true'])
    expect((await diffCommits(repo, pair)).patch).toContain('--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+2\n')
  })
})

describe('the limits of a diff', () => {
  test('truncates the patch by lines and keeps the list of files', async () => {
    const many = (count: number) => 'x\n'.repeat(count)
    const { repo, pair } = await changed({ x: '1\n' }, { a: many(100_000), b: many(100_000), c: many(100_000) })
    const diff = await diffCommits(repo, pair)
    expect(diff).toMatchObject({ truncated: true, files_changed: 3, additions: 300_000 })
    expect(diff.patch.match(/^diff --git .*$/gm)).toEqual(['diff --git a/a b/a', 'diff --git a/b b/b'])
    expect(diff.patch.endsWith('+x\n')).toBe(true)
  }, 120_000)

  test('keeps the head of the patch of a file that exceeds the limit alone', async () => {
    const { repo, pair } = await changed({ x: '1\n' }, { huge: 'x\n'.repeat(300_000) })
    const diff = await diffCommits(repo, pair)
    expect(diff).toMatchObject({ truncated: true, files: [{ path: 'huge', additions: 300_000 }] })
    expect(diff.patch).toStartWith('diff --git a/huge b/huge\nnew file mode 100644\n')
    expect(diff.patch).not.toContain('@@')
  }, 120_000)

  test('truncates the patch by files and keeps the list of files', async () => {
    const files: Files = {}
    for (let i = 0; i < diffLimits.files + 10; i++) files[`f/${String(i).padStart(5, '0')}`] = `${i}\n`
    const { repo, pair } = await changed({ x: '1\n' }, files)
    const diff = await diffCommits(repo, pair)
    expect(diff).toMatchObject({ truncated: true, files_changed: diffLimits.files + 10 })
    expect(diff.patch.match(/^diff --git /gm)).toHaveLength(diffLimits.files)
  }, 120_000)

  test('treats a file that is too large to compare as binary', async () => {
    const large = Buffer.alloc(60 * 1024 * 1024, 'all work and no play makes a dull diff\n')
    const other = Buffer.from(large)
    other.write('changed')
    const { repo, pair } = await changed({ big: large }, { big: other })
    expect((await diffCommits(repo, pair)).files).toEqual([
      file('big', 'modified', 0, 0, { binary: true, old_size: large.length, new_size: large.length }),
    ] as never)
  }, 120_000)

  test('parses the list correctly, however it is split into chunks', async () => {
    const output = Buffer.from(
      `:000000 100644 ${'0'.repeat(40)} ${'1'.repeat(40)} A\ta\n:100644 100644 ${'1'.repeat(40)} ${'2'.repeat(40)} M\t"b\\n"\n1\t0\ta\n2\t3\t"b\\n"\n\ndiff --git a/a b/a\n+1\ndiff --git "a/b\\n" "b/b\\n"\n+2\n\n`,
    )
    for (let size = 1; size < output.length; size++) {
      const reader = new DiffReader()
      for (let at = 0; at < output.length; at += size) expect(reader.take(output.subarray(at, at + size))).toBe(true)
      const { files, patch } = await reader.finish(true)
      expect(files).toEqual([file('a', 'added', 1, 0), file('b\n', 'modified', 2, 3)] as never)
      expect(patch).toBe(output.subarray(output.indexOf('diff --git')).toString())
    }
  })
})

describe('streamPatch', () => {
  test('ends the stream of a patch when its reader leaves early', async () => {
    const { repo, pair } = await changed(
      { x: '1\n' },
      { big: Array.from({ length: 400_000 }, (_, index) => `${index}\n`).join('') },
    )
    const reader = (await streamPatch(repo, pair)).getReader()
    await reader.read()
    await reader.cancel()
    const running = () => Bun.spawnSync(['pgrep', '-f', `git-dir=${repo.dir} diff-tree`]).stdout.toString()
    const deadline = Date.now() + 30_000
    while (running() !== '' && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(running()).toBe('')
  }, 120_000)

  test('fails the stream of a patch for an unknown commit', async () => {
    const { repo, pair } = await changed({ x: '1\n' }, { y: '1\n' })
    await expect(text(repo, { ...pair, headSha: 'f'.repeat(40) })).rejects.toThrow()
  })
})
