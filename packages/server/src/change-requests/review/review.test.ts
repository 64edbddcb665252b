import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { ChangeRequest, ErrorBody, Message, Review } from '@svc/contract'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../../sessions/testing.ts'
import { type TestProject, testProject } from '../testing.ts'

let app: SessionApp
let at: TestProject
let session: RunningSession
let cr: ChangeRequest
beforeAll(async () => {
  app = await makeSessionApp()
  at = testProject(app, app)
  session = await app.running()
  cr = await at.open('work', { 'a.txt': 'one\ntwo\n' }, { session_id: session.session_id })
}, 120_000)
afterAll(() => app.close())

const comment = { path: 'a.txt', side: 'new', line: 2, quote: 'two', text: 'Say three.' }

const send = (body: object, { crId = cr.cr_id, key = randomUUID(), token = app.ownerToken } = {}) =>
  app.request<Review & ErrorBody>('POST', at.path(crId, 'reviews'), {
    body: { head_sha: cr.head_commit_sha, ...body },
    headers: { 'idempotency-key': key },
    token,
  })

async function promptsOf(sessionId: string): Promise<string[]> {
  const { body } = await app.request<{ messages: Message[] }>('GET', app.path(sessionId, 'transcript'))
  return body.messages
    .filter(({ role }) => role === 'user')
    .map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''))
}

describe('reviewing a change request', () => {
  test('sends the review to the session as one prompt with its positions, and stores it with the change request', async () => {
    const { status, body } = await send({ body: 'Nearly there.', comments: [comment] })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      cr_id: cr.cr_id,
      head_sha: cr.head_commit_sha!,
      body: 'Nearly there.',
      session_id: session.session_id,
      comments: [{ ...comment, start_line: null } as Review['comments'][number]],
    })
    const prompt = await until(
      'the session has the review',
      async () => (await promptsOf(session.session_id)).find((text) => text.includes('Nearly there.')) ?? null,
    )
    expect(prompt).toContain(`#${cr.number}`)
    expect(prompt).toContain('a.txt:2\n> two\nSay three.')
    const { body: listed } = await app.request<{ reviews: Review[] }>('GET', at.path(cr.cr_id, 'reviews'))
    expect(listed.reviews.map(({ review_id }) => review_id)).toEqual([body.review_id])
    expect(listed.reviews[0]?.created_by_name).toBeString()
  })

  test('a review sent twice with one key is stored and delivered once', async () => {
    const key = randomUUID()
    const answers = [await send({ body: 'Only once.' }, { key }), await send({ body: 'Only once.' }, { key })]
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(answers[0]!.body.review_id).toBe(answers[1]!.body.review_id)
    await until('the session has the review', async () =>
      (await promptsOf(session.session_id)).some((text) => text.includes('Only once.')),
    )
    expect((await promptsOf(session.session_id)).filter((text) => text.includes('Only once.'))).toHaveLength(1)
  })

  test('refuses a review by an agent', async () => {
    const { status, body } = await send({ body: 'Good work, me.' }, { token: session.env.SVC_CLI_TOKEN! })
    expect(status).toBe(403)
    expect(body.error).toContain('agent')
  })

  test('restarts a stopped session', async () => {
    await app.request('POST', app.path(session.session_id, 'stop'))
    expect((await send({ body: 'Wake up.' })).status).toBe(201)
    await app.reaches(session.session_id, 'running')
    await until('the session has the review', async () =>
      (await promptsOf(session.session_id)).some((text) => text.includes('Wake up.')),
    )
  })

  test('only stores a review with send: false, and refuses to send one without a session', async () => {
    const other = await at.open('other', { 'b.txt': 'b\n' })
    const refused = await send({ body: 'Anyone?' }, { crId: other.cr_id })
    expect(refused.status).toBe(409)
    expect(refused.body.hint).toContain('"send": false')
    const kept = await send({ body: 'Anyone?', send: false }, { crId: other.cr_id })
    expect(kept.status).toBe(201)
    expect(kept.body.session_id).toBeNull()
    const { body } = await app.request<{ reviews: Review[] }>('GET', at.path(other.cr_id, 'reviews'))
    expect(body.reviews).toHaveLength(1)
  })

  test.each<[string, object]>([
    ['no word', {}],
    ['an empty comment', { comments: [{ ...comment, text: ' ' }] }],
    ['a line that is none', { comments: [{ ...comment, line: 0 }] }],
    ['a side that is none', { comments: [{ ...comment, side: 'left' }] }],
    ['a head that is no commit', { body: 'x', head_sha: 'main' }],
    [
      'more than a prompt holds',
      { comments: Array.from({ length: 200 }, () => ({ ...comment, text: 'x'.repeat(2000) })) },
    ],
  ])('refuses a review with %s and stores nothing', async (_, body) => {
    const before = await app.request<{ reviews: Review[] }>('GET', at.path(cr.cr_id, 'reviews'))
    expect((await send(body)).status).toBe(400)
    const after = await app.request<{ reviews: Review[] }>('GET', at.path(cr.cr_id, 'reviews'))
    expect(after.body.reviews).toHaveLength(before.body.reviews.length)
  })
})
