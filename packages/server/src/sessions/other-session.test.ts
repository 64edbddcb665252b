/** The agent of one session cannot reach another session by any route. It can reach its own and those that it started. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProjectEvent, Session } from '@svc/contract'
import { buildApp } from '../app.ts'
import { Listener } from '../listen.ts'
import { connectGateway } from '../mcp/testing.ts'
import { sandboxIngress } from './edge/sandbox-url-upgrade.ts'
import { previewIngress } from './edge/preview.ts'
import { terminalIngress } from './edge/terminal.ts'
import { makeSessionApp, type RunningSession, type SessionApp } from './testing.ts'
import { type Family, makeFamily, tokenOf } from './testing-family.ts'
import { sendRaw } from './testing-raw.ts'

setDefaultTimeout(120_000)
let app: SessionApp
let family: Family
let listener: Listener
let port: number
let folder: string
const taps: Server[] = []
/** The sessions whose daemon a request of a test reached, with its path. */
let reached: string[] = []

beforeAll(async () => {
  app = await makeSessionApp()
  family = await makeFamily(app)
  folder = await mkdtemp(join(tmpdir(), 'svc-tap-'))
  listener = new Listener({ fromSandbox: false })
  port = await listener.onPort('127.0.0.1', 0)
  app.deps.config.publicUrl = `http://localhost:${port}`
  const served = buildApp(app.deps)
  const doors = [previewIngress(app.deps), sandboxIngress(app.deps), terminalIngress(app.deps)]
  listener.answerWith((request, env) => served.fetch(request, env as never), doors)
  for (const name of ['own', 'child', 'other'] as const) await tap(name, family[name])
})
afterAll(async () => {
  for (const server of taps) server.close()
  await listener.close()
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

/** Stands where the daemon of a session is, and notes what comes. */
async function tap(name: string, session: RunningSession): Promise<void> {
  const daemon = app.deps.sessions.daemonOf(session.session_id)!
  daemon.socket = join(folder, `${name}.sock`)
  const note = (request: IncomingMessage) => {
    // The server has questions of its own to a daemon.
    if (/shell|terminal|proxy/.test(request.url ?? '')) reached.push(name)
  }
  const server = createServer((request, response) => {
    note(request)
    request.resume()
    response.end('ran')
  })
  server.on('upgrade', (request, socket) => {
    note(request)
    socket.on('error', () => {})
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  await new Promise<void>((listening) => server.listen(daemon.socket, listening))
  taps.push(server)
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])

async function send(lines: string[]): Promise<{ status: number; answer: string }> {
  const answer = await sendRaw(port, [...lines, '', ''].join('\r\n'))
  return { status: statusOf(answer), answer }
}

const upgrade = (path: string, token: string) =>
  send([
    ...[`GET ${path} HTTP/1.1`, `Host: localhost:${port}`, `Authorization: Bearer ${token}`],
    ...['Connection: Upgrade', 'Upgrade: websocket'],
    ...['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
  ])

const edgeOf = (session: RunningSession) => `/v1/sandboxes/${session.sandbox!.sandbox_id}`

describe('the shell of another session', () => {
  test('refuses a request to its runtime, which does not reach the daemon', async () => {
    const run = (session: RunningSession, token: string) =>
      app.request('POST', `${edgeOf(session)}/session/ses_1/shell`, { token, body: { command: 'id' } })
    reached = []
    const answers = await Promise.all([
      run(family.other, family.token),
      run(family.own, tokenOf(family.child)),
      run(family.child, tokenOf(family.other)),
    ])
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403])
    expect(reached).toEqual([])
    expect((await run(family.own, family.token)).status).toBe(200)
    expect((await run(family.child, family.token)).status).toBe(200)
    expect((await run(family.other, app.ownerToken)).status).toBe(200)
    expect(reached).toEqual(['own', 'child', 'other'])
  })

  test.each([
    ['its runtime’s address', (session: RunningSession) => `${edgeOf(session)}/session/ses_1/shell`],
    ['its alias', (session: RunningSession) => `/v1/p/${session.session_id}/session/ses_1/shell`],
    ['a program’s port', (session: RunningSession) => `${edgeOf(session)}/proxy/3000/`],
    ['its terminal', (session: RunningSession) => app.path(session.session_id, 'terminal')],
  ])('refuses an upgrade of %s', async (_, pathOf) => {
    reached = []
    expect((await upgrade(pathOf(family.other), family.token)).status).toBe(403)
    expect((await upgrade(pathOf(family.own), tokenOf(family.child))).status).toBe(403)
    expect(reached).toEqual([])
    expect((await upgrade(pathOf(family.own), family.token)).status).toBe(101)
    expect((await upgrade(pathOf(family.child), family.token)).status).toBe(101)
    expect(reached).toEqual(['own', 'child'])
  })
})

describe('previews of other sessions', () => {
  test('refuses an agent a ticket for another session', async () => {
    const ask = (session: RunningSession, token = family.token) =>
      app.request<{ url?: string; code?: string }>('GET', app.path(session.session_id, 'preview'), { token })
    const refused = await ask(family.other)
    expect([refused.status, refused.body.url, refused.body.code]).toEqual([403, undefined, 'forbidden'])
    expect((await ask(family.own, tokenOf(family.child))).status).toBe(403)
    expect((await ask(family.child)).status).toBe(200)
  })

  test('a preview that an agent opened closes with its token', async () => {
    const minted = `/v1/projects/${app.project.project_id}/cli-token`
    const { body: token } = await app.request<{ secret_key: string; token_id: string }>('POST', minted, {
      ...{ token: family.token, body: {} },
    })
    const opened = await app.request<{ url: string }>('GET', app.path(family.child.session_id, 'preview'), {
      token: token.secret_key,
    })
    const { host, pathname, search } = new URL(opened.body.url)
    const get = (path: string, cookie = '') =>
      send([
        `GET ${path} HTTP/1.1`,
        `Host: ${host}`,
        ...(cookie === '' ? [] : [`Cookie: ${cookie}`]),
        'Connection: close',
      ])
    const entered = await get(pathname + search)
    expect(entered.status).toBe(303)
    const cookie = /set-cookie: ([^;]+)/i.exec(entered.answer)![1]!
    reached = []
    expect((await get('/', cookie)).status).toBe(200)
    expect(reached).toEqual(['child'])
    await app.request('DELETE', `${minted}/${token.token_id}`)
    // The door remembers a viewer for some seconds; another server remembers none.
    const fresh = previewIngress(app.deps)
    const served = buildApp(app.deps)
    listener.answerWith((request, env) => served.fetch(request, env as never), [fresh, sandboxIngress(app.deps)])
    reached = []
    expect((await get('/', cookie)).status).not.toBe(200)
    expect(reached).toEqual([])
  })
})

describe('what an agent reads about another session', () => {
  test('sees a row in the list without URLs or credentials', async () => {
    const list = async (token: string) =>
      new Map((await app.request<Session[]>('GET', app.path(), { token })).body.map((one) => [one.session_id, one]))
    await app.deps.db
      .updateTable('project_sessions')
      .set({ error: 'why it fails' })
      .where('session_id', 'in', [family.other.session_id, family.child.session_id])
      .execute()
    const people = await list(app.ownerToken)
    const agent = await list(family.token)
    const { session_id } = family.other
    expect(people.get(session_id)).toMatchObject({ error: 'why it fails', metadata: { note: 'for people' } })
    expect(people.get(session_id)!.sandbox_url).toBeString()
    const hidden = { task: null, sandbox_url: null, error: null, metadata: {} }
    expect(agent.get(session_id)).toEqual({ ...people.get(session_id)!, ...hidden })
    for (const mine of [family.own.session_id, family.child.session_id])
      expect(agent.get(mine)).toEqual(people.get(mine)!)
    expect(agent.get(family.child.session_id)!.parent_session_id).toBe(family.own.session_id)
    expect((await list(tokenOf(family.child))).get(family.own.session_id)!.sandbox_url).toBeNull()
  })

  test('reads the same with its tools', async () => {
    const gateway = await connectGateway({ url: `http://localhost:${port}/v1/mcp`, token: family.token })
    try {
      const listed = JSON.parse((await gateway.call('list_sessions')).text) as { sessions: Session[] }
      expect(listed.sessions.find((one) => one.session_id === family.other.session_id)).toMatchObject({
        ...{ sandbox_url: null, error: null, metadata: {} },
      })
      const show = (session: RunningSession) => gateway.call('show_session', { session_id: session.session_id })
      expect((await show(family.child)).isError).toBe(false)
      const refused = await show(family.other)
      expect(refused.isError).toBe(true)
      expect(refused.text).toContain('belongs to another session')
    } finally {
      await gateway.close()
    }
  })

  test('reads in the events that a session failed, but not why', async () => {
    const { session_id } = await app.running()
    await app.deps.db.transaction().execute((trx) =>
      trx
        .insertInto('project_events')
        .values({
          project_id: app.project.project_id,
          number: null,
          type: 'session.failed',
          actor_user_id: null,
          actor_session_id: null,
          data: JSON.stringify({
            ...{ session_id, name: 'x', agent_name: 'build', branch_name: 'x', generation: 1, reason: 'last words' },
          }),
        })
        .execute(),
    )
    const reason = async (token: string) => {
      const path = `/v1/projects/${app.project.project_id}/events`
      const { body } = await app.request<{ events: ProjectEvent[] }>('GET', path, { token })
      return body.events.flatMap((event) => (event.type === 'session.failed' ? [event.data.reason] : []))
    }
    expect([await reason(app.ownerToken), await reason(family.token)]).toEqual([['last words'], [null]])
  })

  test('reads nothing of its unfinished work and usage', async () => {
    const own = family.own.session_id
    for (const { session_id } of [family.own, family.other])
      await app.deps.db
        .insertInto('session_wip')
        .values({
          ...{ session_id, generation: 1, commit_sha: '1'.repeat(40), base_sha: null, files: 1, unpushed_commits: 0 },
          ...{ paths: '[]', notes: '[]', recovered_at: null, recovered_into: null },
        })
        .execute()
    const ids = async (path: string, token: string) => {
      const { body } = await app.request<unknown>('GET', `/v1/projects/${app.project.project_id}/${path}`, { token })
      const { sandboxes } = body as { sandboxes?: { session_id: string }[] }
      return (sandboxes ?? (body as { session_id: string }[])).map((row) => row.session_id)
    }
    expect(await ids('unfinished-work', family.token)).toEqual([own])
    expect((await ids('unfinished-work', app.ownerToken)).toSorted()).toEqual([own, family.other.session_id].toSorted())
    expect(await ids('usage', app.ownerToken)).toContain(family.other.session_id)
    expect(await ids('usage', family.token)).not.toContain(family.other.session_id)
  })
})
