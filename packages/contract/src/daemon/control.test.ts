import { beforeAll, describe, expect, test } from 'bun:test'
import { createHmac, hkdfSync } from 'node:crypto'
import { readUserContext, signUserContext, type UserContext, userContextKey } from './control.ts'

const sandboxKey = `svc_sbx_${'5a'.repeat(32)}`
const context: UserContext = {
  user_id: '11111111-1111-4111-8111-111111111111',
  session_id: '22222222-2222-4222-8222-222222222222',
  generation: 3,
  role: 'member',
  method: 'POST',
  path: '/session/ses_1/message?x=%C3%A9&y=ü',
  iat: 1_700_000_000,
  exp: 1_700_000_060,
  jti: '33333333-3333-4333-8333-333333333333',
}

let key: CryptoKey
let header: string
beforeAll(async () => {
  key = await userContextKey(sandboxKey)
  header = await signUserContext(key, context)
})

/** The header by node's own HKDF and HMAC, as decisions.md describes it. */
function expectedHeader(ofKey: string, payload: Buffer): string {
  const derived = Buffer.from(hkdfSync('sha256', ofKey, Buffer.alloc(32), 'svc user context v1', 32))
  const text = payload.toString('base64url')
  return `${text}.${createHmac('sha256', derived).update(text).digest('base64url')}`
}

describe('the signed user context', () => {
  test('signs a user context like an independent HKDF and HMAC', () => {
    expect(header).toBe(expectedHeader(sandboxKey, Buffer.from(JSON.stringify(context))))
  })

  test('reads back every field of a signed user context', async () => {
    expect(await readUserContext(key, header)).toEqual(context)
  })

  test('puts neither the sandbox key nor the derived key into the header', () => {
    expect(header).not.toContain(sandboxKey)
    expect(Buffer.from(header.split('.')[0]!, 'base64url').toString()).not.toContain('svc_sbx_')
  })

  test("refuses a header signed with another sandbox's key", async () => {
    expect(await readUserContext(await userContextKey(`${sandboxKey}0`), header)).toBeNull()
  })
})

describe('refusing a changed header', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

  test('refuses a header with any one character changed', async () => {
    let refused = 0
    for (let at = 0; at < header.length; at++) {
      const here = header[at]!
      const other = here === '.' ? '_' : alphabet[(alphabet.indexOf(here) + 1) % alphabet.length]!
      expect([at, await readUserContext(key, header.slice(0, at) + other + header.slice(at + 1))]).toEqual([at, null])
      refused++
    }
    expect(refused).toBeGreaterThan(200)
  })

  test('refuses a header with any field changed under the old signature', async () => {
    const mac = header.split('.')[1]!
    const changes: Partial<Record<keyof UserContext, unknown>>[] = [
      { user_id: 'x' },
      { session_id: 'x' },
      { generation: 4 },
      { role: 'owner' },
      { method: 'GET' },
      { path: '/' },
      { iat: 0 },
      { exp: 9999999999 },
      { jti: 'x' },
    ]
    for (const change of changes) {
      const payload = Buffer.from(JSON.stringify({ ...context, ...change })).toString('base64url')
      expect(await readUserContext(key, `${payload}.${mac}`)).toBeNull()
    }
  })

  test.each([
    ['nothing', () => ''],
    ['a dot', () => '.'],
    ['no signature', () => `${header.split('.')[0]!}.`],
    ['no payload', () => `.${header.split('.')[1]!}`],
    ['no dot', () => header.replace('.', '')],
    ['a third part', () => `${header}.${header}`],
    ['a trailing dot', () => `${header}.`],
    ['padding', () => `${header}=`],
    ['a space before', () => ` ${header}`],
    ['a space behind', () => `${header} `],
    ['a line break', () => `${header}\r\n`],
    ['two headers in one', () => `${header}, ${header}`],
    ['a short signature', () => header.slice(0, -8)],
    ['a long signature', () => `${header}AAAA`],
    ['standard base64', () => standardBase64()],
    ['the parts the other way round', () => header.split('.').toReversed().join('.')],
    ['upper case', () => header.toUpperCase()],
    ['more than 4096 characters', () => withPath('/'.padEnd(3_000, 'x'))],
    ['padding in what is signed', () => respelt((payload) => `${payload}==`)],
    [
      'standard base64 in what is signed',
      () => respelt((payload) => payload.replaceAll('_', '/').replaceAll('-', '+')),
    ],
  ])('refuses a malformed header: %s', async (_, make) => {
    expect(await readUserContext(key, make())).toBeNull()
  })

  const withPath = (path: string) => expectedHeader(sandboxKey, Buffer.from(JSON.stringify({ ...context, path })))

  /** Signed by the right key, and not in the one spelling there is. */
  function respelt(spell: (payload: string) => string): string {
    const derived = Buffer.from(hkdfSync('sha256', sandboxKey, Buffer.alloc(32), 'svc user context v1', 32))
    const payload = spell(Buffer.from(JSON.stringify({ ...context, path: '/ÿ~ÿ?ÿ>ÿ' })).toString('base64url'))
    return `${payload}.${createHmac('sha256', derived).update(payload).digest('base64url')}`
  }

  test('accepts a header of nearly 4096 characters with any path', async () => {
    const path = '/'.padEnd(2_500, 'x')
    expect(await readUserContext(key, withPath(path))).toEqual({ ...context, path })
    expect(
      (
        await readUserContext(
          key,
          respelt((payload) => payload),
        )
      )?.path,
    ).toBe('/ÿ~ÿ?ÿ>ÿ')
  })

  function standardBase64(): string {
    const made = header.replaceAll('-', '+').replaceAll('_', '/')
    return made === header ? `${header.slice(0, -1)}+` : made
  }

  test('refuses a signature with other unused base64 bits', async () => {
    // 32 bytes are 43 characters; the last one carries two unused bits, so three other spellings decode to the same bytes.
    const last = alphabet.indexOf(header.at(-1)!)
    const others = [1, 2, 3].map((bits) => header.slice(0, -1) + alphabet[(last & ~3) | ((last + bits) & 3)]!)
    for (const other of others) {
      expect(Buffer.from(other.split('.')[1]!, 'base64url')).toEqual(Buffer.from(header.split('.')[1]!, 'base64url'))
      expect(await readUserContext(key, other)).toBeNull()
    }
  })

  test('refuses a header checked with a key that was not derived', async () => {
    const payload = header.split('.')[0]!
    for (const wrong of [sandboxKey, '', 'svc user context v1', payload]) {
      const mac = createHmac('sha256', wrong).update(payload).digest('base64url')
      expect(await readUserContext(key, `${payload}.${mac}`)).toBeNull()
    }
  })
})

test.each(['', 'null', '"text"', '7', '[]', '{', '\u{feff}{}'])(
  'refuses a correctly signed payload that is no user context: %j',
  async (payload) => {
    expect(await readUserContext(key, expectedHeader(sandboxKey, Buffer.from(payload)))).toBeNull()
  },
)
