/** The changes of a session: what its branch has, and on top of it what its sandbox has not pushed. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { SessionChanges } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { gitText } from '../../change-requests/testing.ts'
import { updateRows } from '../../db/rows.ts'
import { serve } from '../../test-app.ts'
import { makeSessionApp, type SessionApp } from '../testing.ts'
import { startWorkDaemon } from './testing-work-daemon.ts'
import { WipWatch } from './watch.ts'

let app: SessionApp
let daemon: Awaited<ReturnType<typeof startWorkDaemon>>

beforeAll(async () => {
  app = await makeSessionApp({ files: { 'README.md': 'one\ntwo\nthree\n', 'old.txt': 'gone\n' } })
  daemon = await startWorkDaemon(app, async ({ method }) => (method === 'GET' ? Response.json({}) : null))
}, 120_000)
afterAll(async () => {
  await daemon.close()
  await app.close()
})

async function watched() {
  const { session_id: sessionId, branch_name: branch } = await app.running()
  const watch = new WipWatch(app.deps, daemon.addressOf(sessionId), { spaceChanged() {}, sleepSeen() {} })
  const sessions = { wipOf: () => watch } as never
  const server = await serve({ ...app.deps, instanceId: randomUUID(), sessions })
  const read = async (query = '') =>
    (await server.request<SessionChanges>('GET', app.path(sessionId, `changes${query}`), { token: app.ownerToken }))
      .body
  /** A commit on the branch of the session, which the agent has too. */
  const push = async (files: Record<string, string>) => {
    await commit(app.repo, branch, files)
    await gitText(daemon.work, 'fetch', '--quiet', app.repo.dir, `+refs/heads/${branch}:refs/heads/${branch}`)
  }
  const save = async (files: Record<string, string | null>) => {
    daemon.snapshot = await commit(daemon.work, `w-${randomUUID()}`, files as never, {
      from: await gitText(daemon.work, 'rev-parse', `refs/heads/${branch}`),
    })
    await watch.saveNow()
  }
  return { sessionId, watch, read, push, save }
}

const nothing = { files: [], files_changed: 0, additions: 0, deletions: 0, saved_at: null, truncated: false, notes: [] }

test('a session that changed nothing has no changes', async () => {
  const { read, push, watch } = await watched()
  await push({})
  expect(await read()).toMatchObject(nothing)
  await watch.end()
})

test('pushed and unpushed files are listed together, and each says which it is', async () => {
  const { read, push, save, watch, sessionId } = await watched()
  await push({ 'src/a.ts': 'export const a = 1\n' })
  expect(await read()).toMatchObject({
    ...{ files_changed: 1, saved_at: null, additions: 1 },
    files: [{ path: 'src/a.ts', status: 'added', additions: 1, is_pushed: true }],
  })
  await save({ 'README.md': 'one\n2\nthree\n', 'new.txt': 'new\n' })
  const changes = await read()
  expect(changes.files).toMatchObject([
    { path: 'README.md', status: 'modified', additions: 1, deletions: 1, is_pushed: false },
    { path: 'new.txt', status: 'added', is_pushed: false },
    { path: 'src/a.ts', is_pushed: true },
  ])
  expect(changes).toMatchObject({ files_changed: 3, additions: 3, deletions: 1, truncated: false })
  expect(changes.saved_at).not.toBeNull()
  expect(Object.keys(changes)).not.toContain('patch')
  expect((await read('?include=patch')).patch).toContain('-two\n+2\n')

  // Work of an earlier start is not in the work tree, and is shown once the session has none.
  watch.release()
  await updateRows(app.deps.db, 'session_wip', { session_id: sessionId }, { generation: 0 })
  expect((await read()).files).toHaveLength(1)
  await updateRows(app.deps.db, 'project_sessions', { session_id: sessionId }, { status: 'stopped' })
  expect((await read()).files).toEqual(changes.files)
})

test('secrets in the patch are replaced, and the number of lines stays', async () => {
  const { read, push, save, watch, sessionId } = await watched()
  const key = ['-----BEGIN KEY-----', 'a'.repeat(40), 'b'.repeat(40), '-----END KEY-----'].join('\n')
  app.deps.redaction.given(sessionId, [
    ['TOKEN', 'sk-secret-0123456789'],
    ['KEY', key],
  ])
  await push({})
  await save({ 'env.txt': `TOKEN=sk-secret-0123456789\n${key}\nlast\n` })
  const { patch = '' } = await read('?include=patch')
  for (const secret of ['sk-secret', 'a'.repeat(40), 'b'.repeat(40)]) expect(patch).not.toContain(secret)
  expect(patch).toContain('@@ -0,0 +1,6 @@')
  expect(patch.split('\n').filter((line) => /^\+(?!\+\+)/.test(line))).toHaveLength(6)
  await watch.end()
})
