/** Account changes require recent proof, a token never creates owner links, and the next sign-in shows created credentials. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { lstat, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Notice } from '@svc/contract'
import {
  ownerSocketName,
  ownerSocketPath,
  examinePath,
  serverInfoPath,
  stopWithSessionsPath,
} from '@svc/contract/daemon/owner-socket'
import { openDatabase } from '../../db/pool.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { serveOwnerSocket } from './owner-socket.ts'

let app: TestApp
const email = 'owner@example.test'
const password = 'a password of mine'
beforeAll(async () => {
  app = await makeTestApp()
  const body = { email, password }
  const set = await app.request('POST', '/v1/accounts/password', { ...as(await app.browser()), body })
  if (set.status !== 200) throw new Error(set.text)
}, 120_000)
afterAll(() => app.close())

type Headers = Record<string, string>
const as = (headers: Headers) => ({ token: null, headers })
const ownerLink = (options: object) => app.request<{ url: string }>('POST', '/v1/accounts/owner-links', options)
const confirm = (headers: Headers, password: string) =>
  app.request('POST', '/v1/accounts/confirm', { ...as(headers), body: { password } })

/** A browser of the owner with a proof that is eleven minutes old. */
async function stale(began_by: 'link' | 'password' = 'password'): Promise<Headers> {
  const headers = await app.browser(undefined, began_by)
  const sessions = await app.request<{ dashboard_session_id: string; current: boolean }[]>(
    'GET',
    '/v1/accounts/dashboard-sessions',
    as(headers),
  )
  const { dashboard_session_id } = sessions.body.find(({ current }) => current)!
  await app.deps.db
    .updateTable('dashboard_sessions')
    .set({ confirmed_at: new Date(Date.now() - 11 * 60_000) })
    .where('dashboard_session_id', '=', dashboard_session_id)
    .execute()
  return headers
}

describe('owner links need a fresh sign-in', () => {
  test('refuses an owner link to API tokens and to a browser that signed in by a link', async () => {
    const token = await ownerLink({})
    expect([token.status, token.text.includes('sign-in#')]).toEqual([403, false])
    const byLink = await ownerLink(as(await app.browser(undefined, 'link')))
    expect([byLink.status, byLink.body]).toMatchObject([403, { code: 'confirmation_needed' }])
  })

  test.each(['password', 'oidc'] as const)(
    'creates an owner link in a browser that signed in by %s within ten minutes',
    async (by) => {
      expect((await ownerLink(as(await app.browser(undefined, by)))).status).toBe(201)
    },
  )

  test('asks for the password again after ten minutes', async () => {
    const headers = await stale()
    expect((await ownerLink(as(headers))).body).toMatchObject({ code: 'confirmation_needed' })
    expect((await confirm(headers, 'not my password')).status).toBe(401)
    expect((await ownerLink(as(headers))).status).toBe(403)
    expect((await confirm(headers, password)).status).toBe(200)
    expect((await ownerLink(as(headers))).status).toBe(201)
  })
})

test('inviting, raising a role and creating an invitation link need a fresh sign-in, too', async () => {
  const base = `/v1/accounts/${app.owner.account_id}`
  const { user_id } = await app.makeUser('viewer')
  const headers = await stale('link')
  const invited = { body: { email: 'invited@example.test' } }
  const { body } = await app.request<{ invitation_id: string }>('POST', `${base}/members`, invited)
  const changes = [
    ['POST', `${base}/members`, { email: 'new@example.test' }],
    ['PATCH', `${base}/members/${user_id}`, { role: 'admin' }],
    ['POST', `${base}/invitations/${body.invitation_id}/link`, undefined],
  ] as const
  const send = () =>
    Promise.all(
      changes.map(async ([method, path, body]) => {
        const reply = await app.request(method, path, { ...as(headers), ...(body === undefined ? {} : { body }) })
        return reply.status
      }),
    )
  expect(await send()).toEqual([403, 403, 403])
  expect((await confirm(headers, password)).status).toBe(200)
  expect(await send()).toEqual([201, 200, 200])
})

test('setting the first password needs a fresh sign-in', async () => {
  const { user_id } = await app.makeUser('member')
  const headers = await app.browser(user_id, 'link')
  const age = { confirmed_at: new Date(Date.now() - 11 * 60_000) }
  await app.deps.db.updateTable('dashboard_sessions').set(age).where('user_id', '=', user_id).execute()
  const body = { email: 'member@example.test', password }
  expect((await app.request('POST', '/v1/accounts/password', { ...as(headers), body })).status).toBe(403)
})

describe('the owner socket in the data folder', () => {
  test.each([
    ['a usual folder', 'data'],
    ['a folder whose path no socket takes', join(...Array<string>(12).fill('deep-below'), 'data')],
  ])("gives a link without a token to the server's user only, in %s", async (_, below) => {
    const root = await mkdtemp(join(tmpdir(), 'svc-owner-'))
    const dataDir = join(root, below)
    await mkdir(dataDir, { recursive: true })
    const info = { pid: process.pid, url: app.deps.config.publicUrl, data_dir: dataDir }
    const report = { driver: null, ready: false, drivers: [], groups: [] }
    let isRunning = true
    const socket = await serveOwnerSocket(
      { ...app.deps, config: { ...app.deps.config, dataDir } },
      {
        info: async () => info,
        examine: async () => report,
        rewriteMasterKey: async () => false,
        saveSessions: async () => {},
        stopWithSessions: () => isRunning,
      },
    )
    try {
      const { mode } = await lstat(join(dataDir, ownerSocketName))
      expect(mode & 0o777).toBe(0o600)
      const made = await ask(dataDir, 'POST', ownerSocketPath)
      expect(made.status).toBe(201)
      const code = (JSON.parse(made.text) as { url: string }).url.split('#')[1]!
      const opened = await app.request('POST', '/v1/sign-in', {
        ...as({ origin: app.deps.config.publicUrl }),
        body: { code },
      })
      expect(opened.status).toBe(200)
      const other = await ask(dataDir, 'POST', ownerSocketPath, { email: 'unknown@example.test' })
      expect(other.status).toBe(404)
      expect((await ask(dataDir, 'GET', '/v1/accounts/me')).status).toBe(404)
      const answered = await ask(dataDir, 'GET', serverInfoPath)
      expect(JSON.parse(answered.text)).toEqual(info)
      expect(JSON.parse((await ask(dataDir, 'GET', examinePath)).text)).toEqual(report)
      expect((await ask(dataDir, 'POST', stopWithSessionsPath)).status).toBe(202)
      // It has left its sandboxes to the next server already.
      isRunning = false
      expect((await ask(dataDir, 'POST', stopWithSessionsPath)).status).toBe(409)
    } finally {
      await socket.close()
      await rm(root, { recursive: true })
    }
  })
})

test('the owner socket says that the database does not answer', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-owner-'))
  const { db, close } = openDatabase('postgresql://nobody@127.0.0.1:9/none', app.deps.log)
  const socket = await serveOwnerSocket(
    { ...app.deps, db, config: { ...app.deps.config, dataDir } },
    {
      info: () => Promise.reject(new Error('unused')),
      examine: () => Promise.reject(new Error('unused')),
      rewriteMasterKey: () => Promise.reject(new Error('unused')),
      saveSessions: async () => {},
      stopWithSessions: () => true,
    },
  )
  try {
    const { status, text } = await ask(dataDir, 'POST', ownerSocketPath)
    expect([status, JSON.parse(text)]).toEqual([
      503,
      expect.objectContaining({ error: 'The database does not answer.', hint: 'Try again in a moment.' }),
    ])
  } finally {
    await socket.close()
    await close()
    await rm(dataDir, { recursive: true })
  }
})

describe('notices about tokens, links and invitations', () => {
  const notices = async (options: object) =>
    (await app.request<{ notices: Notice[] }>('GET', '/v1/accounts/notices', options)).body.notices

  test('shows tokens and links created since the last visit until the user dismisses them', async () => {
    const { user_id, token } = await app.makeUser('owner')
    const minted = await app.request('POST', '/v1/accounts/tokens', { token, body: { name: 'of an attacker' } })
    expect(minted.status).toBe(201)
    const headers = await app.browser(user_id)
    const shown = await notices(as(headers))
    expect(shown).toMatchObject([{ action: 'token.create', name: 'of an attacker', token_name: 'test' }])
    const body = { up_to: shown[0]!.notice_id }
    const dismiss = (options: object) => app.request('POST', '/v1/accounts/notices/dismiss', { ...options, body })
    // A token cannot hide its own actions.
    expect((await dismiss({ token })).status).toBe(403)
    expect(await notices(as(headers))).toHaveLength(1)
    expect((await dismiss(as(headers))).status).toBe(200)
    expect(await notices(as(headers))).toEqual([])
  })

  test('hides what this browser did itself, and shows it in the next one', async () => {
    const { user_id } = await app.makeUser('owner')
    const headers = await app.browser(user_id)
    await app.request('POST', '/v1/accounts/tokens', { ...as(headers), body: { name: 'mine' } })
    expect(await notices(as(headers))).toEqual([])
    expect(await notices(as(await app.browser(user_id)))).toMatchObject([{ name: 'mine', token_name: null }])
  })
})

async function ask(dataDir: string, method: string, path: string, body?: object) {
  const { open } = await import('node:fs/promises')
  const folder = await open(dataDir, 'r')
  try {
    return await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const socketPath = `/proc/self/fd/${folder.fd}/${ownerSocketName}`
      const sent = httpRequest({ socketPath, method, path, agent: false }, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      })
      sent.on('error', reject)
      sent.end(body === undefined ? '' : JSON.stringify(body))
    })
  } finally {
    await folder.close()
  }
}
