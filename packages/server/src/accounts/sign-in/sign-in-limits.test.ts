/** Password guessing through two servers on one database, from many addresses behind a trusted proxy. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { buildApp } from '../../app.ts'
import { startDashboardSession } from '../../auth/dashboard-session.ts'
import { readNetwork } from '../../config/network.ts'
import { Settings } from '../../config/settings.ts'
import { Listener } from '../../listen.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'
import { slowedMs } from './sign-in-limits.ts'

const publicUrl = 'http://svc.test'
const right = 'correct horse battery'
let app: TestApp
/** The clock of both servers. */
let now = Date.now()
const ports: number[] = []
const closers: (() => Promise<void>)[] = []

beforeAll(async () => {
  const network = readNetwork(new Settings({ SVC_TRUSTED_PROXIES: 'loopback' }))
  app = await makeTestApp({ configure: { publicUrl, network }, now: () => new Date(now) })
  for (const { deps } of [app, await app.anotherServer()]) {
    const served = buildApp(deps)
    const listener = new Listener({ fromSandbox: false, network })
    ports.push(await listener.onPort('127.0.0.1', 0))
    listener.answerWith((request, env) => served.fetch(request, env))
    closers.push(() => listener.close())
  }
}, 120_000)
afterAll(async () => {
  for (const close of closers) await close()
  await app.close()
})

let turn = 0
interface Try {
  address: string
  cookie?: string
}

/** Tries alternate between the servers. */
function signIn(email: string, password: string, { address, cookie }: Try): Promise<Response> {
  return fetch(`http://127.0.0.1:${ports[turn++ % 2]}/v1/sign-in/password`, {
    method: 'POST',
    headers: {
      ...{ host: 'svc.test', origin: publicUrl, 'content-type': 'application/json', 'x-forwarded-for': address },
      ...(cookie === undefined ? {} : { cookie }),
    },
    body: JSON.stringify({ email, password }),
  })
}

async function person(): Promise<{ email: string; user_id: string }> {
  const { user_id } = await app.makeUser('member')
  const email = `${randomUUID()}@example.test`
  const browser = { began_by: 'link', address: null, user_agent: null } as const
  const cookie = (await startDashboardSession(app.deps, user_id, browser)).split(';')[0]!
  const headers = { cookie, origin: publicUrl }
  const set = await app.request('POST', '/v1/accounts/password', {
    token: null,
    headers,
    body: { email, password: right },
  })
  expect(set.status).toBe(200)
  return { email, user_id }
}

/** The device cookie of a browser that signed in with the right password. */
async function trustedDevice(email: string, address: string): Promise<string> {
  const reply = await signIn(email, right, { address })
  expect(reply.status).toBe(200)
  const cookies = reply.headers.getSetCookie()
  const device = cookies.find((cookie) => cookie.startsWith('svc_device='))!
  expect(device).toContain('HttpOnly')
  expect(device).toContain('SameSite=Lax')
  return device.split(';')[0]!
}

let addresses = 0
const freshAddress = () => `198.51.${100 + (addresses >> 8)}.${addresses++ & 255}`
const statuses = (replies: Response[]) => replies.map(({ status }) => status)
const many = (count: number, email: string, address: () => string) =>
  Promise.all(Array.from({ length: count }, (_, i) => signIn(email, `wrong password ${i}`, { address: address() })))

describe('104 failed sign-ins by a stranger', () => {
  test('refuses further attempts after a few without locking out the user', async () => {
    const { email } = await person()
    const attacker = freshAddress()
    const replies = await many(104, email, () => attacker)
    expect(statuses(replies).filter((status) => status === 401).length).toBeLessThanOrEqual(8)
    expect(new Set(statuses(replies))).toEqual(new Set([401, 429]))
    expect((await signIn(email, right, { address: attacker })).status).toBe(429)
    expect((await signIn(email, right, { address: freshAddress() })).status).toBe(200)
  })

  test('counts addresses of one IPv6 network together', async () => {
    const { email } = await person()
    let host = 0
    const replies = await many(50, email, () => `2001:db8:1:2::${(++host).toString(16)}`)
    expect(statuses(replies).filter((status) => status === 401).length).toBeLessThanOrEqual(8)
  })

  test('pauses an address for growing, limited times', async () => {
    const { email } = await person()
    const address = freshAddress()
    const waits: number[] = []
    for (let i = 0; i < 15; i++) {
      for (;;) {
        const reply = await signIn(email, 'wrong password', { address })
        if (reply.status === 401) break
        const seconds = Number(reply.headers.get('retry-after'))
        waits.push(seconds)
        now += seconds * 1000
      }
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60, 60, 60])
    now += 60_000
    expect((await signIn(email, right, { address })).status).toBe(200)
    expect((await signIn(email, 'wrong password', { address })).status).toBe(401)
  })

  test('pauses an address that tries many accounts', async () => {
    const address = freshAddress()
    const replies = await Promise.all(
      Array.from({ length: 60 }, () => signIn(`${randomUUID()}@example.test`, 'wrong password', { address })),
    )
    expect(statuses(replies).filter((status) => status === 401).length).toBeLessThanOrEqual(33)
  })
})

describe('concurrent failed sign-ins from many addresses', () => {
  test('never locks out the user, in a known or a new browser', async () => {
    const { email } = await person()
    const home = freshAddress()
    const cookie = await trustedDevice(email, home)
    const flood = many(60, email, freshAddress)
    expect((await signIn(email, right, { address: freshAddress(), cookie })).status).toBe(200)
    expect((await signIn(email, right, { address: freshAddress() })).status).toBe(200)
    expect(new Set(statuses(await flood))).toEqual(new Set([401]))
  }, 120_000)

  test('limits how long an answer is delayed', () => {
    expect([0, 1, 20].map(slowedMs)).toEqual([0, 0, 0])
    expect(slowedMs(22)).toBeGreaterThan(slowedMs(21))
    for (const tries of [30, 1000, 2 ** 31 - 1]) expect(slowedMs(tries)).toBe(5000)
  })
})

describe('a known browser', () => {
  test('signs in while a stranger tries from the same address', async () => {
    const { email } = await person()
    const address = freshAddress()
    const cookie = await trustedDevice(email, address)
    await many(40, email, () => address)
    expect((await signIn(email, right, { address })).status).toBe(429)
    expect((await signIn(email, right, { address, cookie })).status).toBe(200)
  })

  test('has limited attempts, and is known for its own user only', async () => {
    const [mine, theirs] = [await person(), await person()]
    const cookie = await trustedDevice(mine.email, freshAddress())
    const guesses = async (email: string) => {
      const address = freshAddress()
      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, i) => signIn(email, `wrong password ${i}`, { address, cookie })),
      )
      return statuses(replies).filter((status) => status === 401).length
    }
    expect(await guesses(mine.email)).toBeLessThanOrEqual(13)
    expect(await guesses(theirs.email)).toBeLessThanOrEqual(8)
  })

  test('is stored as a hash, and a new password ends its trust', async () => {
    const { email, user_id } = await person()
    const cookie = await trustedDevice(email, freshAddress())
    const rows = () => app.deps.db.selectFrom('trusted_devices').selectAll().where('user_id', '=', user_id).execute()
    expect(JSON.stringify(await rows())).not.toContain(cookie.split('=')[1]!)
    expect(await rows()).toHaveLength(1)
    const browser = (await startDashboardSession(app.deps, user_id)).split(';')[0]!
    const headers = { cookie: browser, origin: publicUrl }
    const body = { email, password: 'another horse battery' }
    expect((await app.request('POST', '/v1/accounts/password', { token: null, headers, body })).status).toBe(200)
    expect(await rows()).toEqual([])
  })
})

test('the audit log records the client address behind the proxy and ignores forged ones', async () => {
  const { email, user_id } = await person()
  const address = freshAddress()
  expect((await signIn(email, right, { address: `127.0.0.1, ${address}` })).status).toBe(200)
  const row = await app.deps.db
    .selectFrom('audit_events')
    .select('address')
    .where('action', '=', 'user.sign_in')
    .where('object_id', '=', user_id)
    .executeTakeFirstOrThrow()
  expect(row.address).toBe(address)
})
