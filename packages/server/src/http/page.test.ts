import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { DashboardSession, Project, Webhook } from '@svc/contract'
import { makeTestApp, type TestApp } from '../testing.ts'

let app: TestApp
let project: Project
beforeAll(async () => {
  app = await makeTestApp()
  project = (await app.managedProject()).project
})
afterAll(() => app.close())

const next = (headers: Headers) => /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? null

async function walk<T>(path: string, entriesOf: (body: never) => T[]): Promise<T[][]> {
  const pages: T[][] = []
  for (let at: string | null = path; at !== null;) {
    const { status, body, headers, text } = await app.request<never>('GET', at)
    if (status !== 200) throw new Error(text)
    pages.push(entriesOf(body))
    at = next(headers)
  }
  return pages
}

test('pages a list that is whole by default with limit, cursor and Link', async () => {
  const path = `/v1/projects/${project.project_id}/webhooks`
  for (const n of [1, 2, 3]) await app.request('POST', path, { body: { url: `http://127.0.0.1:9/${n}` } })
  const webhooks = (body: { webhooks: Webhook[] }) => body.webhooks.map(({ url }) => new URL(url).pathname)
  expect(await walk(path, webhooks)).toEqual([['/1', '/2', '/3']])
  expect(await walk(`${path}?limit=2`, webhooks)).toEqual([['/1', '/2'], ['/3']])
  expect(await walk(`${path}?limit=3`, webhooks)).toEqual([['/1', '/2', '/3']])

  const first = await app.request<{ webhooks: Webhook[] }>('GET', `${path}?limit=2`)
  // An entry deleted between two pages, the cursor's or one before it, skips none of the rest.
  await app.request('DELETE', `${path}/${first.body.webhooks[0]!.webhook_id}`)
  const rest = await app.request<{ webhooks: Webhook[] }>('GET', next(first.headers)!)
  expect(webhooks(rest.body)).toEqual(['/3'])
})

test('pages a list whose reply is an array', async () => {
  await app.browser()
  await app.browser()
  const headers = await app.browser()
  const path = '/v1/accounts/dashboard-sessions'
  // A token's last use is written a moment later, so it may differ between reads.
  const look = async (at: string) => {
    const { body, headers: answered } = await app.request<DashboardSession[]>('GET', at, { token: null, headers })
    return { ids: body.map(({ dashboard_session_id }) => dashboard_session_id), answered }
  }
  const whole = await look(path)
  const first = await look(`${path}?limit=2`)
  const second = await look(next(first.answered)!)
  expect(whole.ids.length).toBe(3)
  expect([...first.ids, ...second.ids]).toEqual(whole.ids)
})

test.each(['nonsense', btoa('["a"]'), btoa('["a","b"]'), btoa('[-1,"a"]'), btoa('["a",1]')])(
  'refuses the cursor %p',
  async (cursor) => {
    const reply = await app.request('GET', `/v1/projects/${project.project_id}/webhooks?cursor=${cursor}`)
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid'])
  },
)
