/** Open connections end soon after the token, the browser or the role that opened them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { App } from '@svc/contract'
import { buildApp } from '../../app.ts'
import { Listener } from '../../listen.ts'
import { sandboxIngress } from '../../sessions/edge/sandbox-url-upgrade.ts'
import { previewIngress } from '../../sessions/edge/preview.ts'
import { terminalIngress } from '../../sessions/edge/terminal.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../../sessions/testing.ts'

setDefaultTimeout(120_000)
let app: SessionApp
let session: RunningSession
let listener: Listener
let port: number
let folder: string
let daemon: Server
beforeAll(async () => {
  app = await makeSessionApp({ files: { 'svc.toml': '[[apps]]\nslug = "site"\ncommand = "run"\n' } })
  app.deps.config.network.limits.judgeEveryMs = 20
  session = await app.running()
  await until('the app runs', async () => {
    await app.deps.apps.reconcile()
    return (await app.request<App>('GET', `${base()}/apps/site`)).body.state === 'running'
  })
  folder = await mkdtemp(join(tmpdir(), 'svc-tap-'))
  const socketPath = join(folder, 'daemon.sock')
  app.deps.sessions.daemonOf(session.session_id)!.socket = socketPath
  daemon = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': here\n\n')
  })
  daemon.on('upgrade', (_, socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  await new Promise<void>((listening) => daemon.listen(socketPath, listening))
  listener = new Listener({ fromSandbox: false })
  port = await listener.onPort('127.0.0.1', 0)
  app.deps.config.publicUrl = `http://localhost:${port}`
  const served = buildApp(app.deps)
  const doors = [previewIngress(app.deps), sandboxIngress(app.deps), terminalIngress(app.deps)]
  listener.answerWith((request, env) => served.fetch(request, env as never), doors)
})
afterAll(async () => {
  daemon.closeAllConnections()
  daemon.close()
  await listener.close()
  await app.close()
  await rm(folder, { recursive: true, force: true })
})

const base = () => `/v1/projects/${app.project.project_id}`
const edge = () => `/v1/sandboxes/${session.sandbox!.sandbox_id}`
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

interface Open {
  head: string
  isOpen(): boolean
}

/** A request whose response stays open: `head` is what has arrived when it is open. */
async function open(path: string, headers: Record<string, string>, isUpgrade = false): Promise<Open> {
  let text = ''
  let isOpen = true
  const all = {
    host: `localhost:${port}`,
    accept: 'text/event-stream',
    ...headers,
    ...(isUpgrade
      ? {
          ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        }
      : { connection: 'close' }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  const socket = connect(port, '127.0.0.1', () => socket.write([`GET ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n')))
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  socket.on('close', () => (isOpen = false))
  socket.on('error', () => {})
  await until('the answer begins', () => text.includes('\r\n\r\n'))
  return { head: text, isOpen: () => isOpen }
}

const streams: [what: string, path: () => string, isUpgrade?: boolean][] = [
  ['events of a project', () => `${base()}/events`],
  ['events of a session', () => app.path(session.session_id, 'events')],
  ['the log of an app', () => `${base()}/apps/site/logs?follow=1`],
  ['an event stream of a sandbox', () => `${edge()}/event`],
  ['a WebSocket of a sandbox', () => `${edge()}/proxy/3000/`, true],
  ['a terminal', () => app.path(session.session_id, 'terminal'), true],
]

describe.each(streams)('open streams: %s', (_, path, isUpgrade = false) => {
  const status = isUpgrade ? 'HTTP/1.1 101' : 'HTTP/1.1 200'

  test('ends when its token is revoked or expires, while streams of other tokens continue', async () => {
    const [revoked, expired, kept] = await Promise.all([1, 2, 3].map(() => app.makeToken({})))
    const opened = await Promise.all([revoked!, expired!, kept!].map((token) => open(path(), bearer(token), isUpgrade)))
    for (const { head } of opened) expect(head).toStartWith(status)
    const whoAmI = async (token: string) =>
      (await app.request<{ token_id: string }>('GET', '/v1/token', { token })).body.token_id
    await app.request('DELETE', `/v1/accounts/tokens/${await whoAmI(revoked!)}`)
    const ended = { expires_at: new Date(Date.now() - 1000) }
    await app.deps.db
      .updateTable('tokens')
      .set(ended)
      .where('token_id', '=', await whoAmI(expired!))
      .execute()
    await until('both are cut', () => !opened[0]!.isOpen() && !opened[1]!.isOpen())
    expect(opened[2]!.isOpen()).toBe(true)
  })

  test('ends when its browser is signed out', async () => {
    const headers = await app.browser()
    const opened = await open(path(), headers, isUpgrade)
    expect(opened.head).toStartWith(status)
    await app.deps.db.deleteFrom('dashboard_sessions').execute()
    await until('it is cut', () => !opened.isOpen())
  })

  test('ends when its reader is removed from the account', async () => {
    const { user_id, token } = await app.makeUser('member')
    const opened = await open(path(), bearer(token), isUpgrade)
    expect(opened.head).toStartWith(status)
    await app.deps.db.deleteFrom('account_members').where('user_id', '=', user_id).execute()
    await until('it is cut', () => !opened.isOpen())
  })
})

test('an event stream ends when the role of its reader changes, since the role decides what it shows', async () => {
  const { user_id, token } = await app.makeUser('member')
  const opened = await open(`${base()}/events`, bearer(token))
  await app.deps.db.updateTable('account_members').set({ role: 'viewer' }).where('user_id', '=', user_id).execute()
  await until('it is cut', () => !opened.isOpen())
})

test('a WebSocket and a stream of a preview end with the token that opened the preview', async () => {
  const token = await app.makeToken({})
  const { url } = (
    await app.request<{ url: string }>('GET', `${app.path(session.session_id, 'preview')}?port=3000`, { token })
  ).body
  const { host, pathname, search } = new URL(url)
  const entered = await open(`${pathname}${search}`, { host })
  const cookie = /set-cookie: ([^;]+)/i.exec(entered.head)?.[1] ?? ''
  const opened = await Promise.all([open('/', { host, cookie }, true), open('/', { host, cookie })])
  expect(opened.map(({ head }) => head.slice(9, 12))).toEqual(['101', '200'])
  await app.deps.db.updateTable('tokens').set({ revoked_at: new Date() }).execute()
  await until('both are cut', () => opened.every(({ isOpen }) => !isOpen()))
})
