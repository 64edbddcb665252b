/** An app may hold a secret that sessions are not given. What an agent reads of the app must not tell it about that secret. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { App, ErrorBody, ProjectEventPage } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { recordEvent } from '../../events/record.ts'
import { openProjectEvents, readProjectEvents } from '../../events/testing.ts'
import { makeSessionApp, type SessionApp, until } from '../../sessions/testing.ts'

setDefaultTimeout(120_000)
const secret = 'hunter22-of-the-connector'
const manifest = `
[[apps]]
slug = "site"
command = "run"
[apps.env]
KEY = "\${CONN_KEY}"

[[apps]]
slug = "plain"
command = "run"

[[connectors]]
slug = "notes"
type = "mcp"
url = "https://notes.example.test/mcp"
auth = { type = "bearer", secret_env = "CONN_KEY" }
`

let app: SessionApp
let base: string
let token: string
let viewer: string
beforeAll(async () => {
  app = await makeSessionApp()
  base = `/v1/projects/${app.project.project_id}`
  await app.request('POST', `${base}/secrets`, { body: { name: 'CONN_KEY', value: secret } })
  await commit(app.repo, 'main', { 'svc.toml': manifest })
  await until('both apps run', async () => {
    await app.deps.apps.reconcile()
    const { apps } = (await app.request<{ apps: App[] }>('GET', `${base}/apps`)).body
    return apps.length === 2 && apps.every(({ state }) => state === 'running')
  })
  const session = await app.running()
  expect(JSON.stringify(session.env)).not.toContain(secret)
  token = session.env.SVC_CLI_TOKEN!
  viewer = (await app.makeUser('viewer')).token
})
afterAll(() => app.close())

describe('an app with a secret that the session does not have', () => {
  test('hides the log of the app from the session and shows it to people', async () => {
    const refused = await app.request<ErrorBody>('GET', `${base}/apps/site/logs`, { token })
    expect([refused.status, refused.body.hint]).toEqual([403, expect.stringContaining('svc apps logs site')])
    expect((await app.request('GET', `${base}/apps/site/logs?follow=1`, { token })).status).toBe(403)
    expect((await app.request('GET', `${base}/apps/site/logs`)).status).toBe(200)
    expect((await app.request('GET', `${base}/apps/plain/logs`, { token })).status).toBe(200)
  })

  test('hides the reasons of its deploys from the session', async () => {
    await app.deps.db.updateTable('app_deploys').set({ error: `[redacted CONN_KEY] was asked for` }).execute()
    const errors = async (as?: string) => {
      const { apps } = (
        await app.request<{ apps: App[] }>('GET', `${base}/apps`, as === undefined ? {} : { token: as })
      ).body
      return Object.fromEntries(apps.map(({ slug, deploys }) => [slug, deploys[0]?.error]))
    }
    expect((await errors()).site).toContain('redacted')
    expect(await errors(token)).toEqual({
      site: expect.stringContaining('Ask a person'),
      plain: expect.stringContaining('redacted'),
    })
    const one = await app.request<App>('GET', `${base}/apps/site`, { token })
    expect(one.body.live?.error).toContain('Ask a person')
  })

  test('hides the reason of its state and the events of its deploys from the session', async () => {
    const { db } = app.deps
    const deploy = (await db.selectFrom('app_deploys').selectAll().where('slug', '=', 'site').executeTakeFirst())!
    const { deploy_id, project_id, commit_sha } = deploy
    const reason = '[redacted CONN_KEY] was asked for'
    await recordEvent(db, {
      project_id,
      type: 'deploy.failed',
      data: { app: 'site', deploy_id, commit_sha, url: null, reason },
    })
    const plain = (await db.selectFrom('app_deploys').selectAll().where('slug', '=', 'plain').executeTakeFirst())!
    const of = { deploy_id: plain.deploy_id, commit_sha, url: null, reason: 'plain reason' }
    await recordEvent(db, { project_id, type: 'deploy.failed', data: { app: 'plain', ...of } })
    const page = async (as: string) => {
      const { events } = (
        await app.request<ProjectEventPage>('GET', `${base}/events`, {
          token: as,
          headers: { accept: 'application/json' },
        })
      ).body
      return events.flatMap((event) => (event.type === 'deploy.failed' ? [event.data.reason] : []))
    }
    expect(await page(app.ownerToken)).toEqual([reason, 'plain reason'])
    expect(await page(token)).toEqual([null, 'plain reason'])

    const stream = readProjectEvents(await openProjectEvents(app, project_id, { token, query: '?after=0' }))
    await stream.find('the second', ({ type, ...event }) => type === 'deploy.failed' && 'data' in event)
    const told = () => stream.events().filter(({ type }) => type === 'deploy.failed')
    await until('both came', () => told().length === 2)
    expect(JSON.stringify(told())).not.toContain('CONN_KEY')
    await stream.close()

    await db
      .updateTable('app_deploys')
      .set({ status: 'restarting', error: reason })
      .where('slug', '=', 'site')
      .execute()
    const stateOf = async (as: string) =>
      (await app.request<App>('GET', `${base}/apps/site`, { token: as })).body.reason
    expect(await stateOf(app.ownerToken)).toContain('CONN_KEY')
    expect(await stateOf(token)).toContain('Ask a person')
  })
})

test('an error tells a viewer nothing about a guessed secret', async () => {
  const { status, text } = await app.request('GET', `${base}/commits?ref=${secret}`, { token: viewer })
  expect([status, text]).toEqual([400, expect.stringContaining(secret)])
})
