/** An app may hold a secret that sessions are not given. What an agent reads of the app must not tell it about that secret. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { App, ErrorBody } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { makeSessionApp, type SessionApp, until } from '../sessions/testing.ts'

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
    await app.deps.apps.settle()
    const { apps } = (await app.request<{ apps: App[] }>('GET', `${base}/apps`)).body
    return apps.length === 2 && apps.every(({ state }) => state === 'running')
  })
  const session = await app.running()
  expect(JSON.stringify(session.env)).not.toContain(secret)
  token = session.env.SVC_CLI_TOKEN!
  viewer = (await app.makeUser('viewer')).token
})
afterAll(() => app.close())

describe('an app with a secret that the session lacks', () => {
  test('keeps its log from that session, and shows it to people', async () => {
    const refused = await app.request<ErrorBody>('GET', `${base}/apps/site/logs`, { token })
    expect([refused.status, refused.body.hint]).toEqual([403, expect.stringContaining('svc apps logs site')])
    expect((await app.request('GET', `${base}/apps/site/logs?follow=1`, { token })).status).toBe(403)
    expect((await app.request('GET', `${base}/apps/site/logs`)).status).toBe(200)
    expect((await app.request('GET', `${base}/apps/plain/logs`, { token })).status).toBe(200)
  })

  test('keeps the reasons of its deploys from that session', async () => {
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
})

test('an error tells a viewer nothing about a guess', async () => {
  const { status, text } = await app.request('GET', `${base}/commits?ref=${secret}`, { token: viewer })
  expect([status, text]).toEqual([400, expect.stringContaining(secret)])
})
