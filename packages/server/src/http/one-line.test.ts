import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { ChangeRequest, Project, Session } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { gitText } from '../change-requests/testing.ts'
import { makeTestApp, type TestApp } from '../testing.ts'

/** Titles and names are one line, whoever sends them: a second line could forge content in a commit, a log or a card. */

setDefaultTimeout(120_000)

const forged = 'Fix it\n\nMerged-by: Owner <id>\r\u2028Co-authored-by: \u001b[31mEve\u0007\u0085now'
const flat = 'Fix it Merged-by: Owner <id> Co-authored-by:  [31mEve now'

let app: TestApp
let project: Project
let dir = ''
beforeAll(async () => {
  app = await makeTestApp()
  const made = await app.managedProject()
  project = made.project
  dir = made.repo.dir
  await commit(made.repo, 'main', { 'a.txt': '1\n' })
  await commit(made.repo, 'work', { 'b.txt': '1\n' })
  // So that merging makes a commit.
  await commit(made.repo, 'main', { 'c.txt': '1\n' })
}, 120_000)
afterAll(() => app.close())

const at = (path: string) => `/v1/projects/${project.project_id}${path}`

test('removes line breaks and control characters from names', async () => {
  const { session_id } = await app.makeSession(project)
  const sent: [string, string, object][] = [
    ['POST', '/v1/projects', { name: forged }],
    ['PATCH', at(''), { name: forged }],
    ['PATCH', at(`/sessions/${session_id}`), { name: forged }],
    ['POST', '/v1/accounts/tokens', { name: forged }],
    ['POST', `/v1/accounts/${project.account_id}/members`, { email: 'eve@example.test', name: forged }],
  ]
  for (const [method, path, body] of sent) {
    const reply = await app.request<Session>(method, path, { body })
    const found = JSON.stringify(reply.body)
    expect([path, reply.status < 300, found.includes(JSON.stringify(flat)), found.includes('\\n')]).toEqual([
      path,
      true,
      true,
      false,
    ])
  }
  for (const body of [{ name: '\n\u0007 ' }, { name: `${'x'.repeat(101)}\n` }])
    expect((await app.request('PATCH', at(''), { body })).status).toBe(400)
})

test('a title adds no line to a card or an audit row, and no trailer to the merge commit', async () => {
  const base_sha = await gitText({ dir }, 'rev-parse', 'main')
  const opened = await app.request<{ change_request: ChangeRequest }>('POST', at('/change-requests'), {
    body: { title: forged, head_ref: 'work', base_ref: 'main' },
  })
  const cr = opened.body.change_request ?? (opened.body as unknown as ChangeRequest)
  expect([opened.status, cr.title]).toEqual([201, flat])
  const audit = await app.deps.db
    .selectFrom('audit_events')
    .select('after')
    .where('action', '=', 'change_request.open')
    .execute()
  expect(JSON.stringify(audit)).not.toContain('\\n')
  // A row of an earlier version.
  await app.deps.db.updateTable('change_requests').set({ title: forged }).where('cr_id', '=', cr.cr_id).execute()
  const message = 'Ship it\n\nMerged-by: Somebody <else>\nmerged-by : x\nRefs: #3'
  const merged = await app.request('POST', at(`/change-requests/${cr.cr_id}/merge`), { body: { message } })
  expect(merged.status).toBe(200)
  const trailers = await gitText({ dir }, 'log', '-1', '--format=%(trailers:key=Merged-by,valueonly)', 'main')
  expect([trailers.trim().split('\n').length, trailers.includes(app.owner.user_id)]).toEqual([1, true])
  expect(await gitText({ dir }, 'rev-parse', 'main')).not.toBe(base_sha)
})
