/** Snapshots come from a daemon of our own; what is kept of them is asked at the door and by git. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commit, makeRepo, type TestRepository } from '@svc/git/testing'
import { clientAt } from '@svc/git/testing-client'
import { gitText } from '../change-requests/testing.ts'
import { pruneWip } from './prune-wip.ts'
import { makeSessionApp, type SessionApp } from './testing.ts'
import { saveWip } from './wip.ts'

let app: SessionApp
let work: TestRepository
let dir: string
let daemon: ReturnType<typeof serveWork>
/** What the daemon gives next. */
let snapshot: string | null = null

beforeAll(async () => {
  app = await makeSessionApp()
  dir = await mkdtemp(join(tmpdir(), 'svc-prune-'))
  work = await makeRepo({})
  daemon = serveWork(join(dir, 'd.sock'))
}, 120_000)
afterAll(async () => {
  await daemon.stop(true)
  await app.close()
  await work.remove()
  await rm(dir, { recursive: true, force: true })
})

function serveWork(unix: string) {
  return Bun.serve({
    unix,
    async fetch(request) {
      const { have, pushed } = (await request.json()) as { have: string[]; pushed: string[] }
      const head = {
        ...{ state: snapshot === null ? 'clean' : 'saved', commit: snapshot, base: pushed[0] ?? null },
        ...{ files: 1, paths: ['a.txt'], unpushed: 0, notes: [], pack: snapshot !== null },
      }
      const line = Buffer.from(`${JSON.stringify(head)}\n`)
      if (snapshot === null) return new Response(line)
      const revs = [snapshot, ...[...have, ...pushed].map((sha) => `^${sha}`), ''].join('\n')
      const packing = Bun.spawn(['git', '-C', work.dir, 'pack-objects', '--revs', '--stdout', '--quiet', '--thin'], {
        stdin: Buffer.from(revs),
        stdout: 'pipe',
        stderr: 'ignore',
      })
      return new Response(Buffer.concat([line, Buffer.from(await new Response(packing.stdout).arrayBuffer())]))
    },
  })
}

test('a day after a snapshot was replaced it is gone; the newest is given out whole', async () => {
  const session = await app.running()
  await gitText(work, 'fetch', '--quiet', app.repo.dir, '+refs/heads/*:refs/heads/*')
  const save = async (name: string | null) => {
    snapshot = name === null ? null : await commit(work, name, { [`${name}.txt`]: `${name}\n`.repeat(50) })
    const address = {
      socket: join(dir, 'd.sock'),
      sandboxKey: 'svc_sbx_x',
      sessionId: session.session_id,
      generation: 1,
    }
    const outcome = await saveWip(app.deps, address, new AbortController().signal)
    expect(outcome.kind).toBe(name === null ? 'clean' : 'saved')
    return snapshot
  }
  const has = (sha: string | null) =>
    gitText(app.repo, 'cat-file', '-e', `${sha}^{tree}`).then(
      () => true,
      () => false,
    )
  const prune = (at: Date) => pruneWip({ ...app.deps, now: () => at }, new AbortController().signal)
  const now = app.deps.now()
  const [first, second] = [await save('first'), await save('second')]

  await prune(now)
  expect([await has(first), await has(second)]).toEqual([true, true])
  const packs = join(app.repo.dir, 'objects/pack')
  for (const name of await readdir(packs)) await utimes(join(packs, name), now, now)
  const later = new Date(now.getTime() + 2 * 86_400_000)
  await prune(later)
  expect([await has(first), await has(second)]).toEqual([false, true])

  // At the door: the bundle of the newest goes into a clone of what was pushed.
  const { headers } = await app.request('GET', app.path(session.session_id, 'wip/bundle'))
  expect(headers.get('x-svc-commit')).toBe(second)
  const clone = clientAt(join(dir, 'clone'))
  expect(await clientAt(dir).run('clone', '--quiet', app.repo.dir, 'clone')).toMatchObject({ code: 0 })
  await gitText(app.repo, 'bundle', 'create', '--quiet', join(dir, 'b'), `refs/svc/wip/${session.session_id}`)
  expect(await clone.run('fetch', '--quiet', join(dir, 'b'), `refs/svc/wip/${session.session_id}`)).toMatchObject({
    code: 0,
  })
  expect(await gitText(app.repo, 'fsck', '--full', '--no-dangling')).toBe('')

  // Whoever finished their work leaves none behind, either.
  await save(null)
  for (const name of await readdir(packs)) await utimes(join(packs, name), now, now)
  await prune(later)
  expect(await has(second)).toBe(false)
  expect(await gitText(app.repo, 'fsck', '--full', '--no-dangling')).toBe('')
})
