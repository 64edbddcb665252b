/** Suggestions of reviews, applied through the API, in repositories that the service keeps and on a host. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ChangeRequest, ErrorBody, Project, Review } from '@svc/contract'
import { commit, makeRepo, serveHttpBackend } from '@svc/git/testing'
import { makeSessionApp, type SessionApp } from '../../sessions/testing.ts'
import { auditOfObject, gitText, type TestProject, testProject } from '../testing.ts'

let app: SessionApp
let kept: TestProject
let onHost: TestProject
const closing: (() => Promise<unknown>)[] = []
const main = { 'a.txt': 'one\ntwo\nthree\nfour\n', 'b/c.txt': 'c\n' }
beforeAll(async () => {
  app = await makeSessionApp()
  kept = testProject(app, app)
  const repo = await makeRepo({ main })
  const host = await serveHttpBackend(repo.dir)
  closing.push(host.close, repo.remove)
  const made = await app.request<Project>('POST', '/v1/projects', { body: { name: 'on a host', repo_url: host.url } })
  onHost = testProject(app, { project: made.body, repo })
}, 120_000)
afterAll(async () => {
  await app.close()
  for (const close of closing) await close()
}, 120_000)

const suggest = (line: number, lines: string[], more: object = {}) => ({
  ...{ path: 'a.txt', side: 'new', line },
  text: ['Say it so:', '```suggestion', ...lines, '```'].join('\n'),
  ...more,
})

let branches = 0
async function proposed(at: TestProject, comments: object[]) {
  const cr = await at.open(`work-${++branches}`, main)
  const made = await app.request<Review>('POST', at.path(cr.cr_id, 'reviews'), {
    body: { head_sha: cr.head_commit_sha, send: false, comments },
  })
  expect([made.status, made.status === 201 ? '' : made.text]).toEqual([201, ''])
  return { cr, ids: made.body.comments.map(({ comment_id }) => comment_id), review: made.body }
}

type Applied = { commit: string; change_request: ChangeRequest; reviews: Review[] } & ErrorBody
type Ask = { head?: string | null; key?: string; token?: string; message?: string }

const apply = (at: TestProject, cr: ChangeRequest, comment_ids: string[], ask: Ask = {}) =>
  app.request<Applied>('POST', at.path(cr.cr_id, 'suggestions/apply'), {
    body: { comment_ids, expected_head_sha: ask.head ?? cr.head_commit_sha, message: ask.message },
    headers: { 'idempotency-key': ask.key ?? randomUUID() },
    ...(ask.token === undefined ? {} : { token: ask.token }),
  })
const show = (at: TestProject, cr: ChangeRequest, path = 'a.txt') => gitText(at.repo, 'show', `${cr.head_ref}:${path}`)

describe.each(['kept by the service', 'on a host'])('suggestions in a repository %s', (kind) => {
  const at = () => (kind === 'on a host' ? onHost : kept)

  test('several become one commit by the person who applies them, which resolves their comments', async () => {
    const { cr, ids, review } = await proposed(at(), [
      suggest(2, ['zwei', 'zwei und ein halb']),
      suggest(4, [], { start_line: 3 }),
      suggest(1, ['C'], { path: 'b/c.txt' }),
    ])
    expect(review.comments.map(({ suggestion }) => suggestion)).toEqual([
      { lines: ['zwei', 'zwei und ein halb'], refusal: null },
      { lines: [], refusal: null },
      { lines: ['C'], refusal: null },
    ])
    const made = await apply(at(), cr, ids)
    expect([made.status, made.status === 201 ? '' : made.text]).toEqual([201, ''])
    const { commit: sha, change_request, reviews } = made.body
    expect(await at().tip(cr.head_ref)).toBe(sha)
    expect(change_request.head_commit_sha).toBe(sha)
    expect(await show(at(), cr)).toBe('one\nzwei\nzwei und ein halb')
    expect(await show(at(), cr, 'b/c.txt')).toBe('C')
    const { user } = (
      await app.request<{ user: { user_id: string; name: string; email: string | null } }>('GET', '/v1/token')
    ).body
    expect(await gitText(at().repo, 'log', '-1', '--format=%an <%ae>, %cn, %P, %s', sha)).toBe(
      `${user.name} <${user.email ?? user.user_id}>, svc, ${cr.head_commit_sha}, Apply 3 suggestions from the review of #${cr.number}`,
    )
    for (const comment of reviews[0]!.comments)
      expect(comment).toMatchObject({
        state: 'resolved',
        answer: { outcome: 'done', commit: sha },
        replies: [{ text: 'Applied the suggestion.', commit: sha, session_id: null }],
        suggestion: { refusal: 'Its comment is resolved.' },
      })
    const audited = await auditOfObject(app, cr.cr_id)
    expect(audited.at(-1)).toMatchObject({
      action: 'change_request.apply_suggestions',
      before: { head_sha: cr.head_commit_sha },
      after: { comments: ids, commit: sha },
    })
  })

  test('a head that moved is refused, and says what to do', async () => {
    const { cr, ids } = await proposed(at(), [suggest(2, ['zwei'])])
    const pushed = await commit(at().repo, cr.head_ref, { 'd.txt': 'd\n' })
    const refused = await apply(at(), cr, ids)
    expect([refused.status, refused.body.code]).toEqual([409, 'head_moved'])
    expect(refused.body.hint).toContain('apply the suggestion again')
    expect(await at().tip(cr.head_ref)).toBe(pushed)
    const made = await apply(at(), cr, ids, { head: pushed, message: 'Count in German' })
    expect([made.status, await show(at(), cr)]).toEqual([201, 'one\nzwei\nthree\nfour'])
    expect(await gitText(at().repo, 'log', '-1', '--format=%s', cr.head_ref)).toBe('Count in German')
  })

  test('an outdated one is refused with the reason, and the others with it', async () => {
    const { cr, ids } = await proposed(at(), [suggest(2, ['zwei']), suggest(4, ['vier'])])
    const head = await commit(at().repo, cr.head_ref, { 'a.txt': 'zero\none\nTWO\nthree\nfour\n' })
    const refused = await apply(at(), cr, ids, { head })
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict'])
    expect(refused.body.error).toBe(
      '1 of 2 suggestions cannot be applied, so none was. a.txt:2: Its lines changed since it was written.',
    )
    expect(refused.body.refused).toMatchObject([{ comment_id: ids[0], place: 'a.txt:2' }])
    expect(await at().tip(cr.head_ref)).toBe(head)
    const { body } = await app.request<{ reviews: Review[] }>('GET', at().path(cr.cr_id, 'reviews'))
    expect(body.reviews[0]!.comments.map(({ suggestion }) => suggestion!.refusal)).toEqual([
      'Its lines changed since it was written.',
      null,
    ])
    // The other one is applied where its lines are now.
    expect((await apply(at(), cr, [ids[1]!], { head })).status).toBe(201)
    expect(await show(at(), cr)).toBe('zero\none\nTWO\nthree\nvier')
  })

  test('a repetition whose first try moved the branch, but ended before its answer, finds that commit', async () => {
    const { cr, ids } = await proposed(at(), [suggest(2, ['zwei'])])
    const first = await apply(at(), cr, ids)
    await app.deps.db.deleteFrom('review_replies').where('comment_id', '=', ids[0]!).execute()
    const open = { resolved_at: null, resolved_by: null, outcome: null, commit_sha: null, answered_at: null }
    await app.deps.db.updateTable('review_comments').set(open).where('comment_id', '=', ids[0]!).execute()
    const second = await apply(at(), cr, ids)
    expect([second.status, second.body.commit]).toEqual([201, first.body.commit])
    expect(await at().tip(cr.head_ref)).toBe(first.body.commit)
    expect(second.body.reviews[0]!.comments[0]).toMatchObject({ state: 'resolved' })
  })
})

describe('suggestions', () => {
  test('two at once leave one commit, and the other person sees that the head moved', async () => {
    const { cr, ids } = await proposed(kept, [suggest(2, ['zwei']), suggest(4, ['vier'])])
    const both = await Promise.all(ids.map((id) => apply(kept, cr, [id])))
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409])
    expect(await gitText(kept.repo, 'rev-list', '--count', `${cr.head_commit_sha}..${cr.head_ref}`)).toBe('1')
  })

  test('of two people who apply the same one at once, one gets a conflict that names the commit of the other', async () => {
    const { token: bo } = await app.makeUser('member')
    for (const tokens of [
      [bo, undefined],
      [undefined, bo],
      [undefined, undefined],
    ] as const) {
      const { cr, ids } = await proposed(kept, [suggest(2, ['zwei'])])
      const both = await Promise.all(tokens.map((token) => apply(kept, cr, ids, token === undefined ? {} : { token })))
      const [first, second] = both.toSorted((one, other) => one.status - other.status)
      expect([first!.status, second!.status]).toEqual([201, 409])
      const { commit: sha } = first!.body
      expect(await kept.tip(cr.head_ref)).toBe(sha)
      expect(second!.body).toMatchObject({ code: 'conflict', error: expect.stringContaining(sha.slice(0, 10)) })
      const { body } = await app.request<{ reviews: Review[] }>('GET', kept.path(cr.cr_id, 'reviews'))
      expect(body.reviews[0]!.comments[0]!.replies).toMatchObject([{ commit: sha }])
    }
  })

  test('the commit of another person is no earlier try of the same request', async () => {
    const { token: bo } = await app.makeUser('member')
    const { cr, ids } = await proposed(kept, [suggest(2, ['zwei'])])
    const first = await apply(kept, cr, ids, { token: bo })
    // As if that request had moved the branch, and not recorded it yet.
    await app.deps.db.deleteFrom('review_replies').where('comment_id', '=', ids[0]!).execute()
    const open = { resolved_at: null, resolved_by: null, outcome: null, commit_sha: null, answered_at: null }
    await app.deps.db.updateTable('review_comments').set(open).where('comment_id', '=', ids[0]!).execute()
    const second = await apply(kept, cr, ids)
    expect([second.status, second.body.code]).toEqual([409, 'conflict'])
    expect(second.body).toMatchObject({ commit: first.body.commit })
  })

  test('a comment without the lines that it replaces gets them from the reviewed commit', async () => {
    const { review } = await proposed(kept, [
      suggest(3, ['zwei'], { start_line: 2 }),
      suggest(9, ['past the end']),
      { ...suggest(1, []), text: 'No suggestion.' },
      suggest(4, ['vier'], { quote: 'as it was sent' }),
    ])
    expect(review.comments.map(({ quote }) => quote)).toEqual(['two\nthree', '', '', 'as it was sent'])
  })

  test('a request sent twice with one key is applied once', async () => {
    const { cr, ids } = await proposed(kept, [suggest(2, ['zwei'])])
    const key = randomUUID()
    const answers = [await apply(kept, cr, ids, { key }), await apply(kept, cr, ids, { key })]
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(answers[1]!.body.commit).toBe(answers[0]!.body.commit)
  })

  test('an agent cannot apply them', async () => {
    const session = await app.running()
    const { cr, ids } = await proposed(kept, [suggest(2, ['zwei'])])
    const refused = await apply(kept, cr, ids, { token: session.env.SVC_CLI_TOKEN! })
    expect([refused.status, refused.body.error]).toEqual([403, 'An agent cannot apply suggestions.'])
    expect(await kept.tip(cr.head_ref)).toBe(cr.head_commit_sha!)
  })

  test.each<[string, object[], number, string]>([
    ['on the lines before the change', [suggest(2, ['zwei'], { side: 'old' })], 409, 'as they were before'],
    ['that overlap', [suggest(3, ['x'], { start_line: 2 }), suggest(3, ['y'])], 409, 'overlap'],
    ['that change nothing', [suggest(2, ['two'])], 409, 'are as it suggests already'],
    ['past the end of the file', [suggest(9, ['x'])], 409, 'not in the file'],
    ['in a comment that suggests nothing', [{ ...suggest(2, []), text: 'Why?' }], 400, 'suggests no change'],
  ])('refuses suggestions %s', async (_, comments, status, error) => {
    const { cr, ids } = await proposed(kept, comments)
    const refused = await apply(kept, cr, ids)
    expect([refused.status, refused.body.error]).toEqual([status, expect.stringContaining(error)])
    expect(await kept.tip(cr.head_ref)).toBe(cr.head_commit_sha!)
  })

  test('refuses one that adds the value of a secret, as a push would', async () => {
    const value = `sk-${randomUUID()}`
    const path = `/v1/projects/${kept.project.project_id}/secrets`
    expect((await app.request('POST', path, { body: { name: 'API_KEY', value } })).status).toBeLessThan(300)
    const { cr, ids } = await proposed(kept, [suggest(2, [`key = ${value}`])])
    const refused = await apply(kept, cr, ids)
    expect([refused.status, refused.body.error]).toEqual([422, 'a.txt:2 adds the value of the secret API_KEY.'])
    expect(await kept.tip(cr.head_ref)).toBe(cr.head_commit_sha!)
  })

  test('refuses them on a closed change request, and on the default branch', async () => {
    const { cr, ids } = await proposed(kept, [suggest(2, ['zwei'])])
    await app.request('POST', kept.path(cr.cr_id, 'close'))
    expect((await apply(kept, cr, ids)).body).toMatchObject({ code: 'not_open', hint: 'Reopen it first.' })
    await commit(kept.repo, 'release', main)
    const tip = await kept.tip('main')
    const backwards = await app.request<ChangeRequest>('POST', kept.path(), {
      body: { title: 'Back', head_ref: 'main', base_ref: 'release' },
    })
    const made = await app.request<Review>('POST', kept.path(backwards.body.cr_id, 'reviews'), {
      body: { head_sha: tip, send: false, comments: [suggest(1, ['x'], { path: 'README.md' })] },
    })
    const refused = await apply(kept, backwards.body, [made.body.comments[0]!.comment_id])
    expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining('merged change requests only')])
  })

  test('says what the host refused, and changes nothing', async () => {
    const { cr, ids } = await proposed(onHost, [suggest(2, ['zwei'])])
    const hook = join(onHost.repo.dir, 'hooks/pre-receive')
    await mkdir(dirname(hook), { recursive: true })
    await writeFile(hook, '#!/bin/sh\necho "only signed commits" >&2\nexit 1\n', { mode: 0o755 })
    const refused = await apply(onHost, cr, ids)
    await writeFile(hook, '#!/bin/sh\nexit 0\n', { mode: 0o755 })
    expect([refused.status, refused.body.code]).toEqual([409, 'branch_protected'])
    expect(refused.body.error).toContain('only signed commits')
    expect(await onHost.tip(cr.head_ref)).toBe(cr.head_commit_sha!)
    expect((await apply(onHost, cr, ids)).status).toBe(201)
  })
})
