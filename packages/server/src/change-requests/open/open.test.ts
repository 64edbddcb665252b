import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ChangeRequest } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { auditOfObject, type Refusal, type TestProject, testProject } from '../testing.ts'

let app: TestApp
let at: TestProject
beforeAll(async () => {
  app = await makeTestApp()
  at = testProject(app, await app.managedProject())
  await commit(at.repo, 'work', { 'a.txt': 'a\n' })
}, 120_000)
afterAll(() => app.close())

const open = <Body = ChangeRequest>(body: object, options: object = {}) =>
  app.request<Body>('POST', at.path(), { body: { title: 'A title', head_ref: 'work', ...body }, ...options })

const fields = [
  ...['cr_id', 'account_id', 'project_id', 'number', 'title', 'description', 'base_ref', 'head_ref', 'status'],
  ...['head_commit_sha', 'base_commit_sha', 'missing_ref', 'origin_session_id', 'created_by', 'merged_at'],
  ...['merged_by', 'merge_commit_sha', 'closed_at', 'closed_by', 'metadata', 'created_at', 'updated_at'],
]

describe('opening a change request', () => {
  test('answers 201 with exactly the fields of the table and writes one audit row', async () => {
    const { status, body } = await open({ title: '  A title ', description: ' why \n', metadata: { a: [1] } })
    expect(status).toBe(201)
    expect(Object.keys(body).sort()).toEqual(fields.toSorted())
    expect(body).toMatchObject({
      account_id: app.owner.account_id,
      project_id: at.project.project_id,
      title: 'A title',
      description: 'why',
      base_ref: 'main',
      head_ref: 'work',
      status: 'open',
      head_commit_sha: await at.tip('work'),
      base_commit_sha: await at.tip('main'),
      origin_session_id: null,
      created_by: app.owner.user_id,
      merged_at: null,
      closed_at: null,
      metadata: { a: [1] },
    })
    expect(body.updated_at).toBe(body.created_at)
    expect(await auditOfObject(app, body.cr_id)).toMatchObject([
      { action: 'change_request.open', actor_kind: 'user', session_id: null, after: { number: body.number } },
    ])
  })

  test('accepts a second change request of the same head, and one with nothing ahead', async () => {
    await commit(at.repo, 'level', {}, { from: await at.tip('main') })
    expect((await open({})).status).toBe(201)
    expect((await open({ head_ref: 'level' })).status).toBe(201)
  })

  test.each([
    ['no title', { title: undefined }, 'title'],
    ['an empty title', { title: ' \n ' }, 'title'],
    ['a title of the wrong type', { title: 3 }, 'title'],
    ['a title that is too long', { title: 'x'.repeat(257) }, 'title'],
    ['no head', { head_ref: undefined }, 'head_ref'],
    ['a head that is no branch name', { head_ref: 'a..b' }, 'head_ref'],
    ['a head that is the base', { head_ref: 'main' }, 'head_ref'],
    ['a head that is the given base', { head_ref: 'work', base_ref: 'work' }, 'head_ref'],
    ['a description that is too long', { description: 'é'.repeat(33_000) }, 'description'],
    ['metadata that is too large', { metadata: { a: 'x'.repeat(20_000) } }, 'metadata'],
  ])('refuses %s and names the invalid field', async (_, body, path) => {
    const reply = await open<Refusal>(body)
    expect(reply.status).toBe(400)
    expect(reply.body.code).toBe('invalid')
    expect(reply.body.issues?.map((issue) => issue.path)).toEqual([path])
  })

  test.each([
    ['head_ref', { head_ref: 'nowhere' }, 'nowhere'],
    ['base_ref', { base_ref: 'nowhere/else' }, 'nowhere/else'],
  ])('names a %s that is not in the repository', async (path, body, ref) => {
    const reply = await open<Refusal>(body)
    expect(reply.status).toBe(400)
    expect(reply.body).toMatchObject({ code: 'ref_not_found', ref, issues: [{ path }] })
  })

  test('passes branch names to git as text, never as options or revisions', async () => {
    for (const name of [
      '-dash',
      '--upload-pack=x',
      'x$(id)',
      '+main',
      'refs/heads/main',
      'HEAD',
      'a'.repeat(40),
      'bränsch',
    ]) {
      expect((await open<Refusal>({ head_ref: name })).body.code).toBe('ref_not_found')
    }
    await commit(at.repo, 'refs/heads/main', { 'odd.txt': 'x' })
    const { status, body } = await open({ head_ref: 'refs/heads/main' })
    expect(status).toBe(201)
    expect(body.head_commit_sha).not.toBe(body.base_commit_sha)
  })

  test.each([
    ['broken JSON', '{"title": ', 400, 'invalid'],
    ['no body', '', 400, 'invalid'],
    ['a body that is not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 400, 'invalid'],
    ['a NUL character', '{"title": "a\\u0000b", "head_ref": "work"}', 400, 'invalid'],
    ['half of a surrogate pair', '{"title": "t", "head_ref": "work", "metadata": {"a": "\\ud800"}}', 400, 'invalid'],
    [
      'deep nesting',
      `{"title": "t", "head_ref": "work", "metadata": {"a": ${'['.repeat(9e4)}${']'.repeat(9e4)}}}`,
      400,
      'invalid',
    ],
    [
      'more than 1 MiB',
      JSON.stringify({ title: 't', head_ref: 'work', description: 'x'.repeat(1024 * 1024) }),
      413,
      'body_too_large',
    ],
  ])('refuses %s', async (_, body, status, code) => {
    const reply = await app.request<Refusal>('POST', at.path(), { body })
    expect(reply.status).toBe(status)
    expect(reply.body.code).toBe(code)
  })

  test('keeps a session of this project and drops one of another', async () => {
    const own = await app.makeSession(at.project)
    const foreign = await app.makeSession((await app.managedProject()).project)
    expect((await open({ session_id: own.session_id })).body.origin_session_id).toBe(own.session_id)
    for (const session_id of [foreign.session_id, crypto.randomUUID(), 'no uuid', "'; --", '', null])
      expect((await open({ session_id })).body.origin_session_id).toBeNull()
    await app.deps.db.deleteFrom('project_sessions').where('session_id', '=', own.session_id).execute()
  })

  test('the audit row of an agent names its own session, whatever the body says', async () => {
    const [agent, other] = [await app.makeSession(at.project), await app.makeSession(at.project)]
    const { body } = await open({ session_id: other.session_id }, { token: agent.token })
    expect(body).toMatchObject({ origin_session_id: other.session_id, created_by: app.owner.user_id })
    expect(await auditOfObject(app, body.cr_id)).toMatchObject([{ actor_kind: 'agent', session_id: agent.session_id }])
  })

  test('deleting the session keeps the change request without the link', async () => {
    const { session_id } = await app.makeSession(at.project)
    const { cr_id } = (await open({ session_id })).body
    await app.deps.db.deleteFrom('project_sessions').where('session_id', '=', session_id).execute()
    expect((await at.get(cr_id)).origin_session_id).toBeNull()
  })

  test('answers 502 when the repository is unreachable, and uses up no number', async () => {
    const outside = await app.externalProject()
    const there = testProject(app, outside)
    const first = await there.open('work', { 'a.txt': 'a\n' })
    await outside.host.close()
    const refused = await app.request<Refusal>('POST', there.path(), { body: { title: 't', head_ref: 'work' } })
    expect(refused.status).toBe(502)
    expect(refused.body.code).toBe('repository_unreachable')
    const { next_cr_number } = await app.deps.db
      .selectFrom('projects')
      .select('next_cr_number')
      .where('project_id', '=', outside.project.project_id)
      .executeTakeFirstOrThrow()
    expect(next_cr_number).toBe(first.number + 1)
  })
})

describe('numbers of change requests', () => {
  test('200 concurrent requests on two servers get the numbers 1 to 200', async () => {
    const fresh = testProject(app, await app.managedProject())
    await commit(fresh.repo, 'work', { 'a.txt': 'a\n' })
    const other = await app.anotherServer()
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        (n % 2 === 0 ? app : other).request<ChangeRequest>('POST', fresh.path(), {
          body: { title: `${n}`, head_ref: 'work' },
        }),
      ),
    )
    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([201]))
    const numbers = replies.map((reply) => reply.body.number).toSorted((a, b) => a - b)
    expect(numbers).toEqual(Array.from({ length: 200 }, (_, n) => n + 1))
  })

  test('closed and merged change requests keep their numbers', async () => {
    const fresh = testProject(app, await app.managedProject())
    const first = await fresh.open('one', { 'a.txt': 'a\n' })
    await app.request('POST', fresh.path(first.cr_id, 'close'))
    expect((await fresh.open('two', { 'b.txt': 'b\n' })).number).toBe(first.number + 1)
  })
})

describe('repeating the request', () => {
  test('the same key returns the first answer, and with another body 409', async () => {
    const headers = { 'idempotency-key': 'open-once' }
    const [first, again] = [await open({ title: 'Once' }, { headers }), await open({ title: 'Once' }, { headers })]
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect((await open<Refusal>({ title: 'Other' }, { headers })).body.code).toBe('idempotency_mismatch')
  })

  test('a retry after a crash finds the first row', async () => {
    const headers = { 'idempotency-key': 'crashed' }
    const first = await open({ title: 'Crashed' }, { headers })
    await app.deps.db
      .updateTable('idempotency_keys')
      .set({ status: null, body: null })
      .where('key', '=', 'crashed')
      .execute()
    const again = await open({ title: 'Crashed' }, { headers })
    expect(again.status).toBe(201)
    expect(again.body).toEqual(first.body)
  })
})
