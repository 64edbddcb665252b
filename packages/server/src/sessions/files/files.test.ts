/** The files of a session: of its sandbox while it has one, as its daemon reads them, and else what is saved. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { SessionFiles } from '@svc/contract'
import type { ReadFilesReply } from '@svc/contract/daemon/work-tree'
import { commit } from '@svc/git/testing'
import { gitText } from '../../change-requests/testing.ts'
import { updateRows } from '../../db/rows.ts'
import { makeSessionApp, type RunningSession, type SessionApp } from '../testing.ts'
import { startWorkDaemon } from '../unfinished-work/testing-work-daemon.ts'
import { WipWatch } from '../unfinished-work/watch.ts'

type Folder = Extract<SessionFiles, { type: 'directory' }>
type File = Extract<SessionFiles, { content: string }>

let app: SessionApp
let session: RunningSession
/** The work tree of every sandbox, by path. */
const tree: Record<string, ReadFilesReply> = {}

const file = (content: string | Uint8Array, more: object = {}): ReadFilesReply => ({
  kind: 'file',
  git: 'committed',
  size: Buffer.byteLength(content),
  content_base64: Buffer.from(content as string).toString('base64'),
  ...more,
})
const folder = (...names: string[]): ReadFilesReply => ({
  kind: 'directory',
  git: 'changed',
  entries: names.map((name) => ({ name, kind: 'file' as const, size: 1, git: 'new' as const })),
  truncated: false,
})

beforeAll(async () => {
  app = await makeSessionApp({
    files: { 'README.md': 'hello\n', 'src/a.ts': 'a\n', 'docs/c.md': 'c\n' },
    onFiles: (path) => tree[path] ?? { kind: 'missing', why: 'absent' },
  })
  session = await app.running()
}, 120_000)
afterAll(() => app.close())

async function read<Of = SessionFiles>(path: string, of = session.session_id, token = app.ownerToken) {
  const query = path === '' ? '' : `?path=${encodeURIComponent(path)}`
  return app.request<Of & { code?: string; error?: string; hint?: string }>('GET', app.path(of, `files${query}`), {
    token,
  })
}

describe('of a running session', () => {
  test('a folder lists folders first, with the path and the state of each entry', async () => {
    tree[''] = {
      kind: 'directory',
      git: 'changed',
      entries: [
        { name: 'a.ts', kind: 'file', size: 3, git: 'changed' },
        { name: 'node_modules', kind: 'directory', size: null, git: 'ignored' },
        { name: 'pipe', kind: 'special', size: null, git: null },
      ],
      truncated: true,
    }
    const { status, body } = await read<Folder>('')
    expect(status).toBe(200)
    expect(body).toEqual({
      ...{ type: 'directory', path: '', source: 'sandbox', saved_at: null, git: 'changed', notes: [], truncated: true },
      entries: [
        { name: 'node_modules', path: 'node_modules', type: 'directory', size: null, git: 'ignored' },
        { name: 'a.ts', path: 'a.ts', type: 'file', size: 3, git: 'changed' },
        { name: 'pipe', path: 'pipe', type: 'special', size: null, git: null },
      ],
    })
  })

  test('names of any bytes lead back to their file', async () => {
    tree['src'] = folder('\xff.txt', 'a\nb', '"q"', '\xe2\x80\xaegnp')
    const { body } = await read<Folder>('src')
    expect(body.entries.map(({ path }) => path)).toEqual(['"src/\\377.txt"', 'src/"q"', 'src/a\nb', 'src/\u202egnp'])
    for (const [at, name] of ['\xff.txt', '"q"', 'a\nb', '\xe2\x80\xaegnp'].entries()) {
      const { path } = body.entries[at]!
      tree[`src/${name}`] = file(`content of ${name}`)
      expect((await read<File>(path)).body.content).toBe(`content of ${name}`)
    }
  })

  test('a text is shown up to the first MiB, without half a character', async () => {
    tree['b.txt'] = file('ü\n', { git: 'new' })
    expect((await read('b.txt')).body).toMatchObject({
      ...{ type: 'file', git: 'new', size: 3, binary: false, encoding: 'utf-8', content: 'ü\n', truncated: false },
    })
    tree['long.txt'] = file(`x${'ü'.repeat(1024 * 1024)}`, { kind: 'executable' })
    const { body } = await read<File>('long.txt')
    expect(body).toMatchObject({ type: 'executable', truncated: true, size: 2 * 1024 * 1024 + 1 })
    expect(body.content).toBe(`x${'ü'.repeat((1024 * 1024) / 2 - 1)}`)
  })

  test('other bytes are shown whole, and of a large file only its size', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
    tree['a.png'] = file(png)
    expect((await read('a.png')).body).toMatchObject({
      ...{ binary: true, encoding: 'base64', content: png.toString('base64'), truncated: false },
    })
    tree['latin.txt'] = file(Buffer.from([0x63, 0xe9]))
    expect((await read('latin.txt')).body).toMatchObject({ binary: false, encoding: 'base64', content: 'Y+k=' })
    tree['huge.bin'] = file(Buffer.alloc(4 * 1024 * 1024), { size: 3 * 1024 ** 3 })
    expect((await read('huge.bin')).body).toMatchObject({
      ...{ binary: true, content: '', truncated: true, size: 3 * 1024 ** 3 },
    })
  })

  test('the answer is JSON that a browser runs nothing of', async () => {
    tree['page.html'] = file('<script>alert(1)</script>')
    const { headers } = await read('page.html')
    expect(headers.get('content-type')).toContain('application/json')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cache-control')).toContain('no-store')
  })

  test('links and pipes are named, and not followed', async () => {
    tree['link'] = { kind: 'symlink', git: 'new', target: '/etc/passwd' }
    tree['pipe'] = { kind: 'special', git: 'new' }
    expect((await read('link')).body).toMatchObject({ type: 'symlink', target: '/etc/passwd' })
    expect((await read('pipe')).body).toMatchObject({ type: 'special' })
  })

  test.each([
    ['absent', 'There is no such file in the work tree.'],
    ['link', 'The path leads through a symbolic link, which is not followed.'],
    ['denied', "The agent's user may not read this file."],
    ['git', "git's own folder is no part of the work tree."],
  ] as const)('says why there is no file: %s', async (why, error) => {
    tree['away'] = { kind: 'missing', why }
    const { status, body } = await read('away')
    expect({ status, ...body }).toMatchObject({ status: 404, code: 'not_found', error })
    expect(body.hint).toBeString()
  })

  test.each(['..', '../x', '/etc/passwd', 'a/../../b', 'a//b', './a', 'a/', 'a\0b', 'x'.repeat(5_000)])(
    'refuses a path that is not in the work tree: %p',
    async (path) => {
      tree[path] = file('never')
      expect(await read(path)).toMatchObject({ status: 400, body: { code: 'invalid' } })
    },
  )

  test('secrets are replaced in texts, names and targets, also where a text is cut', async () => {
    app.deps.redaction.given(session.session_id, [['TOKEN', 'sk-secret-0123456789']])
    tree['.env'] = file('TOKEN=sk-secret-0123456789\n', { git: 'ignored' })
    expect((await read<File>('.env')).body.content).toBe('TOKEN=[redacted TOKEN]\n')
    tree['keys'] = folder('sk-secret-0123456789.txt')
    tree['to'] = { kind: 'symlink', git: 'new', target: '/x/sk-secret-0123456789' }
    tree['cut.txt'] = file(`${'x'.repeat(1024 * 1024 - 10)}sk-secret-0123456789 and more`)
    tree['secret.bin'] = file(Buffer.from('\0\xff sk-secret-0123456789', 'latin1'))
    for (const path of ['keys', 'to', 'cut.txt', 'secret.bin'])
      expect([path, (await read(path)).text.includes('sk-secre')]).toEqual([path, false])
    expect((await read('secret.bin')).body).toMatchObject({
      ...{ content: '', truncated: true, notes: ['This file contains a secret, so its content is not shown.'] },
    })
    expect((await read<File>('cut.txt')).body.content.slice(-13)).toBe('xxx[redacted ')
  })

  test('a viewer sees that an ignored file is there, and not what is in it', async () => {
    const { token } = await app.makeUser('viewer')
    tree['.env'] = file('PASSWORD=hunter2\n', { git: 'ignored' })
    tree['unknown'] = file('PASSWORD=hunter2\n', { git: null })
    for (const path of ['.env', 'unknown']) {
      const { status, body, text } = await read<File>(path, session.session_id, token)
      expect(status).toBe(200)
      expect(body).toMatchObject({ size: 17, content: '', truncated: true })
      expect(body.notes[0]).toContain('only to people who can write to the project')
      expect(text).not.toContain('hunter2')
      expect((await read<File>(path)).body.content).toContain('hunter2')
    }
    tree['open.txt'] = file('open\n', { git: 'new' })
    expect((await read<File>('open.txt', session.session_id, token)).body.content).toBe('open\n')
  })

  test('a stranger sees nothing', async () => {
    const { token } = await app.makeUser('member', 'own')
    expect((await read('', session.session_id, token)).status).toBe(403)
  })

  test('says that a sandbox of an earlier version has to be restarted, and why one does not answer', async () => {
    const { options } = app.driver
    const answer = (code: string, status: number) => {
      options.around = async (path, next) =>
        path === '/svc/files' ? Response.json({ error: 'It broke.', code }, { status }) : next()
    }
    answer('not_found', 404)
    expect(await read('')).toMatchObject({ status: 503, body: { hint: 'Restart the session to see its files.' } })
    answer('files_failed', 500)
    expect(await read('')).toMatchObject({ status: 503, body: { error: expect.stringContaining('It broke.') } })
    answer('runtime_booting', 503)
    expect(await read('')).toMatchObject({ status: 503, body: { code: 'runtime_booting' } })
    delete options.around
  })
})

describe('of a session without a sandbox', () => {
  test('are the files of its branch, with what was saved of its unfinished work', async () => {
    const made = await app.running()
    const { session_id: sessionId, branch_name: branch } = made
    const daemon = await startWorkDaemon(app)
    const watch = new WipWatch(app.deps, daemon.addressOf(sessionId), { spaceChanged() {}, sleepSeen() {} })
    daemon.snapshot = await commit(
      daemon.work,
      `w-${randomUUID()}`,
      { 'src/a.ts': 'a changed\n', 'src/deep/new.ts': 'new\n' },
      { from: await gitText(daemon.work, 'rev-parse', `refs/heads/${branch}`).catch(() => 'main') },
    )
    await watch.saveNow()
    watch.release()
    await updateRows(app.deps.db, 'project_sessions', { session_id: sessionId }, { status: 'stopped' })

    const top = (await read<Folder>('', sessionId)).body
    expect(top).toMatchObject({ source: 'saved', git: 'changed', saved_at: expect.any(String) })
    expect(top.notes[0]).toBe(
      'The session is stopped. These are the files of its branch with the work that was saved last, without files that git ignores.',
    )
    expect(top.entries.map(({ name, git }) => [name, git])).toEqual([
      ['docs', 'committed'],
      ['src', 'changed'],
      ['README.md', 'committed'],
    ])
    expect((await read<Folder>('src', sessionId)).body.entries.map(({ path, git }) => [path, git])).toEqual([
      ['src/deep', 'new'],
      ['src/a.ts', 'changed'],
    ])
    expect((await read('src/deep', sessionId)).body.git).toBe('new')
    expect((await read<File>('src/a.ts', sessionId)).body).toMatchObject({ content: 'a changed\n', git: 'changed' })
    expect((await read<File>('src/deep/new.ts', sessionId)).body).toMatchObject({ content: 'new\n', git: 'new' })
    expect((await read('nowhere', sessionId)).status).toBe(404)
    await daemon.close()
  })

  test('are those of its branch when all is pushed, and an error when that is gone', async () => {
    const { session_id: sessionId, branch_name: branch } = await app.running()
    await app.request('POST', app.path(sessionId, 'stop'))
    await app.reaches(sessionId, 'stopped')
    expect((await read('README.md', sessionId)).body).toMatchObject({
      ...{ content: 'hello\n', source: 'saved', saved_at: null, git: 'committed' },
      notes: ['The session is stopped. These are the files of its branch.'],
    })
    await updateRows(app.deps.db, 'project_sessions', { session_id: sessionId }, { branch_name: `${branch}-gone` })
    expect(await read('', sessionId)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })
})
