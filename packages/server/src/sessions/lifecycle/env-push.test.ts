/** Secrets that change reach the sessions that run, and no others. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { EnvPusher } from './env-push.ts'
import { makeSessionApp, type SessionApp } from '../testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterAll(() => app.close())

test('a changed secret is in the environment of a running session, a deleted one is gone, and a stopped one hears nothing', async () => {
  const secrets = `/v1/projects/${app.project.project_id}/secrets`
  await app.request('POST', secrets, { body: { name: 'A', value: 'one' } })
  const [running, stopped] = [await app.running(), await app.running()]
  await app.request('POST', app.path(stopped.session_id, 'stop'))
  const env = (of: typeof running) => app.driver.seen(of.sandbox!.sandbox_id)!.env
  const pusher = new EnvPusher(app.deps)
  await pusher.push()
  expect(env(running)).toMatchObject({ A: 'one' })

  await app.request('POST', secrets, { body: { name: 'A', value: 'two' } })
  await app.request('POST', secrets, { body: { name: 'B', value: 'new' } })
  await pusher.push()
  const { revision } = (await app.request<{ revision: string }>('GET', secrets)).body
  expect(env(running)).toMatchObject({
    ...{ A: 'two', B: 'new', SVC_SESSION_ID: running.session_id },
    ...{ SVC_PROJECT_SECRET_NAMES: 'A,B', SVC_PROJECT_SECRETS_REVISION: revision },
  })
  await app.request('DELETE', `${secrets}/A`)
  await pusher.push()
  expect(env(running).A).toBeUndefined()
  expect(env(running).SVC_PROJECT_SECRET_NAMES).toBe('B')
  expect(env(stopped)).toMatchObject({ A: 'one' })
  expect(env(stopped).B).toBeUndefined()
})
