/** Sessions whose creator is no longer a member, or may no longer write. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ServiceError } from '@svc/contract'
import { makeSessionApp, type RunningSession, type SessionApp } from '../testing.ts'

let app: SessionApp
let beforeStart = () => Promise.resolve()
beforeAll(async () => {
  app = await makeSessionApp()
  const { replicas } = app.deps
  const missing = replicas.missing.bind(replicas)
  replicas.missing = async (...args) => {
    await beforeStart()
    return missing(...args)
  }
}, 120_000)
afterAll(() => app.close())

const memberPath = (userId: string) => `/v1/accounts/${app.owner.account_id}/members/${userId}`
const remove = (userId: string) => app.request('DELETE', memberPath(userId))
const restart = (sessionId: string, token = app.ownerToken) =>
  app.request('POST', app.path(sessionId, 'restart'), { token })

async function ofLeaver() {
  const creator = await app.makeUser('member')
  const session = await app.running({}, { token: creator.token })
  await remove(creator.user_id)
  return { creator, session }
}

/** The environment of the newest sandbox, and for whom its token acts. */
async function newest(sessionId: string) {
  const { sandbox } = await app.reaches(sessionId, 'running')
  const env = app.driver.seen(sandbox!.sandbox_id)!.spec.env
  const who = await app.request<{ user: { user_id: string } }>('GET', '/v1/token', { token: env.SVC_CLI_TOKEN! })
  return { env, userId: who.body.user.user_id }
}

const askForCredential = (env: RunningSession['env']) =>
  app.request('GET', `/v1/projects/${app.project.project_id}/git/clone-credential`, { token: env.SVC_TOKEN! })
const takeOvers = async (sessionId: string) => {
  const path = `/v1/accounts/${app.owner.account_id}/audit?action=session.take_over&limit=1000`
  const { body } = await app.request<{ object_id: string }[]>('GET', path)
  return body.filter((row) => row.object_id === sessionId)
}

test('the sandbox of a removed member is refused with their name and the way on', async () => {
  const { session } = await ofLeaver()
  const refused = {
    code: 'forbidden',
    error: 'This session acts for A member, who is no longer a member of the account of this project.',
    hint: `A member goes on with it in their own name: svc sessions restart ${session.session_id}`,
  }
  expect(await askForCredential(session.env)).toMatchObject({ status: 403, body: refused })
  const token = session.env.SVC_CLI_TOKEN!
  expect(await app.request('GET', app.path(), { token })).toMatchObject({ status: 403, body: refused })
})

test('a member who restarts the session of a removed one goes on with it in their own name', async () => {
  const { creator, session } = await ofLeaver()
  const { session_id: sessionId } = session
  const viewer = await app.makeUser('viewer')
  expect((await restart(sessionId, viewer.token)).status).toBe(403)
  expect((await restart(sessionId, creator.token)).status).toBe(403)
  const other = await app.makeUser('member')
  expect((await restart(sessionId, other.token)).status).toBe(202)
  const { env, userId } = await newest(sessionId)
  expect(userId).toBe(other.user_id)
  expect((await askForCredential(env)).status).toBe(200)
  expect((await askForCredential(session.env)).status).toBe(401)
  expect(await app.session(sessionId)).toMatchObject({ created_by: creator.user_id, acts_for: other.user_id })
  expect(await takeOvers(sessionId)).toMatchObject([
    { actor_user_id: other.user_id, before: { acts_for: creator.user_id }, after: { acts_for: other.user_id } },
  ])
  await remove(other.user_id)
  expect((await askForCredential(env)).status).toBe(403)
  await restart(sessionId)
  expect((await newest(sessionId)).userId).toBe(app.owner.user_id)
})

test('a prompt to a stopped session of a removed member goes on with it, too', async () => {
  const { session } = await ofLeaver()
  const { session_id: sessionId } = session
  await app.request('POST', app.path(sessionId, 'stop'))
  await app.request('POST', app.path(sessionId, 'prompt'), { body: { text: 'Go on' } })
  expect((await newest(sessionId)).userId).toBe(app.owner.user_id)
})

test('a session whose creator became a viewer says so, and acts for the member who restarts it', async () => {
  const creator = await app.makeUser('member')
  const { session_id: sessionId, env } = await app.running({}, { token: creator.token })
  await app.request('PATCH', memberPath(creator.user_id), { body: { role: 'viewer' } })
  const body = { title: 'A change', head_ref: sessionId }
  const token = env.SVC_CLI_TOKEN!
  const path = `/v1/projects/${app.project.project_id}/change-requests`
  expect((await app.request('POST', path, { token, body })).body).toMatchObject({
    error: 'This session acts for A member, whose role here is viewer.',
  })
  await restart(sessionId)
  expect((await newest(sessionId)).userId).toBe(app.owner.user_id)
})

test('a session goes on acting for its creator, whoever restarts it, while they may write', async () => {
  const creator = await app.makeUser('member')
  const { session_id: sessionId } = await app.running({}, { token: creator.token })
  await restart(sessionId)
  expect((await newest(sessionId)).userId).toBe(creator.user_id)
  expect((await app.session(sessionId)).acts_for).toBe(creator.user_id)
  expect(await takeOvers(sessionId)).toEqual([])
})

test('a start without a request fails with the name of the removed member', async () => {
  const creator = await app.makeUser('member')
  let tries = 0
  beforeStart = async () => {
    if (tries++ > 0) return
    await remove(creator.user_id)
    throw new ServiceError('unavailable', 'The server with the copy does not answer.')
  }
  const { body } = await app.create({}, { token: creator.token })
  const { error } = await app.reaches(body.session_id, 'failed')
  expect(error).toStartWith('This session acts for A member, who is no longer a member of the account of this project.')
  await restart(body.session_id)
  expect((await newest(body.session_id)).userId).toBe(app.owner.user_id)
}, 60_000)
