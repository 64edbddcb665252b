import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ErrorBody, Project } from '@svc/contract'
import type { Repository } from '@svc/git'
import { commit, diverge } from '@svc/git/testing'
import { gitText, testProject } from '../../change-requests/testing.ts'
import { makeTestApp, type TestApp, type TestReply } from '../../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

interface Answer {
  content: string
  entries: { path: string; type: string }[]
  commits: { subject: string }[]
  files: { path: string }[]
  patch?: string
}

function browser({ project }: { project: Project; repo: Repository }) {
  return async <Body = Answer>(path: string, headers: Record<string, string> = {}) =>
    app.request<Body>('GET', `/v1/projects/${project.project_id}/${path}`, { headers })
}
const q = encodeURIComponent

interface Branches {
  branches: { name: string; sha: string; is_default: boolean }[]
}

describe('listing branches', () => {
  test('lists the current branches by name, in pages', async () => {
    for (const made of [await app.managedProject(), await app.externalProject()]) {
      const get = browser(made)
      const names = ['-dash', '+main', 'HEAD', 'a'.repeat(40), 'feature/é', 'main', 'refs/heads/main']
      for (const name of names) if (name !== 'main') await commit(made.repo, name, { [`${name.length}`]: name })
      const { branches } = (await get<Branches>('branches')).body
      expect(branches.map(({ name }) => name)).toEqual(names.toSorted())
      expect(branches.filter(({ is_default }) => is_default).map(({ name }) => name)).toEqual(['main'])
      const moved = await commit(made.repo, 'main', { 'n.txt': 'n\n' })
      expect((await get<Branches>('branches')).body.branches.find(({ name }) => name === 'main')!.sha).toBe(moved)
      const seen: string[] = []
      for (let path: string | null = 'branches?limit=3'; path !== null;) {
        const page: TestReply<Branches> = await get<Branches>(path)
        seen.push(...page.body.branches.map(({ name }) => name))
        const next: string | undefined = /<([^>]*)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1]
        path = next === undefined ? null : next.split(`${made.project.project_id}/`)[1]!
      }
      expect(seen).toEqual(names.toSorted())
    }
  })

  test('an empty repository has no branches and nothing to read', async () => {
    const made = await app.request<Project>('POST', '/v1/projects', { body: { name: 'empty' } })
    const get = browser({ project: made.body, repo: { dir: '', remote: null } })
    expect((await get<Branches>('branches')).body).toEqual({ branches: [] })
    for (const path of ['commits', 'tree', 'file?path=a', 'compare?head=main'])
      expect((await get(path)).body).toMatchObject({ code: 'ref_not_found', ref: 'main' })
  })
})

describe('resolving a ref', () => {
  test('resolves a branch first, then a commit that a branch contains', async () => {
    const made = await app.managedProject({ 'a.txt': 'one\n' })
    const get = browser(made)
    const first = await gitText(made.repo, 'rev-parse', 'main')
    const second = await commit(made.repo, 'main', { 'a.txt': 'two\n' })
    // A branch named like the first commit, with another target.
    await gitText(made.repo, 'update-ref', `refs/heads/${first}`, second)
    const text = async (ref: string) => (await get(`file?path=a.txt&ref=${q(ref)}`)).body
    expect(await text('main')).toMatchObject({ ref: 'main', sha: second, content: 'two\n' })
    expect(await text(first)).toMatchObject({ ref: first, sha: second, content: 'two\n' })
    await gitText(made.repo, 'update-ref', '-d', `refs/heads/${first}`)
    expect(await text(first)).toMatchObject({ ref: first, sha: first, content: 'one\n' })
  })

  test('refuses unknown refs and refs of the service with the same error', async () => {
    for (const made of [await app.managedProject(), await app.externalProject()]) {
      const get = browser(made)
      const at = testProject(app, made)
      const cr = await at.open('work', { 'w.txt': 'w\n' })
      expect((await at.merge(cr.cr_id)).status).toBe(200)
      const hidden = await commit(made.repo, 'gone', { 'secret.txt': 's\n' })
      expect((await get(`file?path=secret.txt&ref=${hidden}`)).status).toBe(200)
      await gitText(made.repo, 'update-ref', '-d', 'refs/heads/gone')
      const tree = await gitText(made.repo, 'rev-parse', 'main^{tree}')
      for (const ref of ['nope', hidden, tree, '0'.repeat(40), cr.head_commit_sha!.slice(0, 10), 'svc/cr/1/head']) {
        for (const path of [
          `commits?ref=${ref}`,
          `tree?ref=${ref}`,
          `file?path=w.txt&ref=${ref}`,
          `compare?head=${ref}`,
        ]) {
          const reply = await get<ErrorBody>(path)
          expect([path, reply.status, reply.body.code, reply.body.ref]).toEqual([path, 400, 'ref_not_found', ref])
        }
      }
      for (const ref of ['main~1', 'main@%7B1%7D', '..', '', 'a%00b', 'x:y'])
        expect((await get<ErrorBody>(`tree?ref=${ref}`)).body.code).toBe('invalid')
    }
  })

  test('only members of the account can read a ref', async () => {
    const made = await app.managedProject()
    const viewer = await app.makeUser('viewer')
    const stranger = await app.makeUser('owner', 'own')
    for (const path of ['branches', 'commits', 'tree', 'file?path=README.md', 'compare?head=main']) {
      const url = `/v1/projects/${made.project.project_id}/${path}`
      expect([path, (await app.request('GET', url, { token: viewer.token })).status]).toEqual([path, 200])
      expect([path, (await app.request('GET', url, { token: stranger.token })).status]).toEqual([path, 403])
    }
  })
})

interface Commits {
  ref: string
  sha: string
  commits: { sha: string; subject: string; body: string; author_name: string; committed_at: string }[]
}

describe('listing commits', () => {
  test('pages through the history that the first page began with', async () => {
    const made = await app.managedProject({ 'a.txt': '0\n' })
    const get = browser(made)
    for (const n of [1, 2, 3, 4])
      await commit(made.repo, 'main', { 'a.txt': `${n}\n` }, { message: `${n}\n\nWhy ${n}` })
    const page = await get<Commits>('commits?limit=2')
    expect(page.body).toMatchObject({ ref: 'main', commits: [{ subject: '4', body: 'Why 4' }, { subject: '3' }] })
    await commit(made.repo, 'main', { 'a.txt': '5\n' })
    const next = /cursor=([^&>]+)/.exec(page.headers.get('link')!)![1]!
    const second = await get<Commits>(`commits?limit=2&cursor=${next}`)
    expect(second.body.sha).toBe(page.body.sha)
    expect(second.body.commits.map(({ subject }) => subject)).toEqual(['2', '1'])
    const last = await get<Commits>(
      `commits?limit=2&cursor=${/cursor=([^&>]+)/.exec(second.headers.get('link')!)![1]!}`,
    )
    expect(last.body.commits).toHaveLength(1)
    expect(last.headers.get('link')).toBeNull()
    const cursor = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const wrong of [
      ['main', '2'],
      [page.body.sha, '-1'],
      [page.body.sha, '1e3'],
      ['--all', '1'],
      ['branch', 'a'],
    ])
      expect([wrong, (await get<ErrorBody>(`commits?cursor=${cursor(wrong)}`)).status]).toEqual([wrong, 400])
  })

  test('the largest page names the next one', async () => {
    const made = await app.managedProject({ 'a.txt': '0\n' })
    const stream = Array.from({ length: 1000 }, (_, n) => {
      const parent = n === 0 ? 'from refs/heads/main^0\n' : ''
      return `commit refs/heads/main\ncommitter T <t@svc.invalid> ${1_800_000_000 + n} +0000\ndata 1\nx\n${parent}`
    })
    const child = Bun.spawn(['git', '-C', made.repo.dir, 'fast-import', '--quiet'], {
      stdin: Buffer.from(stream.join('')),
    })
    expect(await child.exited).toBe(0)
    const page = await browser(made)<Commits>('commits?limit=1000')
    expect(page.body.commits).toHaveLength(1000)
    expect(page.headers.get('link')).toContain('rel="next"')
  })

  test('goes on under the earlier name of a renamed file, over pages', async () => {
    const made = await app.managedProject({ 'old.txt': 'a\nb\nc\n' })
    const get = browser(made)
    await commit(made.repo, 'main', { 'old.txt': 'a\nb\nc\nd\n' }, { message: 'before' })
    await commit(made.repo, 'main', { 'old.txt': null, 'new.txt': 'a\nb\nc\nd\n' }, { message: 'rename' })
    interface Named {
      commits: { subject: string; path?: string }[]
    }
    const seen: [string, string | undefined][] = []
    for (let path: string | null = 'commits?path=new.txt&limit=1'; path !== null;) {
      const page: TestReply<Named> = await get<Named>(path)
      seen.push(...page.body.commits.map(({ subject, path }): [string, string | undefined] => [subject, path]))
      const next = /cursor=([^&>]+)/.exec(page.headers.get('link') ?? '')?.[1]
      path = next === undefined ? null : `commits?path=new.txt&limit=1&cursor=${next}`
    }
    expect(seen.slice(0, 2)).toEqual([
      ['rename', undefined],
      ['before', 'old.txt'],
    ])
    expect(seen.slice(2).map(([, path]) => path)).toEqual(['old.txt'])
  })

  test('lists the commits of one file or folder', async () => {
    const made = await app.managedProject({ 'dir/a.txt': 'a\n', '*.txt': 's\n' })
    const get = browser(made)
    await commit(made.repo, 'main', { 'b.txt': 'b\n' }, { message: 'other' })
    await commit(made.repo, 'main', { '*.txt': 't\n' }, { message: 'star' })
    await commit(made.repo, 'main', { 'dir/a.txt': 'b\n' }, { message: 'inside' })
    const of = async (path: string) =>
      (await get<Commits>(`commits?path=${q(path)}`)).body.commits.map(({ subject }) => subject)[0]
    expect(await of('dir')).toBe('inside')
    expect(await of('/dir/')).toBe('inside')
    expect(await of('*.txt')).toBe('star')
    expect(await of('-not-there')).toBeUndefined()
    expect((await get(`commits?path=${'x'.repeat(4097)}`)).status).toBe(400)
    expect((await get('commits?path=a%00b')).status).toBe(400)
  })
})

describe('listing a folder', () => {
  test('lists a folder, and names that are not UTF-8 lead to their files', async () => {
    const latin = '"caf\\351.txt"'
    const made = await app.externalProject({
      'z.txt': 'z\n',
      [latin]: 'latin\n',
      'dir/x.sh': { mode: '100755', content: '#!\n' },
      'dir/in/y': 'y\n',
      link: { mode: '120000', content: 'z.txt' },
    })
    const get = browser(made)
    const root = (await get('tree')).body
    expect(root).toMatchObject({ ref: 'main', path: '', truncated: false })
    expect(root.entries.map(({ path, type }) => [path, type])).toEqual([
      ['dir', 'directory'],
      [latin, 'file'],
      ['link', 'symlink'],
      ['z.txt', 'file'],
    ])
    expect((await get(`file?path=${q(latin)}`)).body).toMatchObject({ path: latin, content: 'latin\n' })
    expect((await get('tree?path=dir/')).body.entries.map(({ path }) => path)).toEqual(['dir/in', 'dir/x.sh'])
    for (const path of ['nope', 'z.txt', '..', 'dir/../dir', 'link'])
      expect([path, (await get<ErrorBody>(`tree?path=${path}`)).body.code]).toEqual([path, 'not_found'])
  })
})

describe('reading a file', () => {
  const bytes = new Uint8Array([0x89, 0x50, 0, 0xff])
  const html = '<script>alert(1)</script>\n'
  const files = {
    'page.html': html,
    'a.png': bytes,
    'latin1.txt': new Uint8Array([0x63, 0xe9, 0x0a]),
    'bom.txt': '\ufeffbom\n',
    empty: '',
    'run.sh': { mode: '100755' as const, content: '#!\n' },
    link: { mode: '120000' as const, content: '../../etc/passwd' },
    sub: { mode: '160000' as const, content: '1'.repeat(40) },
    'dir/x': 'x\n',
    'big.txt': 'é'.repeat(700_000),
  }
  let get: ReturnType<typeof browser>
  beforeAll(async () => {
    get = browser(await app.managedProject(files))
  })

  test('returns text as text and other content as base64', async () => {
    const of = async (path: string) => (await get(`file?path=${path}`)).body
    expect(await of('page.html')).toMatchObject({ encoding: 'utf-8', content: html, binary: false, size: html.length })
    expect(await of('a.png')).toMatchObject({
      encoding: 'base64',
      content: Buffer.from(bytes).toString('base64'),
      binary: true,
      size: 4,
    })
    expect(await of('latin1.txt')).toMatchObject({ encoding: 'base64', binary: false })
    expect((await of('bom.txt')).content).toBe('\ufeffbom\n')
    expect(await of('empty')).toMatchObject({ encoding: 'utf-8', content: '', size: 0, truncated: false })
    expect(await of('run.sh')).toMatchObject({ type: 'executable' })
    // The link's target path, never the target's content.
    expect(await of('link')).toMatchObject({ type: 'symlink', content: '../../etc/passwd' })
    for (const path of ['sub', 'dir', 'nope', '', '/', '..', 'link/x'])
      expect([path, (await get<ErrorBody>(`file?path=${path}`)).status]).toEqual([path, 404])
    expect((await get<ErrorBody>('file?path=dir')).body).toMatchObject({ code: 'not_found', type: 'directory' })
  })

  test('truncates text over 1 MiB between two characters', async () => {
    const { body } = await get('file?path=big.txt')
    expect(body).toMatchObject({ truncated: true, size: 1_400_000, encoding: 'utf-8' })
    expect(Buffer.byteLength(body.content)).toBe(1024 * 1024)
    expect(body.content).not.toContain('\ufffd')
  })

  test('returns all raw bytes with a type that no browser runs', async () => {
    const accept = { accept: 'application/octet-stream' }
    for (const [path, content] of [
      ['page.html', html],
      ['big.txt', files['big.txt']],
      ['empty', ''],
    ] as const) {
      const reply = await get(`file?path=${path}`, accept)
      expect([path, reply.status, reply.text === content]).toEqual([path, 200, true])
      expect(Object.fromEntries(reply.headers)).toMatchObject({
        'content-type': 'application/octet-stream',
        'content-length': String(Buffer.byteLength(content)),
        'content-disposition': 'attachment',
        'content-security-policy': "sandbox; default-src 'none'",
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      })
      expect(reply.headers.get('x-request-id')).not.toBeNull()
    }
    expect((await get('file?path=nope', accept)).headers.get('content-type')).toStartWith('application/json')
    expect((await get('file?path=a.png', { accept: '*/*' })).body).toMatchObject({ encoding: 'base64' })
  })
})

describe('comparing two refs', () => {
  test('returns what a change request of them would contain', async () => {
    for (const made of [await app.managedProject({ 'a.txt': 'a\n' }), await app.externalProject({ 'a.txt': 'a\n' })]) {
      const get = browser(made)
      await commit(made.repo, 'work', { 'b.txt': 'b\n', 'c.txt': 'c\n' }, { message: 'first' })
      const head = await commit(made.repo, 'work', { 'b.txt': 'b\nb\n' }, { message: 'second' })
      const base = await commit(made.repo, 'main', { 'd.txt': 'd\n' })
      const { body } = await get('compare?head=work')
      expect(body).toMatchObject({
        ...{ base_ref: 'main', head_ref: 'work', base_sha: base, head_sha: head, ahead: 2, behind: 1 },
        ...{ can_merge: true, can_fast_forward: false, is_up_to_date: false, conflicts: [], truncated: false },
        ...{ files_changed: 2, additions: 3, deletions: 0 },
      })
      expect(body.commits.map(({ subject }) => subject)).toEqual(['second', 'first'])
      expect(body.files.map(({ path }) => path)).toEqual(['b.txt', 'c.txt'])
      expect(body.patch).toBeUndefined()
      // The same seven fields a change request of them has.
      const at = testProject(app, made)
      const cr = await app.request<{ cr_id: string }>('POST', at.path(), { body: { title: 't', head_ref: 'work' } })
      const preview = await app.request<object>('GET', at.path(cr.body.cr_id, 'merge-preview'))
      expect(body).toMatchObject(preview.body)

      expect((await get('compare?base=work&head=main')).body).toMatchObject({ ahead: 1, behind: 2 })
      expect((await get(`compare?base=${base}&head=${head}`)).body).toMatchObject({ base_ref: base, files_changed: 2 })
      expect((await get('compare?head=main')).body).toMatchObject({
        is_up_to_date: true,
        ahead: 0,
        commits: [],
        files: [],
      })
    }
  })

  test('lists the conflicting files', async () => {
    const made = await app.managedProject({ 'a.txt': 'a\n' })
    await diverge(made.repo, 'work', 'a.txt')
    expect((await browser(made)('compare?head=work')).body).toMatchObject({ can_merge: false, conflicts: ['a.txt'] })
    expect((await browser(made)<ErrorBody>('compare')).body).toMatchObject({ code: 'invalid' })
  })
})

test('reports an unreachable repository', async () => {
  const made = await app.externalProject()
  await made.host.close()
  for (const path of ['branches', 'commits', 'tree', 'file?path=README.md', 'compare?head=main']) {
    const reply = await browser(made)<ErrorBody>(path)
    expect([path, reply.status, reply.body.code]).toEqual([path, 502, 'repository_unreachable'])
  }
})
