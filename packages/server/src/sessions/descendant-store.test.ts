/** Sessions that agents start: whose they are, how deep they go, and how many of them live. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { ErrorBody, Session } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { makeSessionApp, type SessionApp } from './testing.ts'

setDefaultTimeout(120_000)
let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterAll(() => app.close())

const made = async (token = app.ownerToken, body: object = {}) => {
  const reply = await app.create(body, { token })
  expect(reply.status).toBe(201)
  return reply.body
}
const tokenFor = ({ session_id }: Pick<Session, 'session_id'>) =>
  app.makeToken({ project_id: app.project.project_id, session_id })
const startedBy = async (parent: Session) => made(await tokenFor(parent))
const refused = async (token: string) => {
  const { status, body } = await app.request<Record<string, unknown>>('POST', app.path(), { token, body: {} })
  return { ...body, status } as Record<string, unknown>
}
const settings = (set: object, token = app.ownerToken) =>
  app.request('PATCH', `/v1/projects/${app.project.project_id}`, { token, body: { settings: set } })
const read = async (session: Session, token: string) =>
  (await app.request('GET', app.path(session.session_id), { token })).status

describe('sessions started by agents', () => {
  test('a session of an agent names its parent, and one of a person has none', async () => {
    const root = await made()
    const child = await startedBy(root)
    expect([root.parent_session_id, child.parent_session_id]).toEqual([null, root.session_id])
  })

  test('only ancestors control a session', async () => {
    const root = await made()
    const [left, right] = [await startedBy(root), await startedBy(root)]
    const grandchild = await startedBy(left)
    const seen = async (session: Session) => {
      const token = await tokenFor(session)
      return Promise.all([root, left, right, grandchild].map((one) => read(one, token)))
    }
    expect(await seen(root)).toEqual([200, 200, 200, 200])
    expect(await seen(left)).toEqual([403, 200, 403, 200])
    expect(await seen(right)).toEqual([403, 403, 200, 403])
    expect(await seen(grandchild)).toEqual([403, 403, 403, 200])
  })

  test('a session keeps its ancestors when its parent is deleted', async () => {
    const root = await made()
    const [middle, sibling, stranger] = [await startedBy(root), await startedBy(root), await made()]
    const last = await startedBy(middle)
    await app.request('DELETE', app.path(middle.session_id))
    expect((await app.session(last.session_id)).parent_session_id).toBeNull()
    const seen = await Promise.all([root, sibling, stranger].map(async (one) => read(last, await tokenFor(one))))
    expect(seen).toEqual([200, 403, 403])
    // Its depth is what it was: a deleted parent is no way to start anew.
    const third = await startedBy(last)
    expect(await refused(await tokenFor(third))).toMatchObject({ status: 429, code: 'limit_reached', depth: 4 })
    await app.request('DELETE', app.path(root.session_id))
    expect(await read(last, await tokenFor(sibling))).toBe(403)
    expect(await read(last, await tokenFor(stranger))).toBe(403)
    expect(await read(last, app.ownerToken)).toBe(200)
  })

  test('refuses an agent whose session was stopped meanwhile', async () => {
    const root = await made()
    const token = await tokenFor(root)
    await app.deps.db
      .updateTable('project_sessions')
      .set({ desired: 'stopped' })
      .where('session_id', '=', root.session_id)
      .execute()
    expect(await refused(token)).toMatchObject({ status: 409 })
  })
})

describe('limits of sessions started by agents', () => {
  test('limits the depth whatever the agent writes into its metadata, and people set the limit', async () => {
    let session = await made()
    for (let depth = 1; depth <= 3; depth++) {
      const token = await tokenFor(session)
      const forged = await app.request('PATCH', app.path(session.session_id), { token, body: { metadata: {} } })
      expect(forged.status).toBe(200)
      session = await startedBy(session)
    }
    const token = await tokenFor(session)
    const limit = await refused(token)
    expect(limit).toMatchObject({
      status: 429,
      code: 'limit_reached',
      setting: 'session_depth_max',
      limit: 3,
      depth: 4,
    })
    expect((await settings({ session_depth_max: 4 }, token)).status).toBe(403)
    expect((await settings({ session_depth_max: 4 })).status).toBe(200)
    expect((await app.create({}, { token })).status).toBe(201)
    await settings({ session_depth_max: 0 })
    expect(await refused(await tokenFor(await made()))).toMatchObject({ status: 429, limit: 0, depth: 1 })
    await settings({ session_depth_max: 3 })
  })

  test('limits live descendants exactly: fifteen concurrent requests at a limit of four start four', async () => {
    await settings({ session_descendants_max: 4 })
    const root = await made()
    const token = await tokenFor(root)
    const child = await made(token)
    const childToken = await tokenFor(child)
    const replies = await Promise.all(
      Array.from({ length: 15 }, (_, n) => app.create({}, { token: n % 2 === 0 ? token : childToken })),
    )
    const made3 = replies.filter(({ status }) => status === 201).map(({ body }) => body)
    expect([made3.length, replies.filter(({ status }) => status === 429).length]).toEqual([3, 12])
    const limit = await refused(childToken)
    expect(limit).toMatchObject({ status: 429, code: 'limit_reached', limit: 4, active_sessions: 4 })
    expect(limit.setting).toBe('session_descendants_max')
    expect((limit.sessions as { session_id: string }[]).map((one) => one.session_id).toSorted()).toEqual(
      [child, ...made3].map((one) => one.session_id).toSorted(),
    )
    // A stopped one is room for one, and waking it needs room like starting one does.
    const [stopped] = made3
    await app.request('POST', app.path(stopped!.session_id, 'stop'), { token })
    expect((await app.create({}, { token })).status).toBe(201)
    for (const [verb, body] of [
      ['restart', undefined],
      ['prompt', { text: 'wake up' }],
    ] as const) {
      const reply = await app.request<ErrorBody>('POST', app.path(stopped!.session_id, verb), { body })
      expect([verb, reply.status, reply.body.setting]).toEqual([verb, 429, 'session_descendants_max'])
    }
    // Another root has its own count.
    expect((await app.create({}, { token: await tokenFor(await made()) })).status).toBe(201)
    await settings({ session_descendants_max: 10 })
  })

  test('limits starts within an hour over all descendants of a root, including deleted ones', async () => {
    await settings({ session_starts_per_hour_max: 3 })
    const token = await tokenFor(await made())
    const child = await made(token)
    const childToken = await tokenFor(child)
    for (const by of [childToken, token]) {
      const { body } = await app.create({}, { token: by })
      expect((await app.request('DELETE', app.path(body.session_id), { token: by })).status).toBe(200)
    }
    for (const by of [token, childToken]) {
      const refusal = await refused(by)
      expect(refusal).toMatchObject({ status: 429, setting: 'session_starts_per_hour_max', limit: 3 })
      expect(refusal.retry_after_seconds).toBeWithin(1, 3601)
    }
    const restart = app.path(child.session_id, 'restart')
    expect((await app.request('POST', restart, { token })).status).toBe(429)
    expect((await app.request('POST', restart)).status).toBe(202)
    // People, and agents of another first session, have their own count; an hour later a new one begins.
    expect((await app.create({}, { token: await tokenFor(await made()) })).status).toBe(201)
    const hourAgo = new Date(Date.now() - 3_600_000)
    await app.deps.db.updateTable('agent_session_starts').set({ began_at: hourAgo }).execute()
    expect((await app.create({}, { token })).status).toBe(201)
    await settings({ session_starts_per_hour_max: 60 })
  })
})

describe('a change request of a session with the same root', () => {
  const openOf = async (session: Session) => {
    await commit(app.repo, session.branch_name, { [`${session.session_id}.txt`]: 'x\n' })
    const path = `/v1/projects/${app.project.project_id}/change-requests`
    const token = await tokenFor(session)
    const { body } = await app.request<{ cr_id: string }>('POST', path, {
      token,
      body: { title: 't', head_ref: session.branch_name, base_ref: 'next', session_id: session.session_id },
    })
    return `${path}/${body.cr_id}/merge`
  }
  const merge = async (path: string, session: Session) => {
    const reply = await app.request<ErrorBody>('POST', path, { token: await tokenFor(session), body: {} })
    return [reply.status, reply.body.code]
  }

  test("counts as every agent's own work, also after a session in between was deleted", async () => {
    await commit(app.repo, 'next', { 'next.txt': 'x\n' })
    const root = await made()
    const [child, sibling] = [await startedBy(root), await startedBy(root)]
    const forbidden = [403, 'agent_merge_forbidden']
    const [ofRoot, ofChild] = [await openOf(root), await openOf(child)]
    expect(await merge(ofRoot, child)).toEqual(forbidden)
    expect(await merge(ofChild, root)).toEqual(forbidden)
    expect(await merge(ofChild, sibling)).toEqual(forbidden)
    await app.request('DELETE', app.path(child.session_id), { token: await tokenFor(root) })
    expect(await merge(ofChild, root)).toEqual(forbidden)
    // The agent of another session may, into a branch that is not the default one.
    expect((await merge(ofRoot, await made()))[0]).toBe(200)
  })
})
