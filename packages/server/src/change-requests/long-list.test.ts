import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ChangeRequest } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { makeTestApp, type TestApp } from '../testing.ts'
import { testProject } from './testing.ts'

/** A list long enough for its host to be asked before its rows are known. */

const count = 260
let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

test('a long list shows the current tips, stores those that moved, and costs one request while none moves', async () => {
  const { host, ...outside } = await app.externalProject()
  const at = testProject(app, outside)
  const first = await at.open('work', { 'a.txt': 'a\n' })
  const tip = first.head_commit_sha!
  const made = Bun.spawnSync(['git', `--git-dir=${outside.repo.dir}`, 'update-ref', '--stdin'], {
    stdin: Buffer.from(
      Array.from({ length: count }, (_, n) => `create refs/heads/b${n} ${tip}\ncreate refs/heads/h${n} ${tip}\n`).join(
        '',
      ),
    ),
  })
  expect(made.exitCode).toBe(0)
  await sql`
    insert into change_requests
      (cr_id, account_id, project_id, number, title, base_ref, head_ref, base_commit_sha, head_commit_sha)
    select gen_random_uuid(), account_id, project_id, number + 1 + n, 'many', 'b' || n, 'h' || n, ${tip}, ${tip}
    from change_requests, generate_series(0, ${count - 1}::int) as n where cr_id = ${first.cr_id}`.execute(app.deps.db)
  const list = async () => {
    const { status, body } = await app.request<{ change_requests: ChangeRequest[] }>(
      'GET',
      `${at.path()}?status=open&limit=1000`,
    )
    expect([status, body.change_requests.length]).toEqual([200, count + 1])
    return body.change_requests
  }
  const asked = () => host.requests.filter((one) => one.startsWith('POST')).length
  const before = await list()

  let questions = asked()
  expect(await list()).toEqual(before)
  expect(asked()).toBe(questions + 1)

  const head = await commit(outside.repo, 'h7', { 'b.txt': 'b\n' })
  questions = asked()
  const moved = await list()
  expect(moved.find((row) => row.head_ref === 'h7')?.head_commit_sha).toBe(head)
  // Tips read before the rows are not stored over them, so where they differ the host is asked again.
  expect(asked()).toBe(questions + 2)
  const stored = await app.deps.db
    .selectFrom('change_requests')
    .select('cr_id')
    .where('project_id', '=', first.project_id)
    .where('head_commit_sha', '=', head)
    .execute()
  expect(stored).toEqual([{ cr_id: moved.find((row) => row.head_ref === 'h7')!.cr_id }])

  await host.close()
  expect(await list()).toEqual(moved)
}, 120_000)
