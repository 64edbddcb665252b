/** A person edits one file in the browser, and the edit becomes a change request. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ChangeRequest } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { updateRows } from '../../db/rows.ts'
import { makeTestApp, projectPath, type TestApp } from '../../test-app.ts'
import { auditOfObject, gitText, type Refusal, testProject } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const start = { 'docs/guide.md': 'one\r\ntwo\r\nthree', 'other.txt': 'other\n', 'svc.toml': 'svc_version = 1\n' }

describe.each(['managed', 'external'] as const)('an edit of a file in a project that is %s', (kind) => {
  const makeProject = async () => {
    const made = testProject(app, await (kind === 'managed' ? app.managedProject(start) : app.externalProject(start)))
    const file = projectPath(made.project, 'file')
    return {
      ...made,
      read: async (path: string, ref = 'main') =>
        (await app.request<{ blob_sha: string; content: string }>('GET', `${file}?ref=${ref}&path=${path}`)).body,
      propose: <Body = ChangeRequest>(body: object, token?: string) =>
        app.request<Body>('POST', file, { body, ...(token === undefined ? {} : { token }) }),
    }
  }

  test('refuses a path that is none, and a file that is no text in UTF-8', async () => {
    const at = await makeProject()
    const { blob_sha } = await at.read('other.txt')
    for (const path of ['/other.txt', 'other.txt/', 'docs/../other.txt', '.git/config'])
      expect([path, (await at.propose({ path, blob_sha, content: 'x\n' })).status]).toEqual([path, 400])
    await commit(at.repo, 'main', { 'latin.txt': Buffer.from('caf\u00e9\n', 'latin1') as unknown as string }, {})
    const latin = await at.read('latin.txt')
    const refused = await at.propose<Refusal>({ path: 'latin.txt', blob_sha: latin.blob_sha, content: 'x\n' })
    expect([refused.status, refused.body.error]).toEqual([422, expect.stringContaining('not text in UTF-8')])
  })

  test.each(['.', '<>', ',', ''])('is committed for a person whose name is %j', async (name) => {
    const at = await makeProject()
    const member = await app.makeUser('member')
    await updateRows(app.deps.db, 'users', { user_id: member.user_id }, { name, email: null })
    const { blob_sha } = await at.read('other.txt')
    const made = await at.propose({ path: 'other.txt', blob_sha, content: 'x\n' }, member.token)
    expect(made.status).toBe(201)
    const who = `${member.user_id} <${member.user_id}>`
    expect(await gitText(at.repo, 'log', '-1', '--format=%an <%ae>', made.body.head_ref)).toBe(who)
  })

  test('is committed as the person on a new branch, byte by byte, and opens a change request', async () => {
    const at = await makeProject()
    const member = await app.makeUser('member')
    const { blob_sha, content } = await at.read('docs/guide.md')
    const edit = { path: 'docs/guide.md', blob_sha, content: content.replace('two', '2'), description: 'Shorter.' }
    const { status, body } = await at.propose(edit, member.token)
    expect(status).toBe(201)
    expect(body).toMatchObject({
      title: 'Edit docs/guide.md',
      description: 'Shorter.',
      base_ref: 'main',
      head_ref: `svc/edit-${body.cr_id.slice(0, 8)}`,
      status: 'open',
      created_by: member.user_id,
      base_commit_sha: await at.tip('main'),
      head_commit_sha: await at.tip(body.head_ref),
    })
    const { name, email } = await app.deps.db
      .selectFrom('users')
      .select(['name', 'email'])
      .where('user_id', '=', member.user_id)
      .executeTakeFirstOrThrow()
    const who = `${name} <${email ?? member.user_id}>`
    expect(await gitText(at.repo, 'log', '-1', '--format=%an <%ae>%n%B', body.head_ref)).toBe(
      `${who}\nEdit docs/guide.md\n\nShorter.`,
    )
    expect(await gitText(at.repo, 'diff', '--numstat', 'main', body.head_ref)).toBe('1\t1\tdocs/guide.md')
    expect((await at.read('docs/guide.md', body.head_ref)).content).toBe('one\r\n2\r\nthree')
    expect((await auditOfObject(app, body.cr_id)).map(({ action }) => action)).toEqual(['change_request.open'])
    expect((await at.merge(body.cr_id)).status).toBe(200)
    expect((await at.read('docs/guide.md')).content).toBe('one\r\n2\r\nthree')
  })

  test('starts at the tip when other files moved, and is refused when the file itself changed', async () => {
    const at = await makeProject()
    const { blob_sha } = await at.read('docs/guide.md')
    await commit(at.repo, 'main', { 'other.txt': 'moved\n' })
    const edit = { path: 'docs/guide.md', blob_sha, content: 'new\n' }
    const made = await at.propose(edit)
    expect([made.status, made.body.base_commit_sha]).toEqual([201, await at.tip('main')])
    const head = await commit(at.repo, 'main', { 'docs/guide.md': 'by another\n' })
    const refused = await at.propose<Refusal>(edit)
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({
      code: 'conflict',
      error: 'docs/guide.md changed on main since you opened it.',
      path: 'docs/guide.md',
      sha: head,
      blob_sha: (await at.read('docs/guide.md')).blob_sha,
    })
    await commit(at.repo, 'main', { 'docs/guide.md': null })
    expect((await at.propose<Refusal>(edit)).body).toMatchObject({ code: 'conflict', blob_sha: null })
  })

  test('goes into the branch that was shown, and one key opens one change request', async () => {
    const at = await makeProject()
    await commit(at.repo, 'work', { 'other.txt': 'at work\n' })
    const { blob_sha } = await at.read('other.txt', 'work')
    const body = { ref: 'work', path: 'other.txt', blob_sha, content: 'edited\n', title: 'A title' }
    const headers = { 'idempotency-key': `edit-${kind}` }
    const send = () => app.request<ChangeRequest>('POST', projectPath(at.project, 'file'), { body, headers })
    const first = await send()
    expect(first.body).toMatchObject({ title: 'A title', base_ref: 'work' })
    expect((await send()).body.cr_id).toBe(first.body.cr_id)
    const elsewhere = { ...body, ref: await at.tip('work') }
    expect((await at.propose<Refusal>(elsewhere)).body.code).toBe('ref_not_found')
  })
})

test('refuses agents, viewers, unchanged and large content, and the value of a secret', async () => {
  const { project } = await app.managedProject(start)
  const file = projectPath(project, 'file')
  const { body: read } = await app.request<{ blob_sha: string }>('GET', `${file}?path=other.txt`)
  const propose = (content: string, token?: string) =>
    app.request<Refusal>('POST', file, {
      body: { path: 'other.txt', blob_sha: read.blob_sha, content },
      ...(token === undefined ? {} : { token }),
    })
  const { token: agent } = await app.makeSession(project)
  expect((await propose('x\n', agent)).body).toMatchObject({
    code: 'forbidden',
    error: 'An agent cannot edit files as a person.',
  })
  expect((await propose('x\n', (await app.makeUser('viewer')).token)).status).toBe(403)
  expect((await propose('other\n')).body).toMatchObject({ code: 'invalid', issues: [{ path: 'content' }] })
  expect((await propose('é'.repeat(256 * 1024 + 1))).body).toMatchObject({ code: 'invalid' })
  expect((await propose('"'.repeat(512 * 1024))).status).toBe(201)
  await app.request('POST', projectPath(project, 'secrets'), {
    body: { name: 'API_KEY', value: 'sk-very-secret-value-1234' },
  })
  const secret = await propose('key = sk-very-secret-value-1234\n')
  expect(secret.body).toMatchObject({ code: 'unprocessable' })
  expect(secret.text).toContain('other.txt:1 adds the value of the secret API_KEY')
  const { body } = await app.request<{ branches: { name: string }[] }>('GET', projectPath(project, 'branches'))
  expect(body.branches.map(({ name }) => name).filter((name) => name !== 'main')).toHaveLength(1)
})

test('shows the effects of an edited svc.toml', async () => {
  const { project } = await app.managedProject(start)
  const file = projectPath(project, 'file')
  const { body: read } = await app.request<{ blob_sha: string }>('GET', `${file}?path=svc.toml`)
  const content =
    'svc_version = 1\n[[triggers]]\nslug = "nightly"\ntype = "cron"\ncron = "0 3 * * *"\nprompt = "Tidy"\n'
  const { body: cr } = await app.request<ChangeRequest>('POST', file, {
    body: { path: 'svc.toml', blob_sha: read.blob_sha, content },
  })
  const preview = projectPath(project, 'change-requests', cr.cr_id, 'merge-preview')
  const { text } = await app.request('GET', `${preview}?include=effects`)
  expect(text).toContain('nightly')
})
