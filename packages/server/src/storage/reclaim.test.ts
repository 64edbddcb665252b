/** Space is reclaimed, and nothing is removed that a ref or a row references. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { type Repository, storeBytes } from '@svc/git'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { gitText, testProject } from '../change-requests/testing.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { reclaimStorage } from './reclaim.ts'
import { rootColumns } from './root-queries.ts'

const mebibyte = 1024 * 1024
let app: TestApp
beforeAll(async () => {
  app = await makeTestApp()
}, 120_000)
afterAll(() => app.close())

const reclaim = (at: Date) => reclaimStorage({ ...app.deps, now: () => at }, new AbortController().signal)
const hours = (count: number) => new Date(Date.now() + count * 3_600_000)
const large = (size: number) => randomBytes(size).toString('latin1')

/** Everything in packs, as pushes leave it, used just now. */
async function settleDown(repo: Repository): Promise<void> {
  await gitText(repo, 'repack', '-d', '-q')
  const packs = join(repo.dir, 'objects/pack')
  for (const name of await readdir(packs)) await utimes(join(packs, name), new Date(), new Date())
}

const has = (repo: Repository, sha: string) =>
  gitText(repo, 'cat-file', '-e', `${sha}^{tree}`).then(
    () => true,
    () => false,
  )
const asideIn = async (repo: Repository) => (await readdir(repo.dir)).filter((name) => name.startsWith('svc-aside'))

test('frees the space of a deleted branch after a day, and keeps what refs and change requests reach', async () => {
  const made = await app.managedProject()
  const { repo } = made
  const at = testProject(app, made)
  const cr = await at.open('proposed', { 'p.bin': large(mebibyte / 8) })
  const proposed = await at.tip('proposed')
  const stays = await commit(repo, 'stays', { 's.bin': large(mebibyte / 8) })
  const hidden = await commit(repo, 'hidden', { 'h.bin': large(mebibyte / 8) })
  const gone = await commit(repo, 'gone', { 'g.bin': large(5 * mebibyte) })
  await settleDown(repo)
  await gitText(repo, 'update-ref', 'refs/svc/wip/kept', hidden)
  for (const branch of ['gone', 'hidden', 'proposed']) await gitText(repo, 'update-ref', '-d', `refs/heads/${branch}`)
  const before = await storeBytes(repo.dir)

  await reclaim(hours(1))
  expect(await storeBytes(repo.dir)).toBe(before)
  await reclaim(hours(25))
  expect(before - (await storeBytes(repo.dir))).toBeGreaterThan(5 * mebibyte)
  expect(await Promise.all([stays, hidden, proposed, gone].map((sha) => has(repo, sha)))).toEqual([
    true,
    true,
    true,
    false,
  ])
  const diff = await app.request<{ files: { path: string }[] }>('GET', at.path(cr.cr_id, 'diff'))
  expect(diff.body.files.map(({ path }) => path)).toEqual(['p.bin'])
  expect(await asideIn(repo)).toHaveLength(1)

  // An hour later it is deleted from the disk too.
  await reclaim(hours(27))
  expect(await asideIn(repo)).toEqual([])
  expect(await gitText(repo, 'fsck', '--full', '--no-dangling')).toBe('')
}, 120_000)

test('restores set-aside objects when something refers to them again', async () => {
  const { repo } = await app.managedProject()
  const gone = await commit(repo, 'gone', { 'g.bin': large(5 * mebibyte) })
  await settleDown(repo)
  await gitText(repo, 'update-ref', '-d', 'refs/heads/gone')
  await reclaim(hours(25))
  expect(await has(repo, gone)).toBeFalse()
  // As a push that ran all that time would leave it.
  await Bun.write(join(repo.dir, 'refs/heads/again'), `${gone}\n`)
  await reclaim(hours(27))
  expect([await has(repo, gone), await asideIn(repo)]).toEqual([true, []])
  expect(await gitText(repo, 'fsck', '--full', '--no-dangling')).toBe('')
}, 120_000)

test('every column that names a commit is a root, or is known not to be', async () => {
  const { rows } = await sql<{ name: string }>`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = current_schema() and data_type = 'text'
      and column_name ~ '(^|_)(sha|commit|oid)$' order by 1`.execute(app.deps.db)
  const others = [
    // Trees: a check repeats the merge from its pair of commits.
    ...['change_request_trees.tree_sha', 'check_runs.tree_sha'],
    // The default branch at that time, to detect moves.
    ...['app_reconciliations.sha', 'connector_reconciliations.sha', 'trigger_reconciliations.sha'],
    // Replaced snapshots count until they are deleted.
    'session_snapshots.commit_sha',
    // change_request_heads keeps these.
    ...['change_request_versions.base_sha', 'change_request_versions.from_sha', 'change_request_versions.head_sha'],
    ...['review_visits.head_sha', 'review_visits.earlier_head_sha'],
    // The comment keeps the commit of the answer that counts.
    'review_replies.commit_sha',
    // A log of refs, which keep what they name now.
    ...['ref_changes.old_sha', 'ref_changes.new_sha'],
  ]
  const roots = Object.entries(rootColumns).flatMap(([table, columns]) => columns.map((column) => `${table}.${column}`))
  const known = new Set([...roots, ...others])
  expect(rows.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([])
})
