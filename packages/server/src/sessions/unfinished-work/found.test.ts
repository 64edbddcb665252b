/** The server looks for unfinished work before it begins an answer. The daemon is one of the test, which can delay it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { commit } from '@svc/git/testing'
import { check } from '../../backup/check/check.ts'
import { serve } from '../../test-app.ts'
import { makeSessionApp, type SessionApp } from '../testing.ts'
import { updateRows } from '../../db/rows.ts'
import { SessionFeed } from '../conversation/feed.ts'
import { startWorkDaemon } from './testing-work-daemon.ts'
import { WipWatch } from './watch.ts'

interface Work {
  commit: string | null
  files: number
  notes: string[]
}

let app: SessionApp
let daemon: Awaited<ReturnType<typeof startWorkDaemon>>
let isBroken = false
/** The daemon answers when it resolves. */
let gate: Promise<void> = Promise.resolve()
/** Resolves at the next request of the daemon. */
let requested = Promise.withResolvers<void>()

beforeAll(async () => {
  app = await makeSessionApp()
  daemon = await startWorkDaemon(app, async (request) => {
    // A daemon of before, which does not say whether its runtime sleeps.
    if (request.method === 'GET') return Response.json({ error: 'There is no such route.' }, { status: 404 })
    requested.resolve()
    await gate
    return isBroken ? Response.json({ error: 'The disk is broken.', code: 'wip_failed' }, { status: 500 }) : null
  })
}, 120_000)
afterAll(async () => {
  await daemon.close()
  await app.close()
})

async function edit(name: string): Promise<string> {
  isBroken = false
  daemon.snapshot = await commit(daemon.work, `${name}-${randomUUID()}`, { 'a.txt': `${name}\n`.repeat(50) })
  return daemon.snapshot
}

/** A session whose sandbox is the daemon of this file, behind a server that runs it. */
async function watched() {
  const { session_id: sessionId } = await app.running()
  // A feed of its own: the fake sandbox of the session has nothing to save.
  const feed = new SessionFeed()
  const watch = new WipWatch({ ...app.deps, feed }, daemon.addressOf(sessionId), { spaceChanged() {}, sleepSeen() {} })
  const sessions = { wipOf: () => watch } as never
  const server = await serve({ ...app.deps, instanceId: randomUUID(), sessions })
  const read = async () =>
    (await server.request<Work>('GET', app.path(sessionId, 'wip'), { token: app.ownerToken })).body
  const bundle = () => server.request('GET', app.path(sessionId, 'wip/bundle'), { token: app.ownerToken })
  const endTurn = () => feed.publish(sessionId, { type: 'turn', status: 'idle', error: null })
  return { sessionId, watch, read, bundle, endTurn }
}

test('the reply after a turn has what was changed until its end', async () => {
  const { watch, read, endTurn } = await watched()
  const first = await edit('first')
  await watch.saveNow()
  expect(await read()).toMatchObject({ commit: first, notes: [] })
  const second = await edit('second')
  const open = Promise.withResolvers<void>()
  gate = open.promise
  requested = Promise.withResolvers()
  endTurn()
  const answer = read()
  await requested.promise
  open.resolve()
  expect(await answer).toMatchObject({ commit: second, files: 1, notes: [] })
  await watch.end()
})

test('a failed or slow save is in the notes of the earlier work', async () => {
  const { watch, read, endTurn } = await watched()
  const first = await edit('first')
  await watch.saveNow()
  isBroken = true
  await watch.saveNow()
  expect(await read()).toMatchObject({
    commit: first,
    notes: [expect.stringMatching(/^The newest changes are not saved yet: The disk is broken\. .*push the work/)],
  })
  const open = Promise.withResolvers<void>()
  gate = open.promise
  await edit('second')
  endTurn()
  expect(await read()).toMatchObject({ commit: first, notes: ['A newer state is still being saved.'] })
  open.resolve()
  await watch.end()
}, 120_000)

test('a session whose sandbox ended without its last save says so', async () => {
  const { sessionId, watch } = await watched()
  await edit('first')
  await watch.saveNow()
  isBroken = true
  await watch.end()
  expect((await app.session(sessionId)).error).toContain('may not be saved. The disk is broken.')
})

test('a bundle is stored before its row, also when a server died in between', async () => {
  const { sessionId, watch, bundle } = await watched()
  const first = await edit('first')
  await watch.saveNow()
  const second = await edit('second')
  await watch.saveNow()
  await watch.end()
  const newest = await bundle()
  expect([newest.status, newest.headers.get('x-svc-commit')]).toEqual([200, second])
  await updateRows(app.deps.db, 'session_wip', { session_id: sessionId }, { commit_sha: first })
  const before = await bundle()
  expect([before.status, before.headers.get('x-svc-commit')]).toEqual([200, first])
  expect(before.text).toContain(`\n${first} refs/svc/wip-earlier/${sessionId}/1\n`)

  await updateRows(app.deps.db, 'session_wip', { session_id: sessionId }, { commit_sha: '1'.repeat(40) })
  const lost = await bundle()
  expect([lost.status, lost.body]).toEqual([404, expect.objectContaining({ error: expect.stringMatching(/is lost/) })])
})

test('a session whose saved work was lost says so, and saves again', async () => {
  const { sessionId, watch, read, bundle } = await watched()
  const first = await edit('first')
  await watch.saveNow()
  await watch.end()
  const { db } = app.deps
  const ofSession = { session_id: sessionId }
  const findings = async () => {
    const { disagreements } = await check({ ...app.deps.config, serverName: app.deps.serverName }, () => {})
    return disagreements.flatMap(({ says }) => (says.includes(sessionId) ? [says] : []))
  }
  // As after a restore of the repository from a backup that is older than the work.
  await updateRows(db, 'session_wip', ofSession, { commit_sha: '1'.repeat(40) })
  expect(await findings()).toEqual([expect.stringContaining(`restart the session: svc sessions restart ${sessionId}`)])
  const lost = [expect.objectContaining({ generation: 1, files: 1 })]
  expect(await read()).toMatchObject({ saved_at: null, commit: null, earlier: [], lost })

  const restarted = new WipWatch({ ...app.deps, feed: new SessionFeed() }, daemon.addressOf(sessionId, 2), {
    spaceChanged() {},
    sleepSeen() {},
  })
  daemon.snapshot = null
  expect(await restarted.saveNow()).toMatchObject({ kind: 'clean' })
  expect(await findings()).toEqual([])
  const second = await edit('second')
  expect(await restarted.saveNow()).toMatchObject({ kind: 'saved', isNew: true })
  await restarted.end()
  expect(await read()).toMatchObject({ commit: second, earlier: [], lost })
  expect((await bundle()).headers.get('x-svc-commit')).toBe(second)
  expect(await findings()).toEqual([])

  // An operator brings the objects back.
  await updateRows(db, 'session_wip', { ...ofSession, generation: 1 }, { commit_sha: first })
  expect(await read()).toMatchObject({ commit: second, earlier: [{ commit: first }], lost: [] })
})
