/** Every kind of repository, odd branch names, and failing merges, all through the API. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { ChangeRequest, ChangeRequestDiff, ErrorBody, MergePreview, Project } from '@svc/contract'
import { commit, type Files, makeRepo, serveHttpBackend, tempDir } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../testing.ts'
import { gitText, testProject, type TestProject } from './testing.ts'

let app: TestApp
const closing: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(async () => {
  for (const close of closing.reverse()) await close()
  await app.close()
}, 120_000)

async function elsewhere(options: { format?: 'sha256'; file?: boolean }, files: Files): Promise<TestProject> {
  const repo = await makeRepo({ main: files }, options.format ? { format: options.format } : {})
  closing.push(repo.remove)
  const host = options.file ? null : await serveHttpBackend(repo.dir)
  if (host) closing.push(host.close)
  const made = await app.request<Project>('POST', '/v1/projects', {
    body: { name: 'elsewhere', repo_url: host?.url ?? `file://${repo.dir}` },
  })
  expect(made.status).toBe(201)
  return testProject(app, { project: made.body, repo })
}

const kinds: Record<string, (files: Files) => Promise<TestProject>> = {
  'kept by the service': async (files) => testProject(app, await app.managedProject(files as Record<string, string>)),
  'behind HTTP': (files) => elsewhere({}, files),
  'behind HTTP, with SHA-256': (files) => elsewhere({ format: 'sha256' }, files),
  'in a folder, with SHA-256': (files) => elsewhere({ format: 'sha256', file: true }, files),
}

/** The branch with the base's full ref as its name comes last: from then on both exist. */
const oddNames = ['-x', '+main', 'HEAD', 'a'.repeat(40), '--upload-pack=x', 'x$(id)', 'ünï/cödé', 'refs/heads/main']

describe.each(Object.keys(kinds))('a repository: %s', (kind) => {
  test('accepts heads and bases with every name that git accepts', async () => {
    const at = await kinds[kind]!({ 'README.md': 'hello\n' })
    for (const [n, name] of oddNames.entries()) {
      const before = await gitText(at.repo, 'for-each-ref', '--format=%(refname) %(objectname)')
      const cr = await at.open(name, { [`head-${n}.txt`]: 'x\n' })
      const first = await at.tip('main')
      const merged = await at.merge(cr.cr_id)
      if (name === 'refs/heads/main' && kind.startsWith('behind HTTP')) {
        // A branch that git cannot push is refused with the reason; nothing goes to the other one.
        const refused = merged as unknown as { status: number; body: ErrorBody }
        expect([refused.status, refused.body.code]).toEqual([409, 'merge_rejected'])
        expect(refused.body.error).toContain('has a branch named refs/heads/main')
        expect(await at.tip('main')).toBe(first)
        continue
      }
      expect([name, merged.status]).toEqual([name, 200])
      expect(merged.body.change_request.head_commit_sha).toBe(await at.tip(name))
      // Into a base of that name, not into the branch that only resembles it.
      const main = await at.tip('main')
      const into = await at.open(`onto-${n}`, { [`base-${n}.txt`]: 'x\n' }, { base_ref: name })
      expect([name, (await at.merge(into.cr_id)).status]).toEqual([name, 200])
      expect(await gitText(at.repo, 'cat-file', '-t', `refs/heads/${name}:base-${n}.txt`)).toBe('blob')
      expect(await at.tip('main')).toBe(main)
      for (const line of before
        .split('\n')
        .filter((one) => !one.startsWith('refs/heads/main ') && !one.includes('refs/svc/')))
        expect(await gitText(at.repo, 'for-each-ref', '--format=%(refname) %(objectname)')).toContain(line)
    }
  }, 180_000)
})

interface Shape {
  base: Files
  ours: Files
  theirs: Files
  /** Conflicting paths; empty: it merges. */
  conflicts: string[]
}
const text = (n: number, change: Record<number, string> = {}) =>
  Array.from({ length: n }, (_, line) => `${change[line] ?? `line ${line}`}\n`).join('')

const shapes: Record<string, Shape> = {
  'both sides far apart in one file': {
    base: { f: text(30) },
    ours: { f: text(30, { 1: 'ours' }) },
    theirs: { f: text(30, { 28: 'theirs' }) },
    conflicts: [],
  },
  'a rename on one side, a change on the other': {
    base: { old: text(30) },
    ours: { old: null, new: text(30) },
    theirs: { old: text(30, { 5: 'theirs' }) },
    conflicts: [],
  },
  'one file renamed to two names': {
    base: { old: text(30) },
    ours: { old: null, one: text(30) },
    theirs: { old: null, two: text(30) },
    conflicts: ['old', 'one', 'two'],
  },
  'renamed here, deleted there': {
    base: { old: text(30) },
    ours: { old: null, new: text(30) },
    theirs: { old: null },
    conflicts: ['new'],
  },
  'two files renamed to one name': {
    base: { one: text(30), two: text(40, { 7: 'another' }) },
    ours: { one: null, both: text(30) },
    theirs: { two: null, both: text(40, { 7: 'another' }) },
    conflicts: ['both'],
  },
  'a folder renamed, a file put into the old one': {
    base: { 'd/a': text(9), 'd/b': text(20), 'd/c': text(30) },
    ours: { 'd/a': null, 'd/b': null, 'd/c': null, 'e/a': text(9), 'e/b': text(20), 'e/c': text(30) },
    theirs: { 'd/new': 'x\n' },
    conflicts: ['e/new'],
  },
  'a file on one side, a folder on the other': {
    base: { keep: 'x\n' },
    ours: { thing: 'file\n' },
    theirs: { 'thing/inner': 'folder\n' },
    conflicts: ['thing'],
  },
  'deleted here, changed there': {
    base: { f: text(9) },
    ours: { f: null },
    theirs: { f: text(9, { 3: 'theirs' }) },
    conflicts: ['f'],
  },
  'a mode on one side, a text on the other': {
    base: { run: text(9) },
    ours: { run: { mode: '100755', content: text(9) } },
    theirs: { run: text(9, { 3: 'theirs' }) },
    conflicts: [],
  },
  'two targets of one symbolic link': {
    base: { link: { mode: '120000', content: 'a' } },
    ours: { link: { mode: '120000', content: 'b' } },
    theirs: { link: { mode: '120000', content: 'c' } },
    conflicts: ['link'],
  },
  'two commits of one submodule': {
    base: { sub: { mode: '160000', content: '1'.repeat(40) } },
    ours: { sub: { mode: '160000', content: '2'.repeat(40) } },
    theirs: { sub: { mode: '160000', content: '3'.repeat(40) } },
    conflicts: ['sub'],
  },
  'a binary file on both sides': {
    base: { bin: 'a\0b\n' },
    ours: { bin: 'a\0c\n' },
    theirs: { bin: 'a\0d\n' },
    conflicts: ['bin'],
  },
  'a union driver in a folder of its own': {
    base: { 'd/.gitattributes': '*.log merge=union\n', 'd/x.log': 'a\n' },
    ours: { 'd/x.log': 'a\nours\n' },
    theirs: { 'd/x.log': 'a\ntheirs\n' },
    conflicts: [],
  },
  'a file that its attributes keep from being merged': {
    base: { '.gitattributes': 'f -merge\n', f: text(30) },
    ours: { f: text(30, { 1: 'ours' }) },
    theirs: { f: text(30, { 28: 'theirs' }) },
    conflicts: ['f'],
  },
  'names with a line feed, a quote, a tab and a dash before them': {
    base: { 'a\nb': text(5), 'q"u': text(5), 't\tt': text(5), '-rf': text(5) },
    ours: { 'a\nb': 'o\n', 'q"u': 'o\n', 't\tt': 'o\n', '-rf': 'o\n' },
    theirs: { 'a\nb': 't\n', 'q"u': 't\n', 't\tt': 't\n', '-rf': 't\n' },
    conflicts: ['-rf', 'a\nb', 'q"u', 't\tt'],
  },
  'names that differ in case only': {
    base: { File: 'x\n' },
    ours: { file: 'ours\n' },
    theirs: { FILE: 'theirs\n' },
    conflicts: [],
  },
}

test('the preview predicts the merge, whatever both sides did', async () => {
  const at = testProject(app, await app.managedProject())
  for (const [what, shape] of Object.entries(shapes)) {
    const name = what.replaceAll(/[^a-z]+/g, '-')
    const start = await commit(at.repo, `${name}/base`, shape.base, { orphan: true })
    const headFiles = shape.theirs
    await commit(at.repo, `${name}/head`, headFiles, { from: start })
    const base = await commit(at.repo, `${name}/base`, shape.ours)
    const opened = await app.request<{ cr_id: string }>('POST', at.path(), {
      body: { title: what, head_ref: `${name}/head`, base_ref: `${name}/base` },
    })
    const preview = await app.request<MergePreview>('GET', at.path(opened.body.cr_id, 'merge-preview'))
    expect([what, preview.body.conflicts.toSorted()]).toEqual([what, shape.conflicts])
    expect([what, preview.body.can_merge]).toEqual([what, shape.conflicts.length === 0])
    const merged = await at.refusedMerge(opened.body.cr_id)
    expect([what, merged.status]).toEqual([what, shape.conflicts.length === 0 ? 200 : 409])
    if (shape.conflicts.length > 0) {
      expect([what, merged.body.code, (merged.body.conflicts as string[]).toSorted()]).toEqual([
        what,
        'merge_conflict',
        shape.conflicts,
      ])
      expect(await at.tip(`${name}/base`)).toBe(base)
    }
    const diff = await app.request<ChangeRequestDiff>('GET', at.path(opened.body.cr_id, 'diff'))
    expect([what, diff.body.files.map(({ path }) => path).toSorted()]).toEqual([
      what,
      Object.keys(headFiles).toSorted(),
    ])
  }
}, 240_000)

test('reports a name that is not UTF-8 as git quotes it, in conflicts and in the diff', async () => {
  const at = testProject(app, await app.managedProject())
  const cr = await at.open('latin', { '"caf\\351.txt"': 'theirs\n' })
  await commit(at.repo, 'main', { '"caf\\351.txt"': 'ours\n' })
  const { body: preview } = await app.request<MergePreview>('GET', at.path(cr.cr_id, 'merge-preview'))
  expect(preview.conflicts).toEqual(['"caf\\351.txt"'])
  const { body: diff } = await app.request<ChangeRequestDiff>('GET', at.path(cr.cr_id, 'diff'))
  expect(diff.files).toMatchObject([{ path: '"caf\\351.txt"', additions: 1, deletions: 0 }])
  expect((await at.refusedMerge(cr.cr_id)).body.conflicts).toEqual(['"caf\\351.txt"'])
}, 120_000)

test('reports one ancestor of a criss-cross history, and merges like git', async () => {
  const at = testProject(app, await app.managedProject({ f: text(30) }))
  const root = await at.tip('main')
  const left = await commit(at.repo, 'main', { f: text(30, { 1: 'ours' }) })
  const right = await commit(at.repo, 'work', { f: text(30, { 28: 'theirs' }) }, { from: root })
  const both = text(30, { 1: 'ours', 28: 'theirs' })
  await commit(at.repo, 'main', { f: both }, { parents: [right] })
  await commit(at.repo, 'work', { f: both, 'new.txt': 'x\n' }, { parents: [left] })
  const cr = await app.request<ChangeRequest>('POST', at.path(), { body: { title: 'Crossed', head_ref: 'work' } })
  const { body: preview } = await app.request<MergePreview>('GET', at.path(cr.body.cr_id, 'merge-preview'))
  expect([left, right]).toContain(preview.merge_base!)
  expect(preview).toMatchObject({ can_merge: true, can_fast_forward: false, conflicts: [] })
  expect((await at.merge(cr.body.cr_id)).status).toBe(200)
  expect(await gitText(at.repo, 'show', 'main:f')).toBe(both.trimEnd())
  expect(await gitText(at.repo, 'show', 'main:new.txt')).toBe('x')
}, 120_000)

test('reads a shallow remote live and says what it lacks', async () => {
  const origin = await makeRepo({ main: { a: '1\n' } })
  closing.push(origin.remove)
  await commit(origin, 'main', { a: '2\n' })
  await commit(origin, 'work', { b: '1\n' })
  const room = await tempDir()
  closing.push(room.remove)
  const dir = join(room.path, 'shallow.git')
  await gitText(origin, 'clone', '--quiet', '--bare', '--depth=1', '--no-single-branch', `file://${origin.dir}`, dir)
  const host = await serveHttpBackend(dir)
  closing.push(host.close)
  const made = await app.request<Project>('POST', '/v1/projects', { body: { name: 'shallow', repo_url: host.url } })
  const at = testProject(app, { project: made.body, repo: { dir, remote: null } })
  const opened = await app.request<{ cr_id: string; head_commit_sha: string }>('POST', at.path(), {
    body: { title: 'Of a shallow one', head_ref: 'work' },
  })
  expect([opened.status, opened.body.head_commit_sha]).toEqual([201, await at.tip('work')])
  for (const verb of ['diff', 'merge-preview']) {
    const reply = await app.request<ErrorBody>('GET', at.path(opened.body.cr_id, verb))
    expect([verb, reply.status, reply.body.code]).toEqual([verb, 502, 'repository_unreachable'])
  }
  const main = await at.tip('main')
  expect((await at.refusedMerge(opened.body.cr_id)).body.code).toBe('repository_unreachable')
  expect(await at.tip('main')).toBe(main)
}, 120_000)
