import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { commit, type TestRepository } from '@svc/git/testing'
import { gitText, type TestProject, testProject } from '../../change-requests/testing.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { evictMirrors } from './evict-mirrors.ts'
import { mirrorDir } from '../repository.ts'

setDefaultTimeout(120_000)

let app: TestApp
let origin: TestRepository
let project: TestProject
let dir: string
let merged: string
let open: string
beforeAll(async () => {
  app = await makeTestApp({ configure: { mirrorBytesMax: 1 } })
})
afterAll(() => app.close())
beforeEach(async () => {
  const made = await app.externalProject({ a: '1\n' })
  origin = made.repo
  project = testProject(app, { project: made.project, repo: made.repo })
  dir = mirrorDir(app.deps, made.project.project_id)
  merged = (await project.open('done', { b: '2\n' })).cr_id
  // Beside it, so that the merge makes a commit.
  await commit(origin, 'main', { c: '3\n' })
  expect((await project.merge(merged)).status).toBe(200)
  open = (await project.open('work', { d: '4\n' })).cr_id
  expect(await read(open)).toBe(200)
})

const read = async (crId: string, server: Pick<TestApp, 'request'> = app) =>
  (await server.request('GET', project.path(crId, 'diff'))).status
const packs = async () => (await readdir(join(dir, 'objects/pack'))).filter((name) => name.endsWith('.pack')).length
const keptRefs = () => gitText({ dir }, 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/svc')
const evict = (deps = app.deps) => evictMirrors(deps, new AbortController().signal)
/** As if it was last used two hours ago. */
const age = () => utimes(join(dir, 'svc-used'), new Date(), new Date(Date.now() - 7_200_000))

test('empties a mirror that was not used for long, and the next read restores it', async () => {
  const kept = await keptRefs()
  expect(kept).toContain('refs/svc/cr/1/head')
  await evict()
  expect(await packs()).toBeGreaterThan(0)
  await age()
  await evict()
  expect([await packs(), await keptRefs()]).toEqual([0, ''])
  expect([await read(merged), await read(open)]).toEqual([200, 200])
  expect(await keptRefs()).toBe(kept)
  expect((await project.merge(open)).status).toBe(200)
})

test('an emptied mirror that is emptied again keeps its record of kept commits', async () => {
  const kept = await keptRefs()
  for (let n = 0; n < 2; n++) {
    await age().catch(() => utimes(join(dir, 'HEAD'), new Date(), new Date(Date.now() - 7_200_000)))
    await evict()
  }
  expect(await packs()).toBe(0)
  expect(await read(merged)).toBe(200)
  expect(await keptRefs()).toBe(kept)
})

test('keeps commits that the host no longer has', async () => {
  const root = await gitText(origin, 'rev-list', '--max-parents=0', 'refs/heads/main')
  await gitText(origin, 'update-ref', 'refs/heads/main', root)
  for (const branch of ['done', 'work']) await gitText(origin, 'update-ref', '-d', `refs/heads/${branch}`)
  await age()
  await evict()
  expect(await packs()).toBeGreaterThan(0)
  expect(await read(merged)).toBe(200)
})

test('answers every read while two servers empty the mirror', async () => {
  const other = await app.anotherServer()
  const statuses = new Set<number>()
  const readAll = async (server: Pick<TestApp, 'request'>) => {
    for (const crId of [merged, open]) statuses.add(await read(crId, server))
  }
  let emptied = 0
  for (let n = 0; n < 12; n++) {
    // Nothing uses it: a user would have marked it as used long before it may be emptied.
    await age().catch(() => {})
    await Promise.all([evict(), evict(other.deps)])
    if ((await packs()) === 0) emptied++
    await Promise.all([app, other, app, other].map(readAll))
  }
  expect([...statuses]).toEqual([200])
  expect(emptied).toBeGreaterThan(0)
  expect((await readdir(join(dir, '..'))).filter((name) => /broken|new-/.test(name))).toEqual([])
})
