import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { ChangeRequest, ChangeRequestDiff, ErrorBody, Review, ReviewState } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { gitText, type Refusal, type TestProject, testProject } from '../testing.ts'

let app: TestApp
let at: TestProject
let cr: ChangeRequest
beforeAll(async () => {
  app = await makeTestApp()
  at = testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))
  cr = await at.open('work', { 'a.txt': 'b\n' })
}, 120_000)
afterAll(() => app.close())

const none: ReviewState = { viewed: {}, drafts: [], visit: null, earlier_visit: null, file_order: null }
const state = (token = app.ownerToken) =>
  app.request<ReviewState>('GET', at.path(cr.cr_id, 'review-state'), { token }).then(({ body }) => body)
const edit = (body: object, token = app.ownerToken) =>
  app.request<ReviewState & ErrorBody>('PATCH', at.path(cr.cr_id, 'review-state'), { body, token })
const draft = (text: string) => ({ path: 'a.txt', side: 'new', line: 1, start_line: null, quote: 'b', text })

test('viewed files and drafts belong to one person, and change one by one', async () => {
  expect(await state()).toEqual(none)
  const [one, two] = [randomUUID(), randomUUID()]
  await edit({ viewed: { 'a.txt': 'v1', 'b.txt': 'v1' }, drafts: { [one]: draft('') } })
  await edit({ viewed: { 'a.txt': 'v2', 'b.txt': null }, drafts: { [two]: draft('Two.') } })
  await edit({ drafts: { [one]: draft('One.') } })
  const mine = await state()
  expect(mine).toEqual({
    ...none,
    viewed: { 'a.txt': 'v2' },
    drafts: [
      { draft_id: one, ...draft('One.') },
      { draft_id: two, ...draft('Two.') },
    ] as ReviewState['drafts'],
  })
  const { token } = await app.makeUser('member')
  expect(await state(token)).toEqual(none)
  await edit({ drafts: { [one]: null } }, token)
  expect(await state()).toEqual(mine)

  // A review takes its drafts along, and leaves the others.
  const body = { head_sha: cr.head_commit_sha, body: 'Done.', send: false, draft_ids: [one] }
  await app.request<Review>('POST', at.path(cr.cr_id, 'reviews'), { body })
  expect((await state()).drafts.map(({ draft_id }) => draft_id)).toEqual([two])
})

test('the head seen before becomes the earlier one, and the same head again changes nothing', async () => {
  const [first, second] = ['1'.repeat(40), '2'.repeat(40)]
  for (const visited of [first, first, second, second]) await edit({ visited })
  expect(await state()).toMatchObject({ visit: { head_sha: second }, earlier_visit: { head_sha: first } })
})

test('the order of the files belongs to one person and applies to all their change requests', async () => {
  const other = await at.open('order', { 'a.txt': 'c\n' })
  const orderIn = async (crId: string, token = app.ownerToken) =>
    (await app.request<ReviewState>('GET', at.path(crId, 'review-state'), { token })).body.file_order
  expect(await orderIn(other.cr_id)).toBeNull()
  await edit({ file_order: 'guided' })
  expect([await orderIn(cr.cr_id), await orderIn(other.cr_id)]).toEqual(['guided', 'guided'])
  expect(await orderIn(other.cr_id, (await app.makeUser('member')).token)).toBeNull()
  await edit({ viewed: {} })
  await edit({ file_order: 'folders' })
  expect(await orderIn(other.cr_id)).toBe('folders')
  expect((await edit({ file_order: 'size' })).body.code).toBe('invalid')
})

test('refuses more drafts than a review can have, and keeps those that were there', async () => {
  const before = await state()
  const many = () => Object.fromEntries(Array.from({ length: 150 }, () => [randomUUID(), draft('x')]))
  expect((await edit({ drafts: many() })).status).toBe(200)
  const refused = await edit({ drafts: many() })
  expect([refused.status, refused.body.code]).toEqual([429, 'limit_reached'])
  expect((await state()).drafts).toHaveLength(before.drafts.length + 150)
})

test('lists each push as a version, and compares any two of them', async () => {
  const other = await at.open('versions', { 'a.txt': '1\n' })
  const push = async (files: Record<string, string>) => {
    await commit(at.repo, 'versions', files)
    return (await at.get(other.cr_id)).head_commit_sha!
  }
  const [one, two] = [other.head_commit_sha!, await push({ 'a.txt': '2\n' })]
  const three = await push({ 'b.txt': 'b\n' })
  // A head that returns is a version again.
  await gitText(at.repo, 'update-ref', 'refs/heads/versions', two)
  await at.get(other.cr_id)
  const { body } = await app.request<{ versions: { head_sha: string }[] }>('GET', at.path(other.cr_id, 'versions'))
  expect(body.versions).toMatchObject([
    { number: 1, from_sha: null, head_sha: one, base_sha: other.base_commit_sha },
    { number: 2, from_sha: one, head_sha: two },
    { number: 3, from_sha: two, head_sha: three },
    { number: 4, from_sha: three, head_sha: two },
  ])
  const diff = (query: string) =>
    app.request<ChangeRequestDiff & Refusal>('GET', at.path(other.cr_id, `diff?${query}`)).then(({ body }) => body)
  const files = async (query: string) => (await diff(query)).files.map(({ path }) => path)
  expect(await files(`since=${one}&to=${three}`)).toEqual(['a.txt', 'b.txt'])
  expect(await files(`since=${two}&to=${three}`)).toEqual(['b.txt'])
  expect(await files(`to=${one}`)).toEqual(['a.txt'])
  expect((await diff(`to=${one}`)).patch).toContain('+1')
  expect((await diff(`to=${await at.tip('work')}`)).issues?.[0]?.path).toBe('to')
})
