/** The list of change requests at the HTTP entry: its order, its filters, and what it shows of each row in one request. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ChangeRequest, ChangeRequestSummary } from '@svc/contract'
import { commit, type Files } from '@svc/git/testing'
import { sql } from 'kysely'
import { detectChecks } from '../../checks/trees.ts'
import { detectDefaultBranch } from '../../projects/default-branch.ts'
import { getProject } from '../../projects/store.ts'
import { makeSessionApp, type SessionApp } from '../../sessions/testing.ts'
import { computeWantedFacts } from '../preview/wanted.ts'
import { type TestProject, testProject } from '../testing.ts'

let app: SessionApp
const { signal } = new AbortController()
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterAll(() => app.close())

const newProject = async (files: Files = { 'a.txt': 'a\n' }): Promise<TestProject> =>
  testProject(app, await app.managedProject(files))

interface Listed {
  change_requests: ChangeRequest[]
  summaries?: Record<string, ChangeRequestSummary>
}

const list = (at: TestProject, query = '') => app.request<Listed>('GET', `${at.path()}?${query}`)
const numbers = async (at: TestProject, query: string) =>
  (await list(at, query)).body.change_requests.map(({ number }) => number)

/** Lists once so that the server computes what is not known yet, and then again. */
async function summaries(at: TestProject): Promise<Record<number, ChangeRequestSummary>> {
  await list(at, 'include=summary')
  await computeWantedFacts(app.deps, signal)
  const { body } = await list(at, 'include=summary')
  return Object.fromEntries(body.change_requests.map((cr) => [cr.number, body.summaries![cr.cr_id]!]))
}

test('lists without summaries unless they are asked for, and their fields stay the same', async () => {
  const at = await newProject()
  const cr = await at.open('work', { 'b.txt': 'b\n' })
  expect((await list(at)).body).toEqual({ change_requests: [cr] })
  const { body } = await list(at, 'include=summary')
  expect(body.change_requests).toEqual([cr])
  expect(body.summaries![cr.cr_id]).toMatchObject({ state: 'checking', conflict_count: null, collisions: null })
  expect((await list(at, 'include=else')).status).toBe(400)
})

test('shows the size, the conflicts and the collisions of each', async () => {
  const at = await newProject({ 'a.txt': 'a\n', 'c.txt': 'c\n' })
  await at.open('clean', { 'b.txt': 'one\ntwo\n', 'svc.toml': 'svc_version = 1\n' })
  await at.open('one', { 'c.txt': 'one\n' })
  await at.open('two', { 'c.txt': 'two\n' })
  await at.open('old', { 'a.txt': 'mine\n' })
  await commit(at.repo, 'main', { 'a.txt': 'theirs\n' })
  const found = await summaries(at)
  expect(found[1]).toMatchObject({ state: 'ready', additions: 3, deletions: 0, files: 2, touches: 'svc.toml' })
  expect(found[1]).toMatchObject({ collisions: [], checks: null, session: null, author: 'Owner', reviews: 0 })
  expect(found[2]!.collisions).toEqual([{ number: 3, title: 'Work of two', files: ['c.txt'] }])
  // The inbox has the same word for both.
  expect([found[2]!.state, found[3]!.state]).toEqual(['collides', 'collides'])
  expect(await numbers(at, 'sort=ready')).toEqual([1, 3, 2, 4])
  expect(found[4]).toMatchObject({ state: 'conflicts', conflicts: ['a.txt'], conflict_count: 1 })
})

test('counts the checks of the default branch, and a failed one blocks', async () => {
  const at = await newProject({ 'svc.toml': 'svc_version = 1\n\n[[checks]]\nname = "unit"\ncommand = "true"\n' })
  const { project_id } = at.project
  await detectDefaultBranch(app.deps, (await getProject(app.deps.db, project_id))!)
  const cr = await at.open('work', { 'b.txt': 'b\n' })
  expect((await summaries(at))[1]).toMatchObject({ state: 'checking', checks: null })
  await detectChecks(app.deps, signal)
  expect((await summaries(at))[1]).toMatchObject({ state: 'checking', checks: { defined: 1, passed: 0 } })
  await sql`update check_runs set status = 'failed', ended_at = now() where project_id = ${project_id}`.execute(
    app.deps.db,
  )
  expect((await summaries(at))[1]).toMatchObject({ state: 'failing', checks: { failed: ['unit'] } })
  expect(await numbers(at, 'sort=ready')).toEqual([cr.number])
  await sql`update check_runs set status = 'passed' where project_id = ${project_id}`.execute(app.deps.db)
  expect((await summaries(at))[1]).toMatchObject({ state: 'ready', checks: { passed: 1, failed: [] } })
})

test('asks for confirmation while the merge sends a secret to a new host, and comes after what is ready', async () => {
  const at = await newProject()
  const pay = `[[connectors]]\nslug = "pay"\ntype = "http"\nurl = "https://pay.example"\nauth = { type = "bearer", secret_env = "PAY_KEY" }\n`
  const state = async (number: number) => {
    const { [number]: found } = await summaries(at)
    return [found!.state, found!.confirm_count]
  }
  await at.open('work', { 'b.txt': 'b\n' })
  await at.open('pay', { 'svc.toml': pay })
  expect([await state(1), await state(2)]).toEqual([
    ['ready', 0],
    ['confirm', 1],
  ])
  expect(await numbers(at, 'sort=ready')).toEqual([1, 2])
  await commit(at.repo, 'pay', { 'svc.toml': '' })
  expect(await state(2)).toEqual(['ready', 0])
  // Only the default branch has effects.
  await commit(at.repo, 'next', { 'a.txt': 'next\n' })
  const aside = await at.open('aside', { 'svc.toml': pay }, { base_ref: 'next' })
  expect(await state(aside.number)).toEqual(['ready', 0])
})

test('is blocked by an invalid svc.toml of its head while the project requires a valid one', async () => {
  const at = await newProject({ 'svc.toml': 'svc_version = [' })
  const gate = (manifest_gate: string) =>
    app.request('PATCH', `/v1/projects/${at.project.project_id}`, { body: { settings: { manifest_gate } } })
  await commit(at.repo, 'next', { 'a.txt': 'next\n' })
  await at.open('work', { 'b.txt': 'b\n' })
  await at.open('aside', { 'c.txt': 'c\n' }, { base_ref: 'next' })
  await at.open('mended', { 'svc.toml': 'svc_version = 1\n' })
  const states = async () => Object.values(await summaries(at)).map(({ state }) => state)
  expect(await states()).toEqual(['ready', 'ready', 'ready'])
  await gate('on')
  expect(await states()).toEqual(['manifest_invalid', 'manifest_invalid', 'ready'])
  expect(await numbers(at, 'sort=ready')).toEqual([3, 2, 1])
})

test('is not ready while its base is merged elsewhere without it, until the base has a newer commit', async () => {
  const at = await newProject()
  const below = await at.open('below', { 'b.txt': 'b\n' })
  const above = await at.open('above', { 'c.txt': 'c\n' }, { base_ref: 'below' })
  await at.open('plain', { 'd.txt': 'd\n' })
  const states = async () => Object.values(await summaries(at)).map(({ state }) => state)
  expect(await states()).toEqual(['ready', 'ready', 'ready'])
  expect((await at.merge(below.cr_id)).status).toBe(200)
  expect((await summaries(at))[above.number]!.state).toBe('base_merged')
  expect(await numbers(at, 'sort=ready&status=open')).toEqual([3, 2])
  await commit(at.repo, 'below', { 'e.txt': 'e\n' })
  expect((await summaries(at))[above.number]!.state).toBe('ready')
})

test('names the other open ones of the same two branches, which the service allows', async () => {
  const at = await newProject()
  await at.open('work', { 'b.txt': 'b\n' })
  await commit(at.repo, 'next', { 'a.txt': 'next\n' })
  const more = { head_ref: 'work', base_ref: 'main', title: 'Work again' }
  for (const base_ref of ['main', 'next'])
    expect((await app.request('POST', at.path(), { body: { ...more, base_ref } })).status).toBe(201)
  const same = async () => Object.values(await summaries(at)).map(({ same_branches }) => same_branches)
  expect(await same()).toEqual([[2], [1], undefined])
  await app.request('POST', at.path((await list(at, 'number=2')).body.change_requests[0]!.cr_id, 'close'))
  expect(await same()).toEqual([undefined, undefined])
})

test('shows its session, counts review comments, and finds it by the name of the session', async () => {
  const at = await newProject()
  const cr = await at.open('work', { 'b.txt': 'b\n' })
  await at.open('other', { 'c.txt': 'c\n' })
  await sql`insert into project_sessions (session_id, account_id, project_id, name, branch_name, base_ref, agent_name, status)
    select gen_random_uuid(), account_id, project_id, 'Invoice totals', 'work', 'main', 'codex', 'stopped'
    from change_requests where cr_id = ${cr.cr_id}`.execute(app.deps.db)
  await sql`update change_requests set origin_session_id = (select session_id from project_sessions
    where project_id = ${at.project.project_id}) where cr_id = ${cr.cr_id}`.execute(app.deps.db)
  const comment = { path: 'b.txt', side: 'new', line: 1, text: 'Why?' }
  const review = { head_sha: cr.head_commit_sha, body: 'Look', comments: [comment, comment], send: false }
  expect((await app.request('POST', at.path(cr.cr_id, 'reviews'), { body: review })).status).toBe(201)
  expect((await summaries(at))[1]).toMatchObject({
    session: { name: 'Invoice totals', agent_name: 'codex' },
    ...{ reviews: 1, comments: 2 },
  })
  expect(await numbers(at, 'search=invoice')).toEqual([1])
})

test('sorts by the last update, and lists what is ready first, page by page', async () => {
  const at = await newProject()
  await at.open('one', { 'a.txt': 'mine\n' })
  await at.open('two', { 'b.txt': 'b\n' })
  await at.open('three', { 'c.txt': 'c\n' })
  const draft = await at.open('four', { 'd.txt': 'd\n' }, { metadata: { draft: true } })
  await commit(at.repo, 'main', { 'a.txt': 'theirs\n' })
  const found = await summaries(at)
  expect([found[1]!.state, found[2]!.state, found[4]!.state]).toEqual(['conflicts', 'ready', null])
  expect(await numbers(at, 'sort=ready')).toEqual([3, 2, 1, draft.number])
  await app.request('PATCH', at.path(draft.cr_id), { body: { title: 'Later' } })
  expect((await numbers(at, 'sort=updated'))[0]).toBe(draft.number)
  for (const sort of ['newest', 'updated', 'ready']) {
    const whole = await numbers(at, `sort=${sort}`)
    const paged: number[] = []
    let next: string | null = `${at.path()}?sort=${sort}&limit=1`
    while (next !== null) {
      const page: { body: Listed; headers: Headers } = await app.request<Listed>('GET', next)
      paged.push(...page.body.change_requests.map(({ number }) => number))
      const link = /<([^>]*)>;\s*rel="next"/.exec(page.headers.get('link') ?? '')?.[1]
      next = link === undefined ? null : new URL(link, 'http://x').pathname + new URL(link, 'http://x').search
    }
    expect(paged).toEqual(whole)
  }
  expect((await list(at, 'sort=ready&cursor=eyJ4IjoxfQ')).status).toBe(400)
})
