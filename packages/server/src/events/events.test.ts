import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ChangeRequest, type Project, projectEvent, type ProjectEvent, type ProjectEventPage } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { detectDefaultBranch } from '../projects/default-branch.ts'
import { getProject } from '../projects/store.ts'
import { makeSessionApp, secondServer, type SessionApp, until } from '../sessions/testing.ts'
import { recordEvent } from './record.ts'
import { deleteOldEvents } from './store.ts'
import { openProjectEvents, readProjectEvents } from './testing.ts'

let app: SessionApp
let project: Project
beforeAll(async () => {
  app = await makeSessionApp()
  project = app.project
}, 120_000)
afterAll(() => app.close())

const open = async (options: { token?: string; query?: string; lastEventId?: string } = {}, server = app.deps) =>
  readProjectEvents(
    await openProjectEvents({ deps: server }, project.project_id, { token: app.ownerToken, ...options }),
  )
const page = async (query = '', token = app.ownerToken) =>
  (await app.request<ProjectEventPage>('GET', `/v1/projects/${project.project_id}/events${query}`, { token })).body
const path = (crId = '', verb = '') =>
  ['/v1/projects', project.project_id, 'change-requests', crId, verb].filter((part) => part !== '').join('/')

async function openChangeRequest(branch: string): Promise<ChangeRequest> {
  await commit(app.repo, branch, { [`${branch}.txt`]: `${branch}\n` }, { from: project.default_branch })
  return (await app.request<ChangeRequest>('POST', path(), { body: { title: `Add ${branch}`, head_ref: branch } })).body
}

/** An event of a type that nothing else here records. */
const note = (n: number, db: Parameters<typeof recordEvent>[0] = app.deps.db) =>
  recordEvent(db, {
    project_id: project.project_id,
    type: 'default_branch.moved',
    data: { branch: `note-${n}`, before: null, sha: null },
  })
const noted = (events: ProjectEvent[]) =>
  events.flatMap((event) => (event.type === 'default_branch.moved' ? [Number(event.data.branch.slice(5))] : []))

describe('recording events', () => {
  test('records the life of a change request with its actor, and each event fits its schema', async () => {
    const events = await open()
    const made = await openChangeRequest('told')
    await commit(app.repo, 'told', { 'more.txt': 'more\n' })
    await app.request('GET', path(made.cr_id))
    await app.request('PATCH', path(made.cr_id), { body: { title: 'Another title' } })
    await app.request('POST', path(made.cr_id, 'reviews'), {
      body: { head_sha: made.head_commit_sha, body: 'fine', comments: [], send: false },
    })
    await app.request('POST', path(made.cr_id, 'close'), { body: {} })
    await app.request('POST', path(made.cr_id, 'reopen'), { body: {} })
    await app.request('POST', path(made.cr_id, 'merge'), { body: {} })
    await events.find('it is merged', ({ type }) => type === 'change_request.merged')
    const told = events.events().filter(({ type }) => type.startsWith('change_request.'))
    expect(told.map(({ type }) => type.slice('change_request.'.length))).toEqual([
      ...['opened', 'updated', 'updated', 'reviewed', 'closed', 'reopened', 'merged'],
    ] as never)
    expect(told.map((event) => ('changed' in event.data ? event.data.changed : undefined))).toEqual([
      ...[undefined, ['head'], ['title'], undefined, undefined, undefined, undefined],
    ] as never)
    expect(told.map(({ actor }) => actor?.user_id ?? null)).toEqual(
      told.map((_, n) => (n === 1 ? null : app.owner.user_id)),
    )
    for (const event of events.events()) expect(() => projectEvent.parse(event)).not.toThrow()
    await detectDefaultBranch(app.deps, (await getProject(app.deps.db, project.project_id))!)
    await events.close()
  })

  test('records nothing for refused merges and repeated closes', async () => {
    const made = await openChangeRequest('still')
    await app.request('POST', path(made.cr_id, 'close'), { body: {} })
    const { last } = await page()
    await app.request('POST', path(made.cr_id, 'close'), { body: {} })
    expect((await app.request('POST', path(made.cr_id, 'merge'), { body: {} })).status).toBe(409)
    expect((await page()).last).toBe(last)
  })

  test('records the changed fields of an edit, and nothing for a repetition', async () => {
    const made = await openChangeRequest('edited')
    const edit = (body: object) => app.request('PATCH', path(made.cr_id), { body })
    const metadata = { ticket: 7, tags: ['a', 'b'] }
    await edit({ title: 'Better', metadata })
    const { last } = await page()
    expect((await edit({ title: 'Better', metadata })).status).toBe(200)
    expect((await page()).last).toBe(last)
    await edit({ title: 'Better', description: 'Why.', metadata })
    const { events } = await page(`?after=${last}`)
    expect(events.map((event) => 'changed' in event.data && event.data.changed)).toEqual([['description']])
  })

  test('records the states of a session, the ends of its turns, and why it failed', async () => {
    const events = await open()
    const session = await app.running()
    await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text: 'hello' } })
    await events.find('the turn ended', ({ type }) => type === 'session.turn_ended')
    await app.request('POST', app.path(session.session_id, 'stop'))
    await app.request('POST', app.path(session.session_id, 'restart'))
    await app.reaches(session.session_id, 'running')
    await app.driver.crash((await app.session(session.session_id)).sandbox!.sandbox_id, 'It broke.')
    await app.reaches(session.session_id, 'failed')
    await app.request('DELETE', app.path(session.session_id))
    await events.find('it is deleted', ({ type }) => type === 'session.deleted')
    const told = events.events().filter(({ type }) => type.startsWith('session.'))
    expect(told.map(({ type }) => type.slice('session.'.length))).toEqual([
      ...['provisioning', 'running', 'turn_ended', 'stopped', 'provisioning', 'running', 'failed', 'deleted'],
    ] as never)
    const failed = told.find(({ type }) => type === 'session.failed')
    expect(failed?.data).toMatchObject({ session_id: session.session_id, generation: 2, reason: 'It broke.' })
    for (const event of told) expect(() => projectEvent.parse(event)).not.toThrow()
    await events.close()
  })

  test('records a move of the default branch once, however many servers see it', async () => {
    const row = (await getProject(app.deps.db, project.project_id))!
    await detectDefaultBranch(app.deps, row)
    const other = await secondServer(app)
    const { last } = await page()
    await commit(app.repo, project.default_branch, { 'outside.txt': 'outside\n' })
    await Promise.all([detectDefaultBranch(app.deps, row), detectDefaultBranch(other.deps, row)])
    const { events } = await page(`?after=${last}`)
    expect(events.map(({ type }) => type)).toEqual(['default_branch.moved'])
    await other.close()
  })

  test('hides change requests from viewers, who may not read them', async () => {
    const { token } = await app.makeUser('viewer')
    const before = await page()
    const events = await open({ token, query: `?after=${before.last}` })
    await openChangeRequest('hidden')
    await note(1)
    await events.find('the note', ({ type }) => type === 'default_branch.moved')
    expect(events.events().map(({ type }) => type)).toEqual(['default_branch.moved'])
    const seen = (await page(`?after=${before.last}`, token)).events
    expect(seen.map(({ type }) => type)).toEqual(['default_branch.moved'])
    await events.close()
  })
})

describe('reading events', () => {
  test('begins now, after a given id, or after the last event of the reader', async () => {
    const { last } = await page()
    const now = await open()
    await now.find('it is ready', ({ type, id }) => type === 'ready' && id === last)
    for (const n of [1, 2, 3]) await note(n)
    await now.find('the third', ({ id }) => id === last + 3)
    expect(now.events().map(({ id }) => id)).toEqual([last + 1, last + 2, last + 3])
    await now.close()

    const again = await open({ lastEventId: String(last + 1), query: '?after=0' })
    await again.find('the third', ({ id, type }) => id === last + 3 && type !== 'ready')
    expect(again.seen.map(({ id, type }) => [id, type === 'ready'])).toEqual([
      [last + 1, true],
      [last + 2, false],
      [last + 3, false],
    ])
    await again.close()
  })

  test('returns pages as JSON', async () => {
    const { last } = await page()
    for (const n of [1, 2, 3, 4, 5]) await note(n)
    const first = await page(`?after=${last}&limit=3`)
    expect(noted(first.events)).toEqual([1, 2, 3])
    expect(noted((await page(`?after=${first.events.at(-1)!.id}`)).events)).toEqual([4, 5])
    expect(noted((await page('?limit=2')).events)).toEqual([4, 5])
    expect(first.last).toBe(last + 5)
  })

  test('delivers events that another server recorded', async () => {
    const other = await secondServer(app)
    const here = await open()
    const there = await open({}, other.deps)
    await Promise.all([here, there].map((reader) => reader.find('ready', ({ type }) => type === 'ready')))
    await note(77, other.deps.db)
    await note(78)
    for (const reader of [here, there]) {
      await until('both came', () => reader.events().length === 2)
      expect(noted(reader.events())).toEqual([77, 78])
      await reader.close()
    }
    await other.close()
  })

  test('continues after the notification connection was lost', async () => {
    const events = await open()
    await events.find('ready', ({ type }) => type === 'ready')
    // Other tests have servers on the same cluster, with databases of their own.
    const listening = sql`from pg_stat_activity where datname = current_database() and query = 'listen svc_project_events'`
    await until(
      'somebody listens',
      async () => (await sql`select pid ${listening}`.execute(app.deps.db)).rows.length > 0,
    )
    await sql`select pg_terminate_backend(pid) ${listening}`.execute(app.deps.db)
    await note(5)
    await until('it came', () => noted(events.events()).includes(5))
    await events.close()
  })

  test('begins with the events since a reader read the state, when it says how long ago that was', async () => {
    await note(30)
    await app.deps.db
      .updateTable('project_events')
      .set({ created_at: new Date(Date.now() - 60_000) })
      .where('project_id', '=', project.project_id)
      .execute()
    for (const n of [31, 32]) await note(n)
    const { last } = await page()
    const late = await open({ query: '?recent=30' })
    await late.find('the newest', ({ id }) => id === last)
    expect(late.seen[0]).toEqual({ type: 'ready', id: last - 2 })
    expect(noted(late.events())).toEqual([31, 32])
    await late.close()
    const seen = await open({ query: '?recent=30', lastEventId: String(last - 1) })
    await seen.find('the newest', ({ id }) => id === last)
    expect(noted(seen.events())).toEqual([32])
    await seen.close()
    for (const query of ['?recent=0', '?recent=3601', '?recent=soon']) {
      const refused = await app.request('GET', `/v1/projects/${project.project_id}/events${query}`)
      expect([query, refused.status]).toEqual([query, 400])
    }
  })

  test('sends a reset to a reader that was away too long or has an id of another project', async () => {
    for (const n of [1, 2, 3]) await note(n)
    const { last } = await page()
    await app.deps.db
      .updateTable('project_events')
      .set({ created_at: new Date(Date.now() - 40 * 24 * 3_600_000) })
      .where('number', '<=', last - 1)
      .execute()
    await deleteOldEvents(app.deps.db, 30)
    const late = await open({ lastEventId: '1' })
    await late.find('what is left', ({ id }) => id === last)
    expect(late.seen.map(({ id, type }) => ({ id, type: type as string }))).toEqual([
      { id: last - 1, type: 'reset' },
      { id: last, type: 'default_branch.moved' },
    ])
    await late.close()
    for (const lastEventId of ['nonsense', String(last + 1_000), '-1']) {
      const foreign = await open({ lastEventId })
      await foreign.find('it is told so', ({ type, id }) => type === 'reset' && id === last)
      await foreign.close()
    }
    expect((await page()).forgotten).toBe(last - 1)
  })

  test('the stream ends with its server, and the next server continues it', async () => {
    const other = await secondServer(app)
    const events = await open({}, other.deps)
    await events.find('ready', ({ type }) => type === 'ready')
    await other.close()
    await events.ended
    await note(9)
    const again = await open({ lastEventId: events.lastId() })
    await until('it came', () => noted(again.events()).includes(9))
    await again.close()
  })
})

describe('the order of events', () => {
  test('no reader sees a gap, in whatever order transactions commit', async () => {
    const { last } = await page()
    const events = await open()
    await events.find('ready', ({ type }) => type === 'ready')
    const seen: number[][] = []
    let isDone = false
    const looks = (async () => {
      while (!isDone) seen.push((await page(`?after=${last}&limit=1000`)).events.map(({ id }) => id))
    })()
    const writers = Array.from({ length: 12 }, async (_, writer) => {
      for (let n = 0; n < 15; n++)
        await app.deps.db
          .transaction()
          .execute(async (trx) => {
            await note(writer * 100 + n, trx)
            // Some transactions take long after their write, and some roll back.
            if (n % 3 === 0) await sql`select pg_sleep(0.005 * random())`.execute(trx)
            if (n % 5 === 4) throw new Error('rolled back')
          })
          .catch((error: Error) => expect(error.message).toBe('rolled back'))
    })
    await Promise.all(writers)
    isDone = true
    await looks
    const count = 12 * 12
    await until('all came', () => events.events().length >= count)
    const dense = Array.from({ length: count }, (_, n) => last + 1 + n)
    expect(events.events().map(({ id }) => id)).toEqual(dense)
    for (const ids of seen) expect(ids).toEqual(dense.slice(0, ids.length))
    for (let writer = 0; writer < 12; writer++) {
      const mine = noted(events.events()).filter((n) => Math.floor(n / 100) === writer)
      expect(mine).toEqual(mine.toSorted((a, b) => a - b))
    }
    await events.close()
  })
})
