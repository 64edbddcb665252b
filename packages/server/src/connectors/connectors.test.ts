/** From a merged svc.toml to an agent's connector call, through the API and the gateway with the official client. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Connector, ConnectorApproval, ConnectorCall, Question } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { buildApp } from '../app.ts'
import { connectGateway, type Gateway } from '../mcp/testing.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../sessions/testing.ts'
import { checkDueConnectors } from './check.ts'
import { type Served, serveApi, serveMcp } from './testing.ts'

// On a busy machine sixty calls take more than five seconds.
setDefaultTimeout(120_000)

const credential = 'canary-4f7Tq/credential+value=9'
const clock: { ahead: number; stands: number | null } = { ahead: 0, stands: null }

let app: SessionApp
let notes: Served
let api: Served
let session: RunningSession
let agent: Gateway
let base: string

beforeAll(async () => {
  notes = await serveMcp(credential)
  api = await serveApi('x-api-key', credential)
  app = await makeSessionApp({ deps: { now: () => new Date((clock.stands ?? Date.now()) + clock.ahead) } })
  base = `/v1/projects/${app.project.project_id}`
  await app.request('POST', `${base}/secrets`, { body: { name: 'NOTES_KEY', value: credential } })
  await manifest()
  session = await app.running()
  agent = await gateway(session.env.SVC_EXECUTOR_TOKEN!)
}, 120_000)
afterAll(async () => {
  await agent?.close()
  await app?.close()
  await notes?.close()
  await api?.close()
})

const manifest = (more = '', url = notes.url) =>
  commit(app.repo, 'main', {
    'svc.toml': `
[[connectors]]
slug = "notes"
type = "mcp"
url = "${url}"
auth = { type = "bearer", secret_env = "NOTES_KEY" }

[[connectors]]
slug = "shop"
type = "http"
url = "${api.url}"
auth = { type = "header", header = "X-Api-Key", secret_env = "NOTES_KEY" }
${more}`,
  })

async function look(): Promise<Connector[]> {
  await list()
  await checkDueConnectors(app.deps, new AbortController().signal)
  return (await list()).connectors
}

interface Listed {
  connectors: Connector[]
  errors: unknown[]
  approvals_pending: number
}
const list = async () => (await app.request<Listed>('GET', `${base}/connectors`)).body

function gateway(token: string, options: { headers?: Record<string, string>; onProgress?(): void } = {}) {
  const served = buildApp(app.deps)
  const { publicUrl } = app.deps.config
  return connectGateway({
    ...options,
    url: `${publicUrl}/v1/mcp`,
    token,
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers)
      headers.set('host', new URL(publicUrl).host)
      return served.request(String(url), { ...init, headers })
    },
  })
}

const policy = (slug: string, body: object, token?: string) =>
  app.request<Connector>('PATCH', `${base}/connectors/${slug}/policies`, {
    body,
    ...(token === undefined ? {} : { token }),
  })
const pending = async () =>
  (await app.request<{ approvals: ConnectorApproval[] }>('GET', `${base}/connector-approvals`)).body.approvals
const decide = (approval: ConnectorApproval, body: object, token?: string) =>
  app.request<ConnectorApproval>('POST', `${base}/connector-approvals/${approval.approval_id}/decide`, {
    body,
    ...(token === undefined ? {} : { token }),
  })
const oneWaits = () => until('a call waits', async () => (await pending())[0] ?? null)

describe('tools of connectors', () => {
  test('lists the tools of the default branch without any credential', async () => {
    const found = await look()
    expect(found.map(({ slug, status, error }) => ({ slug, status, error }))).toEqual([
      { slug: 'notes', status: 'ready', error: null },
      { slug: 'shop', status: 'ready', error: null },
    ])
    expect(found[0]!.tools.map(({ name, policy }) => [name, policy])).toEqual([
      ['read', 'allow'],
      ['write', 'ask'],
      ['break', 'allow'],
      ['flood', 'allow'],
    ])
    expect(JSON.stringify(found)).not.toContain(credential)
    const tools = await agent.tools()
    expect(tools.map(({ name }) => name)).toContain('notes_read')
    expect(tools.map(({ name }) => name)).toContain('shop_request')
    expect(tools.find(({ name }) => name === 'notes_read')?.description).toBe(
      '[connector notes] Read all notes (key [credential removed])',
    )
  })

  test('calls a tool with the credential, which no reply repeats', async () => {
    const read = await agent.call('notes_read')
    expect(read.isError).toBe(false)
    expect(read.text).toContain('0 notes')
    expect(read.text).toContain('asked with [credential removed], [credential removed]')
    const broken = await agent.call('notes_break')
    expect(broken).toEqual({ text: 'no luck with [credential removed]', isError: true })
    expect(notes.seen.every((header) => header === `Bearer ${credential}`)).toBe(true)
    const flood = await agent.call('notes_flood')
    expect(flood.text.length).toBeLessThan(300_000)
    expect(flood.text).toContain('truncated: agents receive')
  })

  test('reaches only paths below the URL of an HTTP API', async () => {
    const found = await agent.call('shop_request', { path: '/items/1', query: { page: 2, q: 'a b' } })
    expect(found.isError).toBe(false)
    expect(found.text).toContain('"path":"/api/v1/items/1?page=2&q=a+b"')
    expect(found.text).toContain('"x-api-key":"[credential removed]"')
    const before = api.seen.length
    for (const path of [
      ...['../secret', '/../../secret', '/%2e%2e/x', '/%252e%252e/x', '/a/..%2f..%2fx', '/..\\x', '/a?x=1', '/a#b'],
      ...['/.', '/a\nb', '/a b', '%', '/%c0%ae%c0%ae/', 7, null],
    ])
      expect({ path, ...(await agent.call('shop_request', { path })) }).toMatchObject({ path, isError: true })
    expect((await agent.call('shop_request', { path: 'x', method: 'TRACE' })).isError).toBe(true)
    expect((await agent.call('shop_request', { path: 'x', body: {} })).isError).toBe(true)
    expect(api.seen).toHaveLength(before)
    const host = await agent.call('shop_request', { path: '//127.0.0.1:9/x' })
    expect(host.text).toContain('"path":"/api/v1/127.0.0.1:9/x"')
  })

  test('follows no redirect and limits the size of a result', async () => {
    const sent = await agent.call('shop_request', { path: '/elsewhere' })
    expect(sent.text).toStartWith('HTTP 302')
    expect(sent.text).toContain('location: http://127.0.0.1')
    expect(sent.text).not.toContain(credential)
    const big = await agent.call('shop_request', { path: '/big' })
    expect(big).toMatchObject({ isError: true })
    expect(big.text).toContain('larger than')
  })

  test('writes one audit row per call, with argument names and no values', async () => {
    await agent.call('shop_request', { path: '/items/9', query: { key: 'value-to-hide' } })
    const { body, text } = await app.request<Connector & { calls: ConnectorCall[] }>('GET', `${base}/connectors/shop`)
    expect(body.calls[0]).toMatchObject({
      session_id: session.session_id,
      tool: 'request',
      outcome: 'ok',
      arguments: ['path', 'query'],
    })
    expect(text).not.toContain('value-to-hide')
  })

  test('says why a connector that is down has no tools, and lists the others', async () => {
    const gone = await serveMcp(credential)
    await manifest(`[[connectors]]\nslug = "gone"\ntype = "mcp"\nurl = "${gone.url}"\n`)
    await gone.close()
    const found = await look()
    expect(found.find(({ slug }) => slug === 'gone')).toMatchObject({
      status: 'failed',
      error: 'Nothing listens at its URL.',
      tools: [],
    })
    const names = (await agent.tools()).map(({ name }) => name)
    expect(names).toContain('notes_read')
    expect(names.some((name) => name.startsWith('gone_'))).toBe(false)
    expect((await agent.call('list_connectors')).text).toContain('Nothing listens at its URL.')
  })

  test('offers no tools without the required secret, and offers them once it is set', async () => {
    await manifest(
      '[[connectors]]\nslug = "late"\ntype = "http"\nurl = "https://api.example.com"\nauth = { type = "bearer", secret_env = "LATE_KEY" }\n',
    )
    const missing = (await look()).find(({ slug }) => slug === 'late')
    expect(missing).toMatchObject({ status: 'failed', error: 'The secret LATE_KEY is not set.' })
    await app.request('POST', `${base}/secrets`, { body: { name: 'LATE_KEY', value: 'a-late-credential' } })
    expect((await look()).find(({ slug }) => slug === 'late')).toMatchObject({ status: 'ready' })
  })

  test('refuses callers without access', async () => {
    const { publicUrl } = app.deps.config
    const ask = (headers: Record<string, string>) =>
      app.request('POST', '/v1/mcp', { token: null, headers, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } })
    expect((await ask({})).status).toBe(401)
    expect((await ask({ authorization: `Bearer ${session.env.SVC_TOKEN}` })).status).toBe(401)
    expect((await ask({ authorization: `Bearer ${session.env.SVC_LLM_API_KEY}` })).status).toBe(401)
    expect((await ask({ authorization: `Bearer ${app.ownerToken}` })).body.code).toBe('invalid')
    const viewer = await app.makeUser('viewer')
    const header = { 'x-svc-project': app.project.project_id }
    expect((await ask({ ...header, authorization: `Bearer ${viewer.token}` })).status).toBe(403)
    const other = await app.managedProject()
    const elsewhere = { 'x-svc-project': other.project.project_id }
    expect((await ask({ ...elsewhere, authorization: `Bearer ${session.env.SVC_CLI_TOKEN}` })).status).toBe(403)
    expect((await app.request('GET', '/v1/mcp', { token: session.env.SVC_CLI_TOKEN! })).status).toBe(405)
    const user = await gateway(app.ownerToken, { headers: header })
    expect((await user.call('notes_read')).isError).toBe(false)
    await user.close()
    expect(publicUrl).toStartWith('http')
  })
})

describe('approvals and policies', () => {
  test('asks a person before a call that changes something, for that call only', async () => {
    let progress = 0
    const patient = await gateway(session.env.SVC_EXECUTOR_TOKEN!, { onProgress: () => (progress += 1) })
    const calling = patient.call('notes_write', { text: `first ${credential}` })
    const asked = await oneWaits()
    expect(asked).toMatchObject({
      session_id: session.session_id,
      slug: 'notes',
      tool: 'write',
      // The agent wrote the arguments, so this text does not reveal whether it guessed the credential.
      arguments: { text: `first ${credential}` },
      status: 'pending',
    })
    expect(notes.notes).toEqual([])
    expect((await decide(asked, { decision: 'approve' }, session.env.SVC_CLI_TOKEN!)).status).toBe(403)
    expect((await decide(asked, { decision: 'approve' })).body.status).toBe('approved')
    expect(await calling).toEqual({ text: 'wrote first [credential removed]', isError: false })
    expect(notes.notes).toEqual([`first ${credential}`])
    expect((await decide(asked, { decision: 'deny' })).status).toBe(409)
    expect(progress).toBeGreaterThanOrEqual(0)
    await patient.close()
    const again = agent.call('notes_write', { text: 'second' })
    await decide(await oneWaits(), { decision: 'deny' })
    expect((await again).text).toContain('A user denied this call')
    expect(notes.notes).toHaveLength(1)
  })

  test('a later approval lets the same call pass once', async () => {
    const calling = agent.call('notes_write', { text: 'later' })
    const asked = await oneWaits()
    clock.ahead += 121_000
    const unanswered = await calling
    expect(unanswered.isError).toBe(true)
    expect(unanswered.text).toContain('no user approved it yet')
    expect((await decide(asked, { decision: 'approve' })).status).toBe(200)
    expect((await agent.call('notes_write', { text: 'later' })).isError).toBe(false)
    expect(notes.notes.filter((note) => note === 'later')).toHaveLength(1)
    const once = agent.call('notes_write', { text: 'later' })
    await decide(await oneWaits(), { decision: 'deny' })
    expect((await once).isError).toBe(true)
    clock.ahead += 3_600_000
    const expired = agent.call('notes_write', { text: 'x' })
    const waits = await oneWaits()
    clock.ahead += 16 * 60_000
    await expired
    expect((await decide(waits, { decision: 'approve' })).status).toBe(409)
  })

  test('an approval is a question of the session, and either route answers it', async () => {
    const own = await app.running()
    const its = await gateway(own.env.SVC_EXECUTOR_TOKEN!)
    const questions = async () =>
      (await app.request<{ questions: Question[] }>('GET', app.path(own.session_id, 'questions'))).body.questions
    const waits = async () => (await app.session(own.session_id)).waiting_for
    const answer = (id: string, text: string, token = app.ownerToken) =>
      app.request<Question>('POST', app.path(own.session_id, `questions/${id}/answer`), {
        body: { answer: text },
        token,
      })
    const calling = its.call('notes_write', { text: 'by its question' })
    const asked = await oneWaits()
    const [question] = await questions()
    expect(question).toMatchObject({
      ...{ question_id: asked.approval_id, kind: 'connector', title: 'Call notes/write', status: 'open' },
      options: [{ value: 'approve' }, { value: 'approve_always' }, { value: 'deny' }, { value: 'deny_always' }],
    })
    expect(question!.detail).toContain('by its question')
    expect(await waits()).toBe('person')
    expect((await answer(asked.approval_id, 'approve', own.env.SVC_CLI_TOKEN!)).status).toBe(403)
    expect((await answer(asked.approval_id, 'once')).status).toBe(400)
    expect((await answer(asked.approval_id, 'approve')).body).toMatchObject({ status: 'answered', answer: 'approve' })
    expect((await calling).isError).toBe(false)
    expect(await waits()).toBeNull()

    const another = its.call('notes_write', { text: 'by the old route' })
    await decide(await oneWaits(), { decision: 'deny' })
    expect((await another).isError).toBe(true)
    expect((await questions())[0]).toMatchObject({ status: 'answered', answer: 'deny', answered_by: app.owner.user_id })

    const late = its.call('notes_write', { text: 'in time' })
    const third = await oneWaits()
    clock.ahead += 16 * 60_000
    await late
    expect((await questions())[0]).toMatchObject({ status: 'expired', reason: 'There was no answer in time.' })
    expect((await answer(third.approval_id, 'approve')).status).toBe(409)
    await its.close()
  })

  test("only people set a policy, which ends when the connector's URL changes", async () => {
    expect((await policy('notes', { tools: { write: 'allow' } }, session.env.SVC_CLI_TOKEN!)).status).toBe(403)
    expect((await policy('notes', { tools: { nothing: 'allow' } })).status).toBe(400)
    const allowed = await policy('notes', { policy: 'block', tools: { write: 'allow' } })
    expect(allowed.body.tools.map(({ name, policy }) => [name, policy])).toEqual([
      ['read', 'block'],
      ['write', 'allow'],
      ['break', 'block'],
      ['flood', 'block'],
    ])
    expect((await agent.call('notes_write', { text: 'allowed' })).isError).toBe(false)
    expect((await agent.tools()).map(({ name }) => name)).not.toContain('notes_read')
    expect((await agent.call('call_connector', { connector: 'notes', tool: 'read' })).text).toContain('blocked')
    await manifest('', `${notes.url}?v=2`)
    const moved = (await look())[0]!
    expect([moved.policy, moved.tools.find(({ name }) => name === 'write')?.policy]).toEqual([null, 'ask'])
    await manifest()
    await look()
    await policy('notes', { policy: null, tools: { write: null } })
    const calling = agent.call('notes_write', { text: 'always' })
    await decide(await oneWaits(), { decision: 'approve', always: true })
    await calling
    expect((await agent.call('notes_write', { text: 'always' })).isError).toBe(false)
  })
})

describe("the project's own tools", () => {
  test('opens and shows change requests in the name of the agent, and merges nothing', async () => {
    await commit(app.repo, session.branch_name, { 'work.txt': 'work\n' })
    const opened = JSON.parse((await agent.call('open_change_request', { title: 'From a tool' })).text)
    expect(opened).toMatchObject({
      origin_session_id: session.session_id,
      head_ref: session.branch_name,
      status: 'open',
    })
    const shown = JSON.parse((await agent.call('show_change_request', { number: opened.number })).text)
    expect(shown.preview.can_merge).toBe(true)
    expect(JSON.parse((await agent.call('list_change_requests')).text).change_requests).toHaveLength(1)
    expect((await agent.call('open_change_request', { title: '' })).isError).toBe(true)
    expect((await agent.call('show_change_request', { number: 99 })).text).toContain('no such change request')
    const checks = JSON.parse((await agent.call('show_checks', { number: opened.number })).text)
    expect(checks).toMatchObject({ state: 'none', checks: [], logs: [] })
    expect((await agent.tools()).some(({ name }) => name.includes('merge'))).toBe(false)
  })

  test('lists secrets without values, sessions and triggers', async () => {
    const names = await agent.call('list_secret_names')
    expect(names.text).toContain('NOTES_KEY')
    expect(names.text).not.toContain(credential)
    expect((await agent.call('list_sessions')).text).toContain(session.session_id)
    expect((await agent.call('show_session', { session_id: session.session_id })).text).toContain('running')
    expect((await agent.call('show_session', { session_id: 'x' })).isError).toBe(true)
    expect(JSON.parse((await agent.call('list_triggers')).text)).toEqual({ triggers: [], errors: [] })
    expect((await agent.call('fire_trigger', { slug: 'none' })).isError).toBe(true)
    expect((await agent.call('no_such_tool')).text).toContain('There is no tool')
  })
})

test('keeps the credential of a connector on the server, and puts the other secrets into the sandbox', async () => {
  await app.request('POST', `${base}/secrets`, { body: { name: 'PLAIN', value: 'a plain secret' } })
  const { env } = await app.running()
  expect(env.PLAIN).toBe('a plain secret')
  expect(env.NOTES_KEY).toBeUndefined()
  expect(Object.values(env).join('\n')).not.toContain(credential)
  expect(env.SVC_PROJECT_SECRET_NAMES?.split(',')).toContain('NOTES_KEY')
})

test('offers no tools when the operator turned connectors off, and says so', async () => {
  app.deps.config.connectorProvider = 'none'
  try {
    const { connectors } = await list()
    expect(connectors[0]).toMatchObject({ status: 'off', tools: [] })
    expect(connectors[0]!.error).toContain('turned connectors off')
    expect((await agent.tools()).some(({ name }) => name.startsWith('notes_'))).toBe(false)
    expect((await agent.call('call_connector', { connector: 'notes', tool: 'read' })).isError).toBe(true)
  } finally {
    app.deps.config.connectorProvider = 'mcp'
  }
})

test('calls no private address unless the operator allows it', async () => {
  app.deps.config.allowPrivateGitHosts = false
  try {
    const before = notes.seen.length
    const url = `${base}/connectors/notes/check`
    const checked = await app.request<Connector>('POST', url)
    expect(checked.body.status).toBe('failed')
    expect(checked.body.error).toContain('https')
    expect(notes.seen).toHaveLength(before)
  } finally {
    app.deps.config.allowPrivateGitHosts = true
    await app.request('POST', `${base}/connectors/notes/check`)
  }
})

test('slows down a loop of calls', async () => {
  const fast = await app.running()
  const hasty = await gateway(fast.env.SVC_EXECUTOR_TOKEN!)
  // They all start within a minute, however long they take.
  clock.stands = Date.now()
  let last = { text: '', isError: false }
  for (let call = 0; call <= 60; call++) last = await hasty.call('shop_request', { path: '/items' })
  clock.stands = null
  expect(last.text).toContain('More than 60 connector calls')
  await hasty.close()
})
