/** No input of a route causes a 5xx: every error has the one shape, and nothing is half created. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { ChangeRequest, Route, Webhook } from '@svc/contract'
import { routes } from '@svc/contract/openapi'
import { commit } from '@svc/git/testing'
import fc from 'fast-check'
import { sql } from 'kysely'
import { z } from 'zod'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../sessions/testing.ts'
import type { TestReply } from '../testing.ts'
import { bodyBytesMax } from './bodies/body.ts'

/** Generated bodies per route; `npm run torture` runs more. */
const runs = Number(process.env.SVC_TEST_RUNS ?? 40)

let app: SessionApp
let session: RunningSession
let cr: ChangeRequest
let webhook: Webhook
beforeAll(async () => {
  app = await makeSessionApp({ configure: { sessionLimit: 6 } })
  session = await app.running()
  await commit(app.repo, 'work', { 'a.txt': 'a\n' })
  const made = await app.request<ChangeRequest>('POST', `/v1/projects/${app.project.project_id}/change-requests`, {
    body: { title: 'A title', head_ref: 'work' },
  })
  cr = made.body
  const body = { url: 'http://127.0.0.1:9/' }
  webhook = (await app.request<Webhook>('POST', `/v1/projects/${app.project.project_id}/webhooks`, { body })).body
}, 120_000)
afterAll(() => app.close())

type Reply = TestReply<{ error?: unknown; code?: unknown; issues?: unknown } | undefined>

function send(
  route: Route,
  params: Record<string, string>,
  more: { query?: string; body?: unknown } = {},
): Promise<Reply> {
  const path = route.path.replaceAll(/:([A-Za-z]+)/g, (_, name: string) => params[name] ?? known(name))
  const { query, body } = more
  return app.request(route.method, path + (query === undefined ? '' : `?${query}`), {
    token: route.access === 'sandbox' ? session.env.SVC_TOKEN! : app.ownerToken,
    // Sign-in accepts only our own page.
    headers: { origin: app.deps.config.publicUrl, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  })
}

/** Ids that exist, so that a bad part of a request is not hidden behind an unknown id. */
function known(param: string): string {
  const ids: Record<string, string> = {
    projectId: app.project.project_id,
    accountId: app.owner.account_id,
    userId: randomUUID(),
    sessionId: session.session_id,
    crId: cr.cr_id,
    tokenId: randomUUID(),
    webhookId: webhook.webhook_id,
    name: 'NOT_THERE',
  }
  return ids[param] ?? 'unknown'
}

function flawOf(reply: Reply): string | null {
  if (reply.headers.get('x-request-id') === null && !reply.headers.has('set-cookie')) return 'no X-Request-Id'
  if (reply.status >= 500) return `a ${reply.status}: ${reply.text.slice(0, 200)}`
  if (reply.status < 400) return null
  if (typeof reply.body?.error !== 'string' || typeof reply.body.code !== 'string') return `a shape: ${reply.text}`
  if (reply.status === 400 && reply.body.code === 'invalid' && !Array.isArray(reply.body.issues)) return 'no issues'
  return null
}

const counted = [
  ...(['accounts', 'users', 'account_members', 'projects', 'project_sessions', 'session_prompts', 'tokens'] as const),
  ...(['sandbox_credentials', 'owner_links', 'dashboard_sessions', 'secrets', 'change_requests'] as const),
  ...(['merge_attempts', 'idempotency_keys', 'audit_events'] as const),
]

async function countRows(): Promise<string> {
  await until('no session is starting', async () => {
    const { rows } = await sql`select 1 from project_sessions where status = 'provisioning'`.execute(app.deps.db)
    return rows.length === 0
  })
  const parts = counted.map((table) => sql`(select count(*) from ${sql.table(table)})::text`)
  const { rows } = await sql<{ counts: string }>`select concat_ws(' ', ${sql.join(parts)}) as counts`.execute(
    app.deps.db,
  )
  return rows[0]!.counts
}

const withParams = routes.filter((route) => Object.keys(route.params.shape).length > 0)
const withBody = routes.filter((route) => route.body !== null)
// A valid query deletes, as does one whose names are all unknown.
const withQuery = routes.filter(({ query, method }) => Object.keys(query.shape).length > 0 && method !== 'DELETE')
const byName = (some: Route[]) => some.map((route) => [route.name, route] as const)

const oddIds = [
  ...[
    'x',
    '0',
    '-1',
    'null',
    '__proto__',
    'constructor',
    'toString',
    '*',
    "'",
    "'; drop table projects; --",
    '%00',
    '%0a',
  ],
  ...[
    '%ff',
    '%',
    '%2',
    '%2e%2e',
    '..%2f..',
    '%F0%9F%92%A9',
    '%ED%A0%80',
    'a'.repeat(4_000),
    '00000000-0000-0000-0000-00000000000g',
  ],
  ...[
    '00000000-0000-4000-8000-000000000000',
    '00000000000040008000000000000000',
    '{00000000-0000-4000-8000-000000000000}',
    '1e309',
  ],
]

describe('invalid ids', () => {
  test.each(byName(withParams))('%s answers an invalid id with a refusal and changes nothing', async (_, route) => {
    const before = await countRows()
    for (const param of Object.keys(route.params.shape))
      for (const id of oddIds) {
        // A client resolves this path to `…/events` or `…/usage` of the project, or to `/v1/invitations`, which exist.
        if (['streamSessionEvents', 'sessionUsage', 'listInvitations'].includes(route.name) && id === '%2e%2e') continue
        const body = route.body === null ? undefined : await validBody(route)
        const query = needed[route.name]?.slice(1)
        const reply = await send(
          route,
          { [param]: id },
          { ...(body === undefined ? {} : { body }), ...(query === undefined ? {} : { query }) },
        )
        // The service key of a sandbox belongs to one project and reveals nothing about others.
        const wanted = route.access === 'sandbox' && id !== '%2e%2e' ? 403 : 404
        expect([route.name, param, id, reply.status, flawOf(reply)]).toEqual([route.name, param, id, wanted, null])
      }
    expect(await countRows()).toBe(before)
  })

  async function validBody(route: Route): Promise<unknown> {
    const bodies: Record<string, unknown> = {
      addMember: { email: 'a@example.test' },
      changeRole: { role: 'viewer' },
      updateAccount: {},
      capAccountUsage: { model_tokens_per_month: null },
      setSecret: { name: 'A', value: 'a' },
      promptSession: { text: 'hello' },
      settleUnfinishedWork: { commit: 'a'.repeat(40) },
      editChannel: { allow_unlinked: true },
      createReview: { head_sha: 'a'.repeat(40), body: 'hello' },
      answerComment: { outcome: 'declined', text: 'no' },
      applySuggestions: { comment_ids: ['00000000-0000-4000-8000-000000000000'], expected_head_sha: 'a'.repeat(40) },
      replyToComment: { text: 'why' },
      resolveComment: { resolved: true },
      openChangeRequest: { title: 't', head_ref: 'work' },
      setConnectorPolicy: { policy: 'ask' },
      decideConnectorApproval: { decision: 'deny' },
      answerQuestion: { answer: 'once' },
      putAwayInboxItem: { version: 'a' },
    }
    return bodies[route.name] ?? {}
  }
})

const broken: [string, string | Uint8Array, number][] = [
  ['half an object', '{"name":', 400],
  ['text', 'name=x', 400],
  ['a second document', '{} {}', 400],
  ['a comment', '{} // {}', 400],
  ['not UTF-8', Uint8Array.of(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d), 400],
  ['an overlong UTF-8', Uint8Array.of(0x22, 0xc0, 0x80, 0x22), 400],
  ['UTF-16', Buffer.from('{"name":"x"}', 'utf16le'), 400],
  ['a list', '[]', 400],
  ['a number', '7', 400],
  ['a text', '"x"', 400],
  ['null', 'null', 400],
  ['NaN', 'NaN', 400],
  ['a NUL in a value', '{"name":"a\\u0000b"}', 400],
  ['a NUL in a key', '{"a\\u0000b":1}', 400],
  ['half a surrogate pair', '{"name":"\\ud800"}', 400],
  ['a hundred thousand open brackets', '['.repeat(100_000), 400],
  ['a hundred thousand levels', '['.repeat(100_000) + ']'.repeat(100_000), 400],
  ['a hundred thousand levels of objects', '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000), 400],
]

function tooLarge(route: Route): [string, string | Uint8Array, number][] {
  const bytesMax = route.bodyLimit?.bytesMax ?? bodyBytesMax
  return [
    ['one byte too many', `{"name":"${'x'.repeat(bytesMax + 1 - 11)}"}`, 413],
    ['8 MiB too much', new Uint8Array(bytesMax + 8 * 1024 * 1024).fill(0x20), 413],
  ]
}

describe('invalid bodies', () => {
  test.each(byName(withBody))('%s refuses an invalid body', async (_, route) => {
    const before = await countRows()
    for (const [what, body, status] of [...broken, ...tooLarge(route)]) {
      const reply = await send(route, {}, { body })
      expect([what, reply.status, flawOf(reply)]).toEqual([what, status, null])
    }
    expect(await countRows()).toBe(before)
  })

  test('a body with prototype keys changes no prototype', async () => {
    for (const route of withBody)
      for (const body of [
        '{"__proto__":{"polluted":true}}',
        '{"constructor":{"prototype":{"polluted":true}}}',
        '{"metadata":{"__proto__":{"polluted":true}}}',
        '{"settings":{"__proto__":{"agent_merge":"allow"}}}',
      ])
        expect(flawOf(await send(route, {}, { body }))).toBeNull()
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(({} as { agent_merge?: unknown }).agent_merge).toBeUndefined()
  })
})

/** A cursor in the lists' format with any content. */
const cursor = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64url')
const oddQueries: [string, string][] = [
  ...['0', '-1', '1.5', '1001', 'abc', '', 'NaN', 'Infinity', '1e99', '99999999999999999999', '1;', 'null'].map(
    (value): [string, string] => ['limit', value],
  ),
  ...['x', '%00', 'a'.repeat(201), '%ff', 'null', '{}', 'W10'].map((value): [string, string] => ['cursor', value]),
  ...[
    [[], ['2020-01-01T00:00:00.000Z'], [1, 2], ['x', randomUUID()], ['2020-01-01T00:00:00.000Z', 'x'], {}],
    [
      ['1', randomUUID()],
      ['2020-01-01', randomUUID()],
      ['Sat', randomUUID()],
      ['2020', ''],
    ],
    [['2020-01-01T00:00:00.000Z\0', randomUUID()], ['+275760-09-13T00:00:00.000Z', randomUUID()], null, 7],
    [
      ['-000001-01-01T00:00:00.000Z', randomUUID()],
      ['2020-02-30T00:00:00.000Z', randomUUID()],
    ],
    [
      ['2020-01-01T00:00:00.000Z', '0'],
      ['2020-01-01T00:00:00.000Z', `{${randomUUID()}}`],
      ['2020-01-01T00:00:00.000Z', randomUUID(), 1],
    ],
  ]
    .flat()
    .map((content): [string, string] => ['cursor', cursor(content)]),
  ...['', 'x', 'OPEN', 'open,closed', '%00', '1'].map((value): [string, string] => ['status', value]),
  ...['0', '-1', '1.5', 'x', '2147483648', '99999999999999999999', '1e99'].map((value): [string, string] => [
    'number',
    value,
  ]),
  ...['0', '-1', '1.5', 'x', '1001', '%00'].map((value): [string, string] => ['messages', value]),
  ...['2', 'true', '', '%00'].map((value): [string, string] => ['renames', value]),
  ...['', '1', 'TRUE', 'true,true', '%00'].map((value): [string, string] => ['deleted', value]),
  ...['', 'x', 'receipts', 'collisions,', '%00'].map((value): [string, string] => ['include', value]),
  ...['ref', 'base', 'head_ref'].flatMap((name) =>
    ['', '%00', '..', '-%20x', '@%7B0%7D', 'main~1', 'x'.repeat(256)].map((value): [string, string] => [name, value]),
  ),
]

/** Without it these would refuse every query for the missing parameter. */
const needed: Record<string, string> = {
  ...{ getFile: '&path=README.md', blameFile: '&path=README.md', getChangeRequestOrigins: '&path=README.md' },
  ...{ searchFiles: '&text=a', searchEverything: '&text=a', compareRefs: '&head=work' },
}

/** This session's upstream has no work to return. A session that starts already is not restarted again. */
const answersOf = (route: Route) => {
  const empty = ['bundleUnfinishedWork', 'getAttachment', 'getChangeRequestOrigins', 'readAppLogs', 'readCheckLog']
  if (empty.includes(route.name)) return [404]
  return route.name === 'restartSession' ? [202, 409] : [200]
}

describe('invalid queries', () => {
  test.each(byName(withQuery))('%s refuses an invalid query', async (_, route) => {
    for (const [name, value] of oddQueries) {
      // A stream that is not refused does not end.
      if (route.stream && !Object.keys(route.query.shape).includes(name)) continue
      const reply = await send(route, {}, { query: `${name}=${value}${needed[route.name] ?? ''}` })
      const wanted = Object.keys(route.query.shape).includes(name) ? [400] : answersOf(route)
      expect([name, value, flawOf(reply)]).toEqual([name, value, null])
      expect(wanted).toContain(reply.status)
    }
  })

  test.each(byName(withQuery.filter((route) => !route.stream)))(
    '%s ignores unknown query parameters',
    async (_, route) => {
      for (const query of [
        '__proto__=1',
        'constructor=1&toString=2',
        '=',
        '&&&',
        '%',
        '%ff=%ff',
        'a[b]=1',
        'x'.repeat(8_000),
      ])
        expect(answersOf(route)).toContain(
          (await send(route, {}, { query: query + (needed[route.name] ?? '') })).status,
        )
    },
  )

  test('answers a known path with the wrong method with 405 and the right methods', async () => {
    const path = `/v1/projects/${app.project.project_id}`
    for (const [method, at] of [
      ['PUT', path],
      ['POST', path],
      ['PUT', `${path}/change-requests/${cr.cr_id}`],
    ] as const) {
      const reply = await app.request(method, at, { body: {} })
      expect([reply.status, reply.body.code]).toEqual([405, 'method_not_allowed'])
      expect(reply.headers.get('allow')).toContain('GET')
    }
    expect((await app.request('PUT', `${path}/nothing`, { body: {} })).status).toBe(404)
  })

  test('refuses a URL of more than 16 KiB', async () => {
    const reply = await app.request('GET', `/v1/projects?x=${'a'.repeat(17_000)}`)
    expect([reply.status, flawOf(reply as Reply)]).toEqual([400, 'no issues'])
  })
})

/** Values near the limits of schemas, and the values they list. No address leaves this machine. */
function anyValue(schema: unknown, key: string): fc.Arbitrary<unknown> {
  const named = [...JSON.stringify(schema ?? {}).matchAll(/"enum":(\[[^\]]*\])/g)].flatMap(
    (match) => JSON.parse(match[1]!) as unknown[],
  )
  if (key === 'repo_url')
    return fc.constantFrom<unknown>(
      ...['', ' ', 'x', '-x', '/etc', '../x', 'http://', 'http://127.0.0.1:1/x.git', 'https://[::1]:1/x.git'],
      ...['file:///nonexistent', 'ftp://127.0.0.1/x', 'ext::sh -c true', 'javascript:1', 'http://127.0.0.1:99999/'],
      ...[null, 1, [], {}, 'a'.repeat(3_000), 'http://127.0.0.1:1/\n'],
    )
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom(
      '',
      ' ',
      '\n',
      'x',
      'main',
      'work',
      'build',
      '-x',
      '--',
      '..',
      '../../etc',
      'HEAD',
      '@',
      'refs/heads/main',
    ),
    fc.constantFrom(
      'a'.repeat(300),
      'é'.repeat(200),
      'x'.repeat(70_000),
      'a/'.repeat(100),
      '0'.repeat(40),
      'f'.repeat(64),
    ),
    fc.constantFrom(
      '2020-01-01T00:00:00Z',
      '2099-01-01T00:00:00Z',
      '2099-13-01T00:00:00Z',
      '9999-12-31T23:59:59Z',
      'now',
    ),
    fc.constantFrom('SVC_TOKEN', 'PATH', 'A_SECRET', '__proto__', 'constructor', '\u202e', '\u{1f4a9}', "'--"),
    fc.uuid(),
  )
  return fc.oneof(
    { weight: 4, arbitrary: text },
    {
      weight: 1,
      arbitrary: fc.constantFrom<unknown>(null, true, 0, -1, 1e308, 2 ** 53, [], {}, [[]], { a: { b: [1] } }),
    },
    ...(named.length > 0 ? [{ weight: 4, arbitrary: fc.constantFrom(...named) }] : []),
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  )
}

function anyBody(route: Route): fc.Arbitrary<unknown> {
  const schema = z.toJSONSchema(route.body!, { io: 'input', unrepresentable: 'any' }) as {
    properties?: Record<string, unknown>
    anyOf?: { properties?: Record<string, unknown> }[]
  }
  const properties = schema.properties ?? schema.anyOf?.find((one) => one.properties)?.properties ?? {}
  const model = Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, anyValue(one, key)]))
  return fc.oneof(
    { weight: 8, arbitrary: fc.record(model, { requiredKeys: [] }) },
    { weight: 1, arbitrary: fc.jsonValue() },
  )
}

describe('generated bodies', () => {
  test.each(byName(withBody))(
    '%s accepts or refuses a generated body, and a refusal changes nothing',
    async (_, route) => {
      let before = await countRows()
      await fc.assert(
        fc.asyncProperty(anyBody(route), async (body) => {
          // An upstream that does not answer is a 502 with its own code, not an internal error.
          const reply = await send(route, {}, { body: JSON.stringify(body) })
          if (reply.body?.code !== 'repository_unreachable') expect(flawOf(reply)).toBeNull()
          const after = await countRows()
          if (reply.status >= 400) expect(after).toBe(before)
          before = after
        }),
        { numRuns: runs },
      )
    },
    60_000 + runs * 500,
  )
})
