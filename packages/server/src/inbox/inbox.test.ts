/** The inbox at the HTTP entry: what it lists and why, what a person puts away, and what comes back. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { rename } from 'node:fs/promises'
import type { ErrorBody, Inbox, InboxItem, OpenWork, Project } from '@svc/contract'
import { commit, type Files } from '@svc/git/testing'
import { sql } from 'kysely'
import { buildApp } from '../app.ts'
import { computeWantedFacts } from '../change-requests/preview/wanted.ts'
import { type TestProject, testProject } from '../change-requests/testing.ts'
import { detectChecks } from '../checks/trees.ts'
import { updateRows } from '../db/rows.ts'
import { detectDefaultBranch } from '../projects/default-branch.ts'
import { getProject } from '../projects/store.ts'
import { makeSessionApp, type SessionApp } from '../sessions/testing.ts'
import { readInBackground } from '../testing-events.ts'
import { until } from '../testing-until.ts'
import { forgetOldMarks } from './mark-store.ts'

let app: SessionApp
const { signal } = new AbortController()
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterAll(() => app.close())

const newProject = async (files: Files = { 'a.txt': 'a\n' }): Promise<TestProject> =>
  testProject(app, await app.managedProject(files))

async function inbox(at: TestProject, query: Record<string, string> = {}, token = app.ownerToken): Promise<Inbox> {
  const search = new URLSearchParams({ project_id: at.project.project_id, ...query })
  return (await app.request<Inbox>('GET', `/v1/inbox?${search}`, { token })).body
}

/** Reads it once so that the server computes what it shows, and then again. */
async function checkedInbox(at: TestProject, query: Record<string, string> = {}): Promise<Inbox> {
  await inbox(at, query)
  await computeWantedFacts(app.deps, signal)
  return inbox(at, query)
}

async function oneItem(at: TestProject): Promise<InboxItem> {
  const { items } = await checkedInbox(at)
  expect(items).toHaveLength(1)
  return items[0]!
}

const putAway = (item: InboxItem, until: string | null = null, token = app.ownerToken) =>
  app.request<ErrorBody>('PUT', `/v1/inbox/${item.key}`, { body: { version: item.version, until }, token })
const restore = (item: InboxItem) => app.request('DELETE', `/v1/inbox/${item.key}`)
const states = ({ items }: Inbox) => items.map(({ number, state }) => [number, state])

async function push(at: TestProject, branch: string, files: Record<string, string>): Promise<void> {
  await commit(at.repo, branch, files)
  await app.request('GET', at.path())
}

describe('change requests in the inbox', () => {
  test('says `checking` until the server has checked one, and then why it is ready', async () => {
    const at = await newProject()
    const cr = await at.open('work', { 'b.txt': 'one\ntwo\n' })
    const before = await inbox(at)
    expect(before.items[0]).toMatchObject({ kind: 'change_request', group: 'review', state: 'checking', number: 1 })
    const item = await oneItem(at)
    expect(item).toMatchObject({
      ...{ cr_id: cr.cr_id, title: cr.title, state: 'ready', group: 'review', additions: 2, deletions: 0 },
      why: 'Touches b.txt · nothing collides',
      project: { project_id: at.project.project_id, slug: at.project.slug, name: at.project.name },
    })
  })

  test('names the file of a conflict', async () => {
    const at = await newProject()
    await at.open('work', { 'a.txt': 'mine\n' })
    await push(at, 'main', { 'a.txt': 'theirs\n' })
    expect(await oneItem(at)).toMatchObject({ group: 'unblock', state: 'conflicts', why: 'a.txt conflicts with main' })
  })

  test('says which change requests collide, and forgets it when one of them moves', async () => {
    const at = await newProject({ 'a.txt': 'a\n' })
    await at.open('one', { 'a.txt': 'one\n' })
    await at.open('two', { 'a.txt': 'two\n', 'svc.toml': '' })
    const { items } = await checkedInbox(at)
    expect(items.map(({ number, state, why }) => [number, state, why])).toEqual([
      [2, 'collides', 'Touches svc.toml and 1 more file · collides with #1 in a.txt'],
      [1, 'collides', 'Touches a.txt · collides with #2 in a.txt'],
    ])
    await push(at, 'two', { 'a.txt': 'a\n' })
    expect(states(await checkedInbox(at))).toEqual([
      [2, 'ready'],
      [1, 'ready'],
    ])
  })

  test('says what to confirm, or that checks run, before what it collides with, as the list does', async () => {
    const at = await newProject({ 'a.txt': 'a\n' })
    await at.open('one', { 'a.txt': 'one\n', 'svc.toml': '[sandbox]\negress = ["up.example"]\n' })
    await at.open('two', { 'a.txt': 'two\n' })
    const { items } = await checkedInbox(at)
    expect(items.map(({ state, why }) => [state, why])).toEqual([
      ['collides', 'Touches a.txt · collides with #1 in a.txt'],
      ['confirm', '1 effect to confirm · touches svc.toml and 1 more file · collides with #2 in a.txt'],
    ])
    await push(at, 'main', { 'svc.toml': '[[checks]]\nname = "unit"\ncommand = "run"\n' })
    await detectDefaultBranch(app.deps, (await getProject(app.deps.db, at.project.project_id))!)
    await detectChecks(app.deps, signal)
    expect(states(await checkedInbox(at)).find(([number]) => number === 2)).toEqual([2, 'checking'])
  })

  test('says of one whose base was merged elsewhere without it that it is not ready', async () => {
    const at = await newProject()
    const below = await at.open('below', { 'b.txt': 'b\n' })
    await at.open('above', { 'c.txt': 'c\n' }, { base_ref: 'below' })
    expect((await at.merge(below.cr_id)).status).toBe(200)
    expect(await oneItem(at)).toMatchObject({ state: 'base_merged', group: 'review' })
    expect(await oneItem(at)).toMatchObject({ why: 'below was merged without it · touches c.txt' })
  })

  test('waits for checks, and says which one failed', async () => {
    const at = await newProject({ 'svc.toml': '[[checks]]\nname = "unit"\ncommand = "run"\n' })
    await at.open('work', { 'b.txt': 'b\n' })
    await detectDefaultBranch(app.deps, (await getProject(app.deps.db, at.project.project_id))!)
    await detectChecks(app.deps, signal)
    expect(await oneItem(at)).toMatchObject({ state: 'checking', group: 'review' })
    const set = (status: 'passed' | 'failed') =>
      updateRows(app.deps.db, 'check_runs', { project_id: at.project.project_id }, { status })
    await set('passed')
    expect(await oneItem(at)).toMatchObject({ state: 'ready' })
    expect((await oneItem(at)).why).toStartWith('The check passes')
    await set('failed')
    expect(await oneItem(at)).toMatchObject({ state: 'failing', group: 'unblock' })
    expect((await oneItem(at)).why).toStartWith('Check unit failed')
  })

  test('says how many effects of the merge a person has to confirm', async () => {
    const at = await newProject({ 'svc.toml': '[sandbox]\negress = ["npm.example"]\n' })
    await at.open('work', { 'svc.toml': '[sandbox]\negress = ["npm.example", "up.example"]\n' })
    const { items } = await checkedInbox(at)
    expect(items).toMatchObject([{ state: 'confirm', group: 'review', why: '1 effect to confirm · touches svc.toml' }])
    // A file that cannot be read ends everything that it defined before.
    await push(at, 'work', { 'svc.toml': 'svc_version = [\n' })
    expect(await oneItem(at)).toMatchObject({ state: 'confirm', why: '1 effect to confirm · touches svc.toml' })
  })

  test('is blocked by an invalid svc.toml while the project requires a valid one', async () => {
    const at = await newProject()
    await at.open('work', { 'svc.toml': 'svc_version = [' })
    expect((await checkedInbox(at)).items).toMatchObject([{ state: 'ready', group: 'review' }])
    const body = { settings: { manifest_gate: 'on' } }
    await app.request('PATCH', `/v1/projects/${at.project.project_id}`, { body })
    const why = 'svc.toml is invalid, and the project requires a valid one · touches svc.toml'
    expect(await oneItem(at)).toMatchObject({ state: 'manifest_invalid', group: 'unblock', why })
  })

  test('is answered by commits after a review of this person, and leaves out drafts', async () => {
    const at = await newProject()
    const cr = await at.open('work', { 'b.txt': 'b\n' })
    await at.open('draft', { 'c.txt': 'c\n' }, { metadata: { draft: true } })
    const review = { head_sha: cr.head_commit_sha, body: 'Add tests.', comments: [], send: false }
    expect((await app.request('POST', at.path(cr.cr_id, 'reviews'), { body: review })).status).toBe(201)
    expect(await oneItem(at)).toMatchObject({ state: 'ready' })
    await push(at, 'work', { 'test.txt': 't\n' })
    expect(await oneItem(at)).toMatchObject({ state: 'answered' })
    const other = await app.makeUser('member')
    expect((await inbox(at, {}, other.token)).items[0]).toMatchObject({ state: 'ready' })
  })

  test('says that the repository cannot be read', async () => {
    const at = await newProject()
    await at.open('work', { 'b.txt': 'b\n' })
    await rename(at.repo.dir, `${at.repo.dir}.away`)
    expect(await oneItem(at)).toMatchObject({ state: 'unreachable' })
    await rename(`${at.repo.dir}.away`, at.repo.dir)
  })
})

describe('sessions in the inbox', () => {
  test('shows the task and the error of a failed session, and what its agent asks', async () => {
    const at = testProject(app, app)
    const session = await app.running({ initial_prompt: 'Update the dependencies\nand their tests', name: 'Nightly' })
    const running = (await inbox(at, { group: 'running' })).items
    expect(running).toMatchObject([{ kind: 'session', title: 'Nightly', task: 'Update the dependencies' }])
    const agent = app.driver.questions(session.sandbox!.sandbox_id)
    app.driver.options.onPrompt = async () =>
      `The person said ${JSON.stringify(await agent.askPermission({ permission: 'bash', patterns: ['npm publish'], always: [] }))}`
    await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text: 'publish it' } })
    const asked = await until('the question is there', async () => {
      const found = await inbox(at)
      return found.counts.answer === 1 ? found : null
    })
    expect(asked.counts).toEqual({ answer: 1, review: 0, unblock: 0, running: 0 })
    expect(asked.items[0]).toMatchObject({
      ...{ group: 'answer', state: 'permission', kind: 'question' },
      session: { session_id: session.session_id, name: 'Nightly' },
    })
    expect(asked.items[0]!.why).toStartWith('Session “Nightly” is waiting')
    await app.driver.crash((await app.session(session.session_id)).sandbox!.sandbox_id, 'npm ci exited with 1')
    await app.reaches(session.session_id, 'failed')
    expect((await inbox(at)).items).toMatchObject([
      { group: 'unblock', state: 'failed', task: 'Update the dependencies' },
    ])
    expect((await inbox(at)).items[0]!.why).toStartWith('npm ci exited with 1')
  })
})

describe('putting an item away', () => {
  test('hides it for this person alone, and new commits bring it back', async () => {
    const at = await newProject()
    await at.open('work', { 'b.txt': 'b\n' })
    const item = await oneItem(at)
    expect((await putAway(item)).status).toBe(200)
    const after = await inbox(at)
    expect(after).toMatchObject({ items: [], done: 1, snoozed: 0, counts: { review: 0 } })
    expect((await inbox(at, { view: 'done' })).items).toMatchObject([{ key: item.key, snoozed_until: null }])
    const { token } = await app.makeUser('member')
    expect((await inbox(at, {}, token)).items).toHaveLength(1)
    await push(at, 'work', { 'c.txt': 'c\n' })
    expect(await inbox(at)).toMatchObject({ items: [{ key: item.key }], done: 0 })
  })

  test('a new conflict brings it back, and the same one does not', async () => {
    const at = await newProject()
    await at.open('work', { 'a.txt': 'mine\n' })
    await putAway(await oneItem(at))
    await push(at, 'main', { 'a.txt': 'theirs\n' })
    await checkedInbox(at, { view: 'done' })
    const item = await oneItem(at)
    expect(item.state).toBe('conflicts')
    await putAway(item)
    await push(at, 'main', { 'a.txt': 'theirs again\n' })
    await checkedInbox(at, { view: 'done' })
    expect((await inbox(at)).items).toEqual([])
  })

  test('undo returns it at once', async () => {
    const at = await newProject()
    await at.open('work', { 'b.txt': 'b\n' })
    const item = await oneItem(at)
    await putAway(item)
    expect((await restore(item)).status).toBe(200)
    expect((await inbox(at)).items).toMatchObject([{ key: item.key }])
  })

  test('a snoozed item comes back at its time', async () => {
    const at = await newProject()
    await at.open('work', { 'b.txt': 'b\n' })
    const item = await oneItem(at)
    const until = new Date(Date.now() + 3_600_000).toISOString()
    expect((await putAway(item, until)).status).toBe(200)
    expect(await inbox(at)).toMatchObject({ items: [], snoozed: 1, done: 0 })
    expect((await inbox(at, { view: 'snoozed' })).items).toMatchObject([{ key: item.key, snoozed_until: until }])
    const past = new Date(Date.now() - 1_000)
    await updateRows(app.deps.db, 'inbox_marks', { item_key: item.key }, { snoozed_until: past })
    expect((await inbox(at)).items).toMatchObject([{ key: item.key, snoozed_until: null }])
  })

  test('an item that changed since it was shown stays', async () => {
    const at = await newProject()
    await at.open('work', { 'b.txt': 'b\n' })
    const item = await oneItem(at)
    await push(at, 'work', { 'c.txt': 'c\n' })
    expect((await putAway(item)).status).toBe(200)
    expect((await inbox(at)).items).toHaveLength(1)
  })

  test('refuses times in the past, unknown items, and items of other accounts', async () => {
    const at = await newProject()
    await at.open('work', { 'b.txt': 'b\n' })
    const item = await oneItem(at)
    expect((await putAway(item, '2020-01-01T00:00:00.000Z')).status).toBe(400)
    expect((await putAway({ ...item, key: `change_request.${randomUUID()}` })).status).toBe(404)
    const stranger = await app.makeUser('owner', 'own')
    expect((await putAway(item, null, stranger.token)).status).toBe(404)
    expect((await inbox(at, {}, stranger.token)).items).toEqual([])
    expect((await app.request('GET', '/v1/inbox?cursor=nonsense')).status).toBe(400)
    const viewer = await app.makeUser('viewer')
    expect((await inbox(at, {}, viewer.token)).items).toEqual([])
  })

  test('marks of closed change requests are deleted', async () => {
    const at = await newProject()
    const cr = await at.open('work', { 'b.txt': 'b\n' })
    const item = await oneItem(at)
    await putAway(item)
    const old = { marked_at: new Date(Date.now() - 48 * 3_600_000) }
    await updateRows(app.deps.db, 'inbox_marks', { item_key: item.key }, old)
    const left = async () => {
      await forgetOldMarks(app.deps.db)
      return (await app.deps.db.selectFrom('inbox_marks').where('item_key', '=', item.key).selectAll().execute()).length
    }
    expect(await left()).toBe(1)
    await app.request('POST', at.path(cr.cr_id, 'close'), { body: {} })
    expect(await left()).toBe(0)
  })
})

describe('a long inbox', () => {
  test('pages through thousands of change requests, each once, with complete counts', async () => {
    const at = await newProject()
    const cr = await at.open('work', { 'b.txt': 'b\n' })
    await sql`
      insert into change_requests (cr_id, account_id, project_id, number, title, base_ref, head_ref, base_commit_sha, head_commit_sha, created_by)
      select gen_random_uuid(), account_id, project_id, n, 'Copy ' || n, base_ref, head_ref || n, base_commit_sha, head_commit_sha, created_by
      from change_requests, generate_series(2, 2500) n where cr_id = ${cr.cr_id}`.execute(app.deps.db)
    const first = await inbox(at, { per_group: '20' })
    expect(first.items).toHaveLength(20)
    expect(first.counts.review).toBe(2500)
    const seen = new Set<string>()
    let path: string | null = `/v1/inbox?project_id=${at.project.project_id}&group=review&limit=1000`
    while (path !== null) {
      const page: { body: Inbox; headers: Headers } = await app.request<Inbox>('GET', path)
      for (const { key } of page.body.items) seen.add(key)
      const next: string | undefined = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1]
      path = next === undefined ? null : next.replace(/^https?:\/\/[^/]+/, '')
    }
    expect(seen.size).toBe(2500)
    // What is shown without facts is wanted, and nothing else.
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from wanted_change_request_facts where project_id = ${at.project.project_id}`.execute(
      app.deps.db,
    )
    expect(rows[0]?.n).toBe(2500)
  })
})

describe('following the inbox', () => {
  test('one stream says that something changed in any project', async () => {
    const [one, two] = [await newProject(), await newProject()]
    const { publicUrl } = app.deps.config
    const headers = { host: new URL(publicUrl).host, authorization: `Bearer ${app.ownerToken}` }
    const follow = async (query = '') => {
      const response = await buildApp(app.deps).request(`${publicUrl}/v1/inbox/events${query}`, { headers })
      return readInBackground(response, ({ data }) => JSON.parse(data) as { type: string; project_ids: string[] })
    }
    const events = await follow()
    await events.find('it is ready', ({ type }) => type === 'ready')
    await one.open('work', { 'b.txt': 'b\n' })
    await two.open('work', { 'b.txt': 'b\n' })
    for (const { project } of [one, two])
      await events.find('the project changed', ({ project_ids }) => project_ids.includes(project.project_id))
    await inbox(one)
    const count = events.seen.length
    await computeWantedFacts(app.deps, signal)
    await until('it says that a check ended', () => events.seen.length > count)
    await events.close()
    // A page that read the inbox before it follows it misses nothing between.
    const late = await follow('?recent=3600')
    const changed = await late.find('what changed before', ({ type }) => type === 'changed')
    expect(changed.project_ids).toContain(one.project.project_id)
    await late.close()
  })
})

describe('what is open in each project', () => {
  const openWork = async (token = app.ownerToken) =>
    (await app.request<OpenWork[]>('GET', '/v1/inbox/projects', { token })).body

  test('counts open change requests, live sessions and what needs the caller, and leaves out idle projects', async () => {
    const at = await newProject()
    const { project_id } = at.project
    const idle = await newProject()
    await at.open('work', { 'b.txt': 'b\n' })
    await at.open('draft', { 'c.txt': 'c\n' }, { metadata: { draft: true } })
    const of = async (token?: string) => (await openWork(token)).find((each) => each.project_id === project_id)
    expect(await of()).toEqual({ project_id, change_requests: 2, sessions: 0, needs_you: 1 })
    expect((await openWork()).map((each) => each.project_id)).not.toContain(idle.project.project_id)
    const session = await app.running({ initial_prompt: 'Look around' })
    const live = (await openWork()).find((each) => each.project_id === session.project_id)
    expect(live?.sessions).toBeGreaterThan(0)
    await putAway(await oneItem(at))
    expect(await of()).toMatchObject({ change_requests: 2, needs_you: 0 })
    const viewer = await app.makeUser('viewer')
    expect(await of(viewer.token)).toBeUndefined()
    expect((await openWork(viewer.token)).every((each) => each.change_requests === null)).toBe(true)
    expect(await openWork((await app.makeUser('owner', 'own')).token)).toEqual([])
  })

  test('answers for a thousand projects at once, the newest first', async () => {
    const at = await newProject()
    const cr = await at.open('work', { 'b.txt': 'b\n' })
    await sql`
      insert into projects select (jsonb_populate_record(p, jsonb_build_object('project_id', gen_random_uuid(),
        'slug', 'many-' || n, 'created_at', now() + n * interval '1 second'))).*
      from projects p, generate_series(1, 1000) n where p.project_id = ${at.project.project_id}`.execute(app.deps.db)
    await sql`
      insert into change_requests (cr_id, account_id, project_id, number, title, base_ref, head_ref, base_commit_sha, head_commit_sha, created_by)
      select gen_random_uuid(), c.account_id, p.project_id, n, 'Copy', c.base_ref, c.head_ref || n, c.base_commit_sha, c.head_commit_sha, c.created_by
      from change_requests c, projects p, generate_series(1, 3) n where c.cr_id = ${cr.cr_id} and p.slug like 'many-%'`.execute(
      app.deps.db,
    )
    const found = await openWork()
    const newest = await app.request<Project[]>('GET', '/v1/projects?limit=1000')
    expect(found.map(({ project_id }) => project_id)).toEqual(newest.body.map(({ project_id }) => project_id))
    expect(new Set(found.map((each) => `${each.change_requests} ${each.needs_you}`))).toEqual(new Set(['3 3']))
  })
})
