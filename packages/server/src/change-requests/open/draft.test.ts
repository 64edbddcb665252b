import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ChangeRequest } from '@svc/contract'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { testProject } from '../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

test('refuses to merge a draft until it is marked as ready', async () => {
  const at = testProject(app, await app.managedProject())
  const cr = await at.open('work', { 'a.txt': 'a\n' }, { metadata: { draft: true, note: 'kept' } })
  const refused = await at.refusedMerge(cr.cr_id)
  expect(refused.status).toBe(409)
  expect(refused.body).toMatchObject({
    code: 'conflict',
    error: 'This change request is a draft, so it cannot be merged yet.',
    hint: `Mark it as ready first: svc cr ready ${cr.number}, or the button on its page.`,
    draft: true,
  })
  expect(await at.tip('main')).toBe(cr.base_commit_sha!)
  await app.request('PATCH', at.path(cr.cr_id), { body: { metadata: { note: 'kept' } } })
  expect((await at.merge(cr.cr_id)).status).toBe(200)
})

test('an agent can change the draft state of its own change request only', async () => {
  const managed = await app.managedProject()
  const at = testProject(app, managed)
  const own = await app.makeSession(managed.project)
  const edit = (crId: string, metadata: object, token = own.token) =>
    app.request<{ code: string }>('PATCH', at.path(crId), { token, body: { metadata } })
  const draft = await at.open('people', { 'p.txt': 'p\n' }, { metadata: { draft: true } })
  expect([(await edit(draft.cr_id, {})).status, (await edit(draft.cr_id, { draft: true, seen: 1 })).status]).toEqual([
    403, 200,
  ])
  const ready = await at.open('ready', { 'r.txt': 'r\n' })
  expect((await edit(ready.cr_id, { draft: true })).status).toBe(403)
  const agents = await at.open('agents', { 'a.txt': 'a\n' }, { session_id: own.session_id, metadata: { draft: true } })
  expect((await edit(agents.cr_id, {})).status).toBe(200)
  expect((await edit(draft.cr_id, {}, app.ownerToken)).status).toBe(200)
})

test('filters change requests by base branch and author', async () => {
  const at = testProject(app, await app.managedProject())
  await at.open('release', { 'r.txt': 'r\n' })
  await at.open('work', { 'a.txt': 'a\n' }, { base_ref: 'release' })
  const numbers = async (query: string) =>
    (await app.request<{ change_requests: ChangeRequest[] }>('GET', `${at.path()}?${query}`)).body.change_requests.map(
      ({ number }) => number,
    )
  expect(await numbers('base_ref=release')).toEqual([2])
  expect(await numbers(`created_by=${app.owner.user_id}`)).toEqual([2, 1])
  expect(await numbers(`created_by=${crypto.randomUUID()}`)).toEqual([])
  expect(await numbers(`created_by=${app.owner.user_id}&base_ref=main`)).toEqual([1])
})
