import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { MergePreview } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { gitText, type Refusal, type TestProject, testProject } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const preview = async (at: TestProject, crId: string, query = '?include=collisions') => {
  const reply = await app.request<MergePreview>('GET', `${at.path(crId, 'merge-preview')}${query}`)
  expect(reply.status).toBe(200)
  return reply.body
}

test('a preview has collisions only on request, and refuses unknown includes', async () => {
  const at = testProject(app, await app.managedProject())
  const cr = await at.open('work', { 'a.txt': 'a\n' })
  expect(Object.keys(await preview(at, cr.cr_id, '')).toSorted()).toEqual(
    ['base_sha', 'can_fast_forward', 'can_merge', 'conflicts', 'head_sha', 'is_up_to_date', 'merge_base'].toSorted(),
  )
  expect(await preview(at, cr.cr_id)).toMatchObject({ collisions: [], collisions_truncated: false })
  for (const include of ['', 'effect', 'collisions,', 'collisions,x', 'COLLISIONS', '%00', ' collisions']) {
    const reply = await app.request<Refusal>('GET', `${at.path(cr.cr_id, 'merge-preview')}?include=${include}`)
    expect([include, reply.status, reply.body.code]).toEqual([include, 400, 'invalid'])
  }
})

test('lists the open change requests of the same base that this one would break, newest first', async () => {
  const at = testProject(app, await app.managedProject({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' }))
  await commit(at.repo, 'other-base', { 'z.txt': 'z\n' })
  const work = await at.open('work', { 'a.txt': 'work\n', 'b.txt': 'work\n' })
  const one = await at.open('one', { 'a.txt': 'one\n' })
  const two = await at.open('two', { 'a.txt': 'two\n', 'b.txt': 'two\n' })
  await at.open('apart', { 'c.txt': 'apart\n' })
  await at.open('elsewhere', { 'a.txt': 'elsewhere\n' }, { base_ref: 'other-base' })
  const closed = await at.open('closed', { 'a.txt': 'closed\n' })
  await app.request('POST', at.path(closed.cr_id, 'close'))
  const wanted = [
    { number: two.number, files: ['a.txt', 'b.txt'] },
    { number: one.number, files: ['a.txt'] },
  ]
  expect((await preview(at, work.cr_id)).collisions).toEqual(wanted)

  // The current branch, not the branch when the change request was opened.
  await commit(at.repo, 'apart', { 'b.txt': 'apart\n' })
  expect((await preview(at, work.cr_id)).collisions?.map(({ number }) => number)).toContain(closed.number - 2)
  await gitText(at.repo, 'update-ref', '-d', 'refs/heads/apart')

  expect((await at.merge(work.cr_id)).status).toBe(200)
  // The prediction held, and a merged change request collides with nothing.
  const { body } = await app.request<MergePreview>('GET', at.path(two.cr_id, 'merge-preview'))
  expect(body.conflicts).toEqual(wanted[0]!.files)
  expect((await preview(at, work.cr_id)).collisions).toEqual([])
  expect((await preview(at, two.cr_id)).collisions).toEqual([])
})

test('finds collisions in an external repository', async () => {
  const at = testProject(app, await app.externalProject({ 'a.txt': 'a\n' }))
  const work = await at.open('work', { 'a.txt': 'work\n' })
  const one = await at.open('one', { 'a.txt': 'one\n' })
  await commit(at.repo, 'main', { 'b.txt': 'b\n' })
  expect((await preview(at, work.cr_id)).collisions).toEqual([{ number: one.number, files: ['a.txt'] }])
})

test('says that there are more after fifty', async () => {
  const at = testProject(app, await app.managedProject({ 'a.txt': 'a\n' }))
  const first = await at.open('first', { 'a.txt': 'first\n' })
  const work = await at.open('work', { 'a.txt': 'work\n' })
  await gitText(at.repo, 'branch', 'spare', 'main')
  for (let n = 0; n < 50; n++) await app.request('POST', at.path(), { body: { title: `${n}`, head_ref: 'spare' } })
  const some = await preview(at, work.cr_id)
  expect(some).toMatchObject({ collisions: [], collisions_truncated: true })
  expect((await preview(at, first.cr_id)).collisions_truncated).toBe(true)
})

test('filters a list by an exact head branch', async () => {
  const at = testProject(app, await app.managedProject())
  const one = await at.open('work', { 'a.txt': 'a\n' })
  await at.open('work2', { 'b.txt': 'b\n' })
  const again = await app.request('POST', at.path(), { body: { title: 'again', head_ref: 'work' } })
  await app.request('POST', at.path(one.cr_id, 'close'))
  const list = async (query: string) =>
    (await app.request<{ change_requests: { number: number }[] }>('GET', at.path() + query)).body.change_requests?.map(
      ({ number }) => number,
    )
  expect(await list('?head_ref=work')).toEqual([again.body.number as number, one.number])
  expect(await list('?head_ref=work&status=open')).toEqual([again.body.number as number])
  expect(await list('?head_ref=wor')).toEqual([])
  expect(await list('?head_ref=work&limit=1')).toEqual([again.body.number as number])
  for (const wrong of ['', '%00', '..', 'a%20b'])
    expect((await app.request('GET', `${at.path()}?head_ref=${wrong}`)).status).toBe(400)
})

test('filters a list by text or number', async () => {
  const at = testProject(app, await app.managedProject())
  const login = await at.open('fix/Login', { 'a.txt': 'a\n' })
  const other = await at.open('other', { 'b.txt': 'b\n' })
  await app.request('PATCH', at.path(other.cr_id), { body: { title: '100% of log_in' } })
  const find = async (search: string, more = '') =>
    (
      await app.request<{ change_requests: { number: number }[] }>(
        'GET',
        `${at.path()}?search=${encodeURIComponent(search)}${more}`,
      )
    ).body.change_requests.map(({ number }) => number)
  expect(await find('lOGIN')).toEqual([login.number])
  expect(await find(`#${other.number}`)).toEqual([other.number])
  expect(await find('log_in')).toEqual([other.number])
  expect(await find('%')).toEqual([other.number])
  expect(await find('main')).toEqual([other.number, login.number])
  expect(await find('main', '&limit=1')).toEqual([other.number])
  expect(await find('main', '&status=merged')).toEqual([])
  expect(await find(' ')).toEqual([other.number, login.number])
  for (const wrong of ['%00', 'a'.repeat(257)])
    expect((await app.request('GET', `${at.path()}?search=${wrong}`)).status).toBe(400)
})
