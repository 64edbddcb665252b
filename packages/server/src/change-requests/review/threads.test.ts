import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { ChangeRequest, ErrorBody, Message, Review, ReviewThread } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../../sessions/testing.ts'
import { auditOfObject, gitText, type TestProject, testProject } from '../testing.ts'

let app: SessionApp
let at: TestProject
let session: RunningSession
let cr: ChangeRequest
let agent: string
beforeAll(async () => {
  app = await makeSessionApp()
  at = testProject(app, app)
  session = await app.running()
  agent = session.env.SVC_CLI_TOKEN!
  cr = await at.open(
    session.branch_name,
    { 'a.txt': 'one\ntwo\nthree\nfour\n', 'b.txt': 'b\n' },
    { session_id: session.session_id },
  )
}, 120_000)
afterAll(() => app.close())

const on = (line: number, text: string, path = 'a.txt') => ({ path, side: 'new', line, text })

async function review(body: object, { of = cr, token = app.ownerToken } = {}): Promise<Review> {
  const { head_commit_sha } = await at.get(of.cr_id)
  const made = await app.request<Review>('POST', at.path(of.cr_id, 'reviews'), {
    body: { head_sha: head_commit_sha, send: false, ...body },
    token,
  })
  expect([made.status, made.status === 201 ? '' : made.text]).toEqual([201, ''])
  return made.body
}

const reviews = async (of = cr) =>
  (await app.request<{ reviews: Review[] }>('GET', at.path(of.cr_id, 'reviews'))).body.reviews
const now = async ({ review_id }: Review, of = cr) => (await reviews(of)).find((each) => each.review_id === review_id)!

type Ask = { token?: string; of?: ChangeRequest }
const about =
  <Verb extends 'answer' | 'replies' | null>(verb: Verb) =>
  (commentId: string, body: object, { token = app.ownerToken, of = cr }: Ask = {}) =>
    app.request<Review & ErrorBody>(
      verb === null ? 'PATCH' : 'POST',
      at.path(of.cr_id, `reviews/comments/${commentId}${verb === null ? '' : `/${verb}`}`),
      { body, token },
    )
const answer = about('answer')
const reply = about('replies')
const resolve = about(null)
const push = async (files: Record<string, string | null>, message?: string) => {
  await commit(app.repo, cr.head_ref, files, ...(message === undefined ? [] : [{ message }]))
  return at.tip(cr.head_ref)
}
const places = ({ comments }: Review) =>
  comments.map(({ current, outdated }) => [current?.path, current?.line, outdated])

describe('a review is a checklist', () => {
  test('its agent answers each comment, with the commit that did it or a reason, and only then is it answered', async () => {
    const made = await review({ comments: [on(2, 'Say deux.'), on(3, 'Say trois.')] })
    const [two, three] = made.comments as [ReviewThread, ReviewThread]
    expect(made.comments.map(({ state }) => state)).toEqual(['open', 'open'])
    const early = await answer(two.comment_id, { outcome: 'done' }, { token: agent })
    expect([early.status, early.body.hint]).toEqual([400, expect.stringContaining('Push')])

    const sha = await push({ 'a.txt': 'one\ndeux\nthree\nfour\n' })
    expect((await now(made)).answer).toBeNull()
    const done = await answer(two.comment_id, { outcome: 'done', text: 'Done so.' }, { token: agent })
    expect([done.status, done.body.answer]).toEqual([200, null])
    expect(done.body.comments[0]).toMatchObject({
      state: 'answered',
      answer: { outcome: 'done', commit: sha },
      replies: [{ text: 'Done so.', outcome: 'done', commit: sha, session_id: session.session_id }],
    })
    const declined = await answer(three.comment_id, { outcome: 'declined', text: 'It is English.' }, { token: agent })
    expect(declined.body.comments[1]).toMatchObject({
      state: 'answered',
      answer: { outcome: 'declined', commit: null },
    })
    expect(declined.body.answer).toEqual({ head_sha: sha, seen_at: declined.body.comments[1]!.answer!.answered_at })
    expect((await now(made)).answer).toEqual(declined.body.answer)
  })

  test('a push that answers another review leaves this one unanswered', async () => {
    const [first, second] = [await review({ comments: [on(1, 'One?')] }), await review({ body: 'And two?' })]
    await push({ 'b.txt': 'bb\n' })
    await answer(second.thread!.comment_id, { outcome: 'done' }, { token: agent })
    expect([(await now(first)).answer, (await now(second)).answer]).toEqual([null, expect.any(Object)])
    expect((await now(second)).thread).toMatchObject({ state: 'answered' })
  })

  test('a commit that names the review in a trailer answers it, and no other', async () => {
    const [first, second] = [await review({ body: 'This.' }), await review({ body: 'That.' })]
    const sha = await push({ 'b.txt': 'bbb\n' }, `Do that\n\nReview: ${second.review_id.slice(0, 8)}\n`)
    await at.get(cr.cr_id)
    expect((await now(first)).answer).toBeNull()
    expect((await now(second)).answer).toMatchObject({ head_sha: sha })
  })

  test.each<[string, object, string]>([
    ['declines without a reason', { outcome: 'declined' }, 'has to give the reason'],
    ['declines with a commit', { outcome: 'declined', text: 'No.', commit: 'a'.repeat(40) }, 'only for'],
    ['names a commit that is not on the branch', { outcome: 'done', commit: 'a'.repeat(40) }, 'not part'],
  ])('refuses an answer that %s', async (_, body, issue) => {
    const made = await review({ body: 'Well?' })
    const refused = await answer(made.thread!.comment_id, body, { token: agent })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(issue)])
    expect((await now(made)).thread!.state).toBe('open')
  })

  test('takes an earlier commit of the branch by its id, and a repeated answer once', async () => {
    const made = await review({ body: 'Test it.' })
    const earlier = await gitText(app.repo, 'rev-parse', `${cr.head_ref}~1`)
    const key = { 'idempotency-key': randomUUID() }
    const path = at.path(cr.cr_id, `reviews/comments/${made.thread!.comment_id}/answer`)
    for (let times = 0; times < 2; times++)
      await app.request('POST', path, { body: { outcome: 'done', commit: earlier }, headers: key, token: agent })
    const { thread } = await now(made)
    expect(thread!.answer).toMatchObject({ commit: earlier })
    expect(thread!.replies).toHaveLength(1)
  })
})

describe('an agent', () => {
  test("answers only on its own session's branch, and neither resolves nor sends", async () => {
    const other = await at.open('other', { 'c.txt': 'c\n' })
    const theirs = await review({ body: 'Why c?' }, { of: other })
    const id = theirs.thread!.comment_id
    const no = { outcome: 'declined', text: 'No.' }
    const from = { token: agent, of: other }
    expect((await answer(id, no, from)).status).toBe(403)
    expect((await reply(id, { text: 'Hm.' }, from)).status).toBe(403)
    expect((await resolve(id, { resolved: true }, from)).status).toBe(403)
    const mine = (await review({ body: 'Why?' })).thread!.comment_id
    expect((await reply(mine, { text: 'Hm.' }, { token: agent })).status).toBe(201)
    expect((await reply(mine, { text: 'Hm.', send: true }, { token: agent })).status).toBe(403)
    expect((await resolve(mine, { resolved: true }, { token: agent })).status).toBe(403)
    // A comment is found only at its own change request.
    expect((await answer(id, no, { token: agent })).status).toBe(404)
    expect((await now(theirs, other)).thread).toMatchObject({ state: 'open', replies: [] })
  })
})

describe('people', () => {
  test('resolve and reopen a comment, each once', async () => {
    const made = await review({ body: 'Fine?' })
    const id = made.thread!.comment_id
    for (const resolved of [true, true, false, false]) await resolve(id, { resolved })
    expect((await now(made)).thread).toMatchObject({ state: 'open', resolved_at: null })
    const { body } = await resolve(id, { resolved: true })
    expect(body.thread).toMatchObject({ state: 'resolved', resolved_by_name: expect.any(String) })
    const audited = await auditOfObject(app, cr.cr_id)
    expect(audited.filter(({ after }) => JSON.stringify(after).includes(id))).toHaveLength(3)
  })

  test('ask again with a reply that is sent, which the agent gets with the commands', async () => {
    const made = await review({ comments: [on(1, 'Say un.')] })
    const id = made.comments[0]!.comment_id
    await answer(id, { outcome: 'declined', text: 'No.' }, { token: agent })
    await reply(id, { text: 'A remark on the side.' })
    expect((await now(made)).comments[0]!.state).toBe('answered')
    expect((await reply(id, { text: 'Yes, please.', send: true })).status).toBe(201)
    expect((await now(made)).comments[0]).toMatchObject({ state: 'open', answer: null })
    expect((await now(made)).answer).toBeNull()
    const prompt = await until('the session has the reply', async () => {
      const { body } = await app.request<{ messages: Message[] }>('GET', app.path(session.session_id, 'transcript'))
      const texts = body.messages.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')))
      return texts.find((text) => text.includes('Yes, please.')) ?? null
    })
    expect(prompt).toContain(`svc cr answer ${id.slice(0, 8)} --cr ${cr.number} --done --commit <sha>`)
    expect(prompt).toContain('a.txt:1')
  })
})

describe('a comment after a push', () => {
  test('moves with its lines, and is outdated once they changed', async () => {
    await push({ 'a.txt': 'one\ntwo\nthree\nfour\n' })
    const made = await review({ comments: [on(1, 'a'), on(3, 'b'), on(1, 'c', 'b.txt')] })
    await push({ 'a.txt': 'zero\none\ntwo\nTHREE\nfour\n', 'b.txt': null })
    await at.get(cr.cr_id)
    expect(places(await now(made))).toEqual([
      ['a.txt', 2, false],
      [undefined, undefined, true],
      [undefined, undefined, true],
    ])
  })

  test('is found again when the branch was rewritten', async () => {
    const made = await review({ comments: [on(5, 'four')] })
    const parent = await gitText(app.repo, 'rev-parse', `${cr.head_ref}~3`)
    await gitText(app.repo, 'update-ref', `refs/heads/${cr.head_ref}`, parent)
    await push({ 'a.txt': 'four\n' })
    await at.get(cr.cr_id)
    expect(places(await now(made))).toEqual([['a.txt', 1, false]])
  })
})
