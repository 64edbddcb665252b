/** Snapshots come from a daemon of our own; what is kept of them is asked at the door and by git. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { commit } from '@svc/git/testing'
import { clientAt } from '@svc/git/testing-client'
import { gitText } from '../../change-requests/testing.ts'
import { pruneWip } from './prune.ts'
import { makeSessionApp, type SessionApp } from '../testing.ts'
import { startWorkDaemon } from './testing-work-daemon.ts'
import { saveWip } from './wip.ts'

let app: SessionApp
let daemon: Awaited<ReturnType<typeof startWorkDaemon>>

beforeAll(async () => {
  app = await makeSessionApp()
  daemon = await startWorkDaemon(app)
}, 120_000)
afterAll(async () => {
  await daemon.close()
  await app.close()
})

/** Saves the work that the daemon returns; null means that everything was pushed. */
async function save(sessionId: string, name: string | null, generation = 1): Promise<string | null> {
  daemon.snapshot = name === null ? null : await commit(daemon.work, name, { [`${name}.txt`]: `${name}\n`.repeat(50) })
  const address = daemon.addressOf(sessionId, generation)
  const outcome = await saveWip(app.deps, address, new AbortController().signal)
  expect(outcome.kind).toBe(name === null ? 'clean' : 'saved')
  return daemon.snapshot
}

const has = (sha: string | null) =>
  gitText(app.repo, 'cat-file', '-e', `${sha}^{tree}`).then(
    () => true,
    () => false,
  )

const prune = (at: Date) => pruneWip({ ...app.deps, now: () => at }, new AbortController().signal)

/** As if no git had used them since then. */
async function leaveAlone(at: Date): Promise<void> {
  const packs = join(app.repo.dir, 'objects/pack')
  for (const name of await readdir(packs)) await utimes(join(packs, name), at, at)
}

test('removes a replaced snapshot after a day, and serves the newest one whole', async () => {
  const session = await app.running()
  const now = app.deps.now()
  const [first, second] = [await save(session.session_id, 'first'), await save(session.session_id, 'second')]

  await prune(now)
  expect([await has(first), await has(second)]).toEqual([true, true])
  await leaveAlone(now)
  const later = new Date(now.getTime() + 2 * 86_400_000)
  await prune(later)
  expect([await has(first), await has(second)]).toEqual([false, true])

  // At the door: the bundle of the newest goes into a clone of what was pushed.
  const { headers } = await app.request('GET', app.path(session.session_id, 'wip/bundle'))
  expect(headers.get('x-svc-commit')).toBe(second)
  const clone = clientAt(join(daemon.dir, 'clone'))
  expect(await clientAt(daemon.dir).run('clone', '--quiet', app.repo.dir, 'clone')).toMatchObject({ code: 0 })
  await gitText(app.repo, 'bundle', 'create', '--quiet', join(daemon.dir, 'b'), `refs/svc/wip/${session.session_id}`)
  expect(
    await clone.run('fetch', '--quiet', join(daemon.dir, 'b'), `refs/svc/wip/${session.session_id}`),
  ).toMatchObject({
    code: 0,
  })
  expect(await gitText(app.repo, 'fsck', '--full', '--no-dangling')).toBe('')

  // Finished work leaves nothing behind either.
  await save(session.session_id, null)
  await leaveAlone(now)
  await prune(later)
  expect(await has(second)).toBe(false)
  expect(await gitText(app.repo, 'fsck', '--full', '--no-dangling')).toBe('')
})

test('releases the work of a deleted session after thirty days, and no other', async () => {
  const [gone, stays] = [await app.running(), await app.running()]
  const refs = async () =>
    (await gitText(app.repo, 'for-each-ref', '--format=%(refname:lstrip=2)', 'refs/svc')).split('\n').filter(Boolean)
  const lost = [await save(gone.session_id, 'lost-1', 1), await save(gone.session_id, 'lost-2', 2)]
  const kept = await save(stays.session_id, 'kept')
  // A session that this database does not know, as after the restore of an older backup.
  const stranger = randomUUID()
  await gitText(app.repo, 'update-ref', `refs/svc/wip/${stranger}`, lost[1]!)
  const others = [`wip/${stays.session_id}`, `wip/${stranger}`]
  const mine = [`wip/${gone.session_id}`, `wip-earlier/${gone.session_id}/1`]
  expect(new Set(await refs())).toEqual(new Set([...mine, ...others]))

  expect((await app.request('DELETE', app.path(gone.session_id))).status).toBe(200)
  const days = (count: number) => new Date(app.deps.now().getTime() + count * 86_400_000)
  await prune(days(29))
  expect(new Set(await refs())).toEqual(new Set([...mine, ...others]))
  await prune(days(31))
  expect(new Set(await refs())).toEqual(new Set(others))
  expect(await Promise.all(lost.map(has))).toEqual([true, true])

  await leaveAlone(app.deps.now())
  await prune(days(33))
  expect(await Promise.all([...lost, kept].map(has))).toEqual([false, true, true])
  await gitText(app.repo, 'update-ref', '-d', `refs/svc/wip/${stranger}`)
  expect((await app.request('GET', app.path(stays.session_id, 'wip/bundle'))).headers.get('x-svc-commit')).toBe(kept)
  expect(await gitText(app.repo, 'fsck', '--full', '--no-dangling')).toBe('')
})
