import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { rename, rm } from 'node:fs/promises'
import type { ChangeRequest } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { mirrorDir } from '../projects/repository.ts'
import { makeTestApp, type TestApp } from '../testing.ts'
import { gitText, type Refusal, type TestProject, testProject } from './testing.ts'

let app: TestApp
/** The server's clock, which advances at every read so that each write has a distinct time. */
let clock = Date.UTC(2030, 0, 1)
beforeAll(async () => {
  app = await makeTestApp({ now: () => new Date((clock += 1000)) })
}, 120_000)
afterAll(() => app.close())

const list = async (at: TestProject, query = '') =>
  app.request<{ change_requests: ChangeRequest[] }>('GET', at.path() + query)

describe('reading an open change request', () => {
  test('shows new commits of both branches, and updated_at moves only when there are some', async () => {
    const at = testProject(app, await app.managedProject())
    const opened = await at.open('work', { 'a.txt': 'a\n' })
    expect((await at.get(opened.cr_id)).updated_at).toBe(opened.updated_at)

    const head = await commit(at.repo, 'work', { 'a.txt': 'b\n' })
    const seen = await at.get(opened.cr_id)
    expect(seen).toMatchObject({ head_commit_sha: head, base_commit_sha: opened.base_commit_sha })
    expect(seen.updated_at > opened.updated_at).toBe(true)
    expect((await at.get(opened.cr_id)).updated_at).toBe(seen.updated_at)

    const base = await commit(at.repo, 'main', { 'b.txt': 'b\n' })
    const [again] = (await list(at)).body.change_requests
    expect(again).toMatchObject({ head_commit_sha: head, base_commit_sha: base })
    expect(again!.updated_at > seen.updated_at).toBe(true)
    expect((await list(at)).body.change_requests[0]!.updated_at).toBe(again!.updated_at)
  })

  test('a list writes only the rows that moved', async () => {
    const at = testProject(app, await app.managedProject())
    const [one, two] = [await at.open('one', { 'a.txt': 'a\n' }), await at.open('two', { 'b.txt': 'b\n' })]
    const head = await commit(at.repo, 'two', { 'b.txt': 'c\n' })
    const rows = (await list(at)).body.change_requests
    expect(rows).toHaveLength(2)
    expect(rows[0]).toMatchObject({ number: two.number, head_commit_sha: head })
    expect(rows[0]!.updated_at > two.updated_at).toBe(true)
    expect(rows[1]).toEqual(one)
  })

  test('many concurrent readers see the new tip, and one of them stores it', async () => {
    const at = testProject(app, await app.managedProject())
    const opened = [await at.open('one', { 'a.txt': 'a\n' }), await at.open('two', { 'b.txt': 'b\n' })]
    const base = await commit(at.repo, 'main', { 'c.txt': 'c\n' })
    const other = await app.anotherServer()
    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        (n % 2 === 0 ? app : other).request<{ change_requests: ChangeRequest[] }>('GET', at.path()),
      ),
    )
    for (const { body } of replies) expect(body.change_requests.map((row) => row.base_commit_sha)).toEqual([base, base])
    const times = await Promise.all(opened.map(async ({ cr_id }) => (await at.get(cr_id)).updated_at))
    expect(new Set((await list(at)).body.change_requests.map((row) => row.updated_at))).toEqual(new Set(times))
  })

  test('keeps both tips as last seen when a branch is gone', async () => {
    const at = testProject(app, await app.managedProject())
    const opened = await at.open('work', { 'a.txt': 'a\n' })
    await gitText(at.repo, 'update-ref', '-d', 'refs/heads/work')
    await commit(at.repo, 'main', { 'b.txt': 'b\n' })
    const now = { ...opened, missing_ref: 'work', updated_at: expect.any(String) as string }
    expect(await at.get(opened.cr_id)).toEqual(now)
    expect((await list(at)).body.change_requests).toEqual([now])
  })

  test('refreshes reopened change requests, but not closed ones', async () => {
    const at = testProject(app, await app.managedProject())
    const opened = await at.open('work', { 'a.txt': 'a\n' })
    await app.request('POST', at.path(opened.cr_id, 'close'))
    const head = await commit(at.repo, 'work', { 'a.txt': 'b\n' })
    expect((await at.get(opened.cr_id)).head_commit_sha).toBe(opened.head_commit_sha)
    await app.request('POST', at.path(opened.cr_id, 'reopen'))
    expect((await at.get(opened.cr_id)).head_commit_sha).toBe(head)
  })
})

describe('the list of change requests', () => {
  test('lists newest first, filters by status, and finds one by its number', async () => {
    const at = testProject(app, await app.managedProject())
    expect((await list(at)).body).toEqual({ change_requests: [] })
    const made = []
    for (const name of ['one', 'two', 'three']) made.push(await at.open(name, { [name]: 'x\n' }))
    await app.request('POST', at.path(made[1]!.cr_id, 'close'))
    await at.merge(made[0]!.cr_id)
    const numbers = async (query: string) => (await list(at, query)).body.change_requests.map((row) => row.number)
    expect(await numbers('')).toEqual([3, 2, 1])
    expect(await numbers('?status=all')).toEqual([3, 2, 1])
    expect(await numbers('?status=open')).toEqual([3])
    expect(await numbers('?status=closed')).toEqual([2])
    expect(await numbers('?status=merged')).toEqual([1])
    expect(await numbers('?number=2')).toEqual([2])
    expect(await numbers('?number=9')).toEqual([])
  })

  test('returns each row once over its pages, also while new ones are opened', async () => {
    const at = testProject(app, await app.managedProject())
    for (let n = 1; n <= 5; n++) await at.open(`b${n}`, { [`${n}`]: 'x\n' })
    let path: string | null = `${at.path()}?limit=2`
    const seen: number[] = []
    while (path !== null) {
      const page: Awaited<ReturnType<typeof list>> = await app.request('GET', path)
      seen.push(...page.body.change_requests.map((row) => row.number))
      path = /^<(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1] ?? null
      if (seen.length === 2) await at.open('later', { later: 'x\n' })
    }
    expect(seen).toEqual([5, 4, 3, 2, 1])
  })

  test.each([
    '?status=nope',
    '?limit=0',
    '?limit=1001',
    '?limit=x',
    '?number=0',
    '?number=x',
    '?cursor=x',
    '?cursor=W10',
  ])('refuses the query %s', async (query) => {
    const at = testProject(app, await app.managedProject())
    const reply = await app.request<Refusal>('GET', at.path() + query)
    expect(reply.status).toBe(400)
    expect(reply.body.code).toBe('invalid')
  })
})

describe('while the repository is unreachable', () => {
  const unreachable = { status: 502, code: 'repository_unreachable' }
  const readsAreStored = async (at: TestProject, opened: ChangeRequest, wanted = unreachable) => {
    expect(await at.get(opened.cr_id)).toEqual(opened)
    expect((await list(at)).body.change_requests).toEqual([opened])
    const refused = await app.request<Refusal>('GET', at.path(opened.cr_id, 'merge-preview'))
    expect({ status: refused.status, code: refused.body.code }).toEqual(wanted)
  }

  test('serves the stored state when the host is down', async () => {
    const { host, ...outside } = await app.externalProject()
    const at = testProject(app, outside)
    const opened = await at.open('work', { 'a.txt': 'a\n' })
    await host.close()
    await readsAreStored(at, opened)
  })

  test('serves the stored state when the host no longer has the repository', async () => {
    const outside = await app.externalProject()
    const at = testProject(app, outside)
    const opened = await at.open('work', { 'a.txt': 'a\n' })
    await rename(outside.repo.dir, `${outside.repo.dir}.gone`)
    await readsAreStored(at, opened)
  })

  test('serves the stored state when the folder of a managed repository is lost', async () => {
    const managed = await app.managedProject()
    const at = testProject(app, managed)
    const opened = await at.open('work', { 'a.txt': 'a\n' })
    await rm(managed.repo.dir, { recursive: true })
    await readsAreStored(at, opened, { status: 503, code: 'unavailable' })
  })
})

test('rebuilds a lost mirror on the next request that needs it', async () => {
  const outside = await app.externalProject()
  const at = testProject(app, outside)
  const opened = await at.open('work', { 'a.txt': 'a\n' })
  expect((await app.request('GET', at.path(opened.cr_id, 'diff'))).status).toBe(200)
  await rm(mirrorDir(app.deps, outside.project.project_id), { recursive: true })
  expect((await app.request('GET', at.path(opened.cr_id, 'diff'))).status).toBe(200)
})
