/** Every route with every kind of credential. The expected results are written by hand; a route without one fails here. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { type Access, makeToken, type Project } from '@svc/contract'
import { routes } from '@svc/contract/openapi'
import { buildApp } from '../app.ts'
import { insertToken, makeSessionApp, type SessionApp } from '../sessions/testing.ts'
import { type Family, makeFamily } from '../sessions/testing-family.ts'
import { startDashboardSession } from './dashboard-session.ts'
import { answers, forInstanceOwners, ofSession, withReach } from './testing-answers.ts'
import * as reach from './testing-session-reach.ts'

const kinds = [
  // No credential, and invalid ones.
  ...(['none', 'empty', 'wrongScheme', 'malformed', 'badChecksum', 'unknown', 'expired', 'revoked'] as const),
  // The other credentials of a sandbox, running and stopped.
  ...(['service', 'clone', 'model', 'stoppedService', 'stoppedBound'] as const),
  ...(['bound', 'unbound', 'viewersProjectToken', 'otherProject', 'otherAccountsProject'] as const),
  ...(['stranger', 'viewer', 'member', 'admin', 'owner'] as const),
  // The owner's cookie, and the ways in which another site can send it.
  ...(['cookie', 'cookieForeign', 'cookieCrossSite', 'cookieNullOrigin', 'cookieNoOrigin', 'cookieUnknown'] as const),
  ...(['cookieOtherScheme', 'cookieOtherPort'] as const),
] as const
type Kind = (typeof kinds)[number]
type Verdict = 'in' | 401 | 403

const all = (verdict: Verdict) => Object.fromEntries(kinds.map((kind) => [kind, verdict])) as Record<Kind, Verdict>
const foreignCookies = {
  ...({ cookieForeign: 403, cookieCrossSite: 403, cookieNullOrigin: 403 } as const),
  ...({ cookieOtherScheme: 403, cookieOtherPort: 403 } as const),
}
const users = { stranger: 'in', viewer: 'in', member: 'in', admin: 'in', owner: 'in', cookie: 'in' } as const
const projectTokens = { bound: 'in', unbound: 'in', viewersProjectToken: 'in' } as const
const outsiders = { otherProject: 403, otherAccountsProject: 403, stranger: 403 } as const

const ofProject = { ...all(401), ...foreignCookies, ...users, ...projectTokens, ...outsiders }
const table: Record<Access, Record<Kind, Verdict>> = {
  public: all('in'),
  token: { ...all(401), ...foreignCookies, ...users, ...projectTokens, otherProject: 'in', otherAccountsProject: 'in' },
  account: { ...ofProject, bound: 403, unbound: 403, viewersProjectToken: 403, stranger: 'in' },
  'account-read': { ...ofProject, bound: 403, unbound: 403, viewersProjectToken: 403 },
  'account-admin': {
    ...ofProject,
    ...{ viewer: 403, viewersProjectToken: 403, member: 403, bound: 403, unbound: 403 },
  },
  user: { ...ofProject, bound: 403, unbound: 403, viewersProjectToken: 403, stranger: 'in' },
  'project-read': ofProject,
  'project-write': { ...ofProject, viewer: 403, viewersProjectToken: 403 },
  'project-admin': {
    ...ofProject,
    ...{ viewer: 403, viewersProjectToken: 403, member: 403, bound: 403, unbound: 403 },
  },
  // Only the service key: not even the owner's token, and no cookie is read.
  sandbox: { ...all(401), service: 'in' },
}

/** Routes with a rule beyond their access. */
const exceptions: Record<string, Partial<Record<Kind, Verdict>>> = {
  // No token, and no browser with only a link: accounts/sign-in/fresh-sign-in.test.ts.
  createOwnerLink: { ...{ stranger: 403, viewer: 403, member: 403, admin: 403, owner: 403, cookie: 403 } },
  ...forInstanceOwners,
  // Every member may leave; owners and admins remove others.
  removeMember: { viewer: 403, member: 403 },
  // Requires a request from this server's page, whoever sends it.
  signOut: { ...all(403), cookie: 'in', cookieUnknown: 'in' },
}

let app: SessionApp
let served: ReturnType<typeof buildApp>
let sandboxId: string
const secrets = {} as Record<Kind, string>

beforeAll(async () => {
  app = await makeSessionApp()
  served = buildApp(app.deps)
  const { project } = app
  const session = await app.running()
  sandboxId = session.sandbox!.sandbox_id
  const stopped = await app.running()
  await app.request('POST', app.path(stopped.session_id, 'stop'))

  const other = await app.managedProject()
  const stranger = await app.makeUser('owner', 'own')
  const theirs = await app.request<Project>('POST', '/v1/projects', { token: stranger.token, body: { name: 'theirs' } })
  const viewer = await app.makeUser('viewer')
  const clone = await app.request<{ auth: { token: string } }>(
    'GET',
    `/v1/projects/${project.project_id}/git/clone-credential`,
    { token: session.env.SVC_TOKEN! },
  )
  Object.assign(secrets, {
    none: '',
    empty: '',
    wrongScheme: app.ownerToken,
    malformed: 'svc_pat_short',
    badChecksum: app.ownerToken.slice(0, -1) + (app.ownerToken.endsWith('0') ? '1' : '0'),
    unknown: makeToken((count) => randomBytes(count)),
    expired: await insertToken(app, { expires_at: new Date(Date.now() - 1) }),
    revoked: await insertToken(app, { revoked_at: new Date() }),
    service: session.env.SVC_TOKEN!,
    clone: clone.body.auth.token,
    model: session.env.SVC_LLM_API_KEY!,
    stoppedService: stopped.env.SVC_TOKEN!,
    stoppedBound: stopped.env.SVC_CLI_TOKEN!,
    bound: session.env.SVC_CLI_TOKEN!,
    unbound: await app.makeToken({ project_id: project.project_id }),
    viewersProjectToken: await app.makeToken({ user_id: viewer.user_id, project_id: project.project_id }),
    otherProject: await app.makeToken({ project_id: other.project.project_id }),
    otherAccountsProject: await app.makeToken({ user_id: stranger.user_id, project_id: theirs.body.project_id }),
    stranger: stranger.token,
    viewer: viewer.token,
    member: (await app.makeUser('member')).token,
    admin: (await app.makeUser('admin')).token,
    owner: app.ownerToken,
    cookieUnknown: `svc_session=${'x'.repeat(40)}`,
    ...(await newCookie()),
  } satisfies Record<Kind, string>)
}, 120_000)
afterAll(() => app.close())

async function newCookie() {
  const cookie = (await startDashboardSession(app.deps, app.owner.user_id)).split(';')[0]!
  const foreign = { cookieForeign: cookie, cookieCrossSite: cookie, cookieNullOrigin: cookie }
  return { cookie, ...foreign, cookieNoOrigin: cookie, cookieOtherScheme: cookie, cookieOtherPort: cookie }
}

function headersOf(kind: Kind): Record<string, string> {
  const own = app.deps.config.publicUrl
  const from: Partial<Record<Kind, Record<string, string>>> = {
    none: {},
    empty: { authorization: '' },
    wrongScheme: { authorization: `Token ${secrets.wrongScheme}` },
    cookie: { cookie: secrets.cookie, origin: own },
    cookieForeign: { cookie: secrets.cookie, origin: 'http://evil.test' },
    cookieCrossSite: { cookie: secrets.cookie, origin: own, 'sec-fetch-site': 'cross-site' },
    cookieNullOrigin: { cookie: secrets.cookie, origin: 'null' },
    cookieNoOrigin: { cookie: secrets.cookie },
    cookieOtherScheme: { cookie: secrets.cookie, origin: own.replace('http:', 'https:') },
    cookieOtherPort: { cookie: secrets.cookie, origin: own.replace(/:\d+$/, ':1') },
    cookieUnknown: { cookie: secrets.cookieUnknown, origin: own },
  }
  return from[kind] ?? { authorization: `Bearer ${secrets[kind]}` }
}

/** A browser's own read has no Origin; any other request without one does not come from this server's page. */
function expected(access: Access, method: string, kind: Kind): Verdict {
  if (kind !== 'cookieNoOrigin' || access === 'public' || access === 'sandbox') return table[access][kind]
  return method === 'GET' ? 'in' : 403
}

interface Probe {
  method: string
  path: string
  body?: string
  headers?: Record<string, string>
}

/** The status, and any defect in the form of a refusal. */
async function ask(
  kind: Kind,
  { method, path, body, headers }: Probe,
): Promise<{ status: number; flaw: string | null }> {
  const reply = await app.request<{ error?: unknown; code?: unknown }>(method, path, {
    token: null,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headersOf(kind), ...headers },
    ...(body === undefined ? {} : { body }),
  })
  return { status: reply.status, flaw: reply.status < 400 ? null : flawOf(reply) }
}

function flawOf(reply: { status: number; headers: Headers; body: { error?: unknown; code?: unknown } | undefined }) {
  const { body, headers, status } = reply
  if (typeof body?.code !== 'string') return 'has no code'
  const openAiMessage = (body.error as { message?: unknown } | undefined)?.message
  if (typeof body.error !== 'string' && typeof openAiMessage !== 'string') return 'has no sentence'
  if (headers.get('x-request-id') === null) return 'has no request id'
  if (status === 401 && headers.get('www-authenticate') === null) return 'does not say how to authenticate'
  return null
}

async function compare(of: (kind: Kind) => { probe: Probe; want: number } | Promise<{ probe: Probe; want: number }>) {
  const wrong: string[] = []
  for (const kind of kinds) {
    const { probe, want } = await of(kind)
    const { status, flaw } = await ask(kind, probe)
    if (status !== want) wrong.push(`${kind}: ${status} instead of ${want}`)
    else if (flaw !== null) wrong.push(`${kind}: ${status} ${flaw}`)
  }
  return wrong
}

describe('access to each route', () => {
  test('this test lists every route of the contract and no other', () => {
    expect(Object.keys(answers).toSorted()).toEqual(routes.map((route) => route.name).toSorted())
  })

  test.each(routes.map((route) => [route.name, route] as const))(
    'every kind of caller gets the expected status from %s',
    async (name, route) => {
      const wrong = await compare(async (kind) => {
        const verdict = exceptions[name]?.[kind] ?? expected(route.access, route.method, kind)
        // An authorized deletion succeeds, so each gets its own project.
        const project =
          name === 'deleteProject' && verdict === 'in' ? (await app.managedProject()).project : app.project
        const path = route.path
          .replace(':projectId', project.project_id)
          .replace(':accountId', app.owner.account_id)
          .replaceAll(/:[A-Za-z]+/g, () => randomUUID())
        const probe = { method: route.method, path, ...(route.body === null ? {} : { body: '[]' }) }
        return { probe, want: verdict === 'in' ? answers[name]! : verdict }
      })
      if (name === 'signOut') Object.assign(secrets, await newCookie())
      expect(wrong).toEqual([])
    },
  )
})

describe('the token of a sandbox', () => {
  let family: Family
  beforeAll(async () => {
    family = await makeFamily(app)
  }, 120_000)

  test("lists the reach of a sandbox's token for every route and every other entry", () => {
    const lists = (['across', 'starts', 'people', 'none'] as const).map(withReach)
    const named = [Object.keys(ofSession), ...lists].flat()
    expect(named.toSorted()).toEqual(routes.map((route) => route.name).toSorted())
    const refused = routes.filter(({ access }) => table[access].bound === 403).map((route) => route.name)
    expect(withReach('people')).toEqual(expect.arrayContaining(refused))
    const sessionRoutes = routes.filter(({ path, session }) => session || /:(session|sandbox)/i.test(path))
    expect(Object.keys(ofSession).toSorted()).toEqual(sessionRoutes.map((route) => route.name).toSorted())
    const known = new Set(routes.map((route) => route.path))
    const others = new Set(served.routes.map(({ path }) => path).filter((path) => !known.has(path)))
    expect([...others].toSorted()).toEqual(Object.keys(reach.entries).toSorted())
  })

  test.each(routes.filter(({ session }) => session).map((route) => [route.name, route] as const))(
    'reaches only its own session and its descendants with %s',
    async (name, route) => {
      const { own, child, other, token } = reach.ends.includes(name) ? await makeFamily(app) : family
      const ask = async ({ session_id }: { session_id: string }) => {
        const path = route.path.replace(':projectId', app.project.project_id).replace(':sessionId', session_id)
        const { publicUrl } = app.deps.config
        const body = reach.bodies[name]
        const reply = await served.request(publicUrl + path, {
          method: route.method,
          headers: {
            ...{ host: new URL(publicUrl).host, authorization: `Bearer ${token}` },
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        await reply.body?.cancel()
        return reply.status
      }
      // Its own session last, because that may end the token.
      const answers = { other: await ask(other), descendant: await ask(child), own: await ask(own) }
      const expected = ofSession[name]!
      expect(answers).toEqual({ other: 403, descendant: expected, own: expected })
    },
    120_000,
  )
})

/** git sends Basic; other routes ignore it. */
const gitTable = (push: boolean): Record<Kind, Verdict> => ({
  ...all(401),
  ...{ clone: 'in', bound: 'in', unbound: 'in', member: 'in', admin: 'in', owner: 'in' },
  ...{ viewer: push ? 403 : 'in', viewersProjectToken: push ? 403 : 'in' },
  ...outsiders,
})
const cookies: readonly Kind[] = kinds.filter((kind) => kind.startsWith('cookie'))

/** The user name is ignored; the token may be in either field. */
const basicForms = [
  (token: string) => `x-access-token:${token}`,
  (token: string) => `anyone:${token}`,
  (token: string) => `:${token}`,
  (token: string) => `${token}:`,
  (token: string) => `${token}:x-oauth-basic`,
]

describe('access to the git gateway', () => {
  test.each([
    ['GET', 'info/refs?service=git-upload-pack', false, 200],
    ['GET', 'info/refs?service=git-receive-pack', true, 200],
    ['POST', 'git-upload-pack', false, 415],
    ['POST', 'git-receive-pack', true, 415],
  ] as const)('every kind of caller gets the expected status from %s %s', async (method, path, push, status) => {
    const wrong: string[] = []
    for (const [kind, form] of kinds.flatMap((kind) => basicForms.map((form) => [kind, form] as const))) {
      const verdict = gitTable(push)[kind]
      const basic = Buffer.from(form(secrets[kind])).toString('base64')
      const sent = ['none', 'empty', 'wrongScheme', ...cookies].includes(kind)
        ? headersOf(kind)
        : { authorization: `Basic ${basic}` }
      const reply = await app.request(method, `/v1/projects/${app.project.project_id}/git/${path}`, {
        token: null,
        headers: sent,
        ...(method === 'POST' ? { body: '0000' } : {}),
      })
      const want = verdict === 'in' ? status : verdict
      if (reply.status !== want) wrong.push(`${kind} as ${form('…')}: ${reply.status} instead of ${want}`)
      if (reply.status === 401 && reply.headers.get('www-authenticate') !== 'Basic realm="svc"')
        wrong.push(`${kind}: git would not ask for a credential`)
    }
    expect(wrong).toEqual([])
  })
})

describe('access to the model gateway', () => {
  const onlyModelKeys: Record<Kind, Verdict> = { ...all(401), model: 'in' }
  test.each([
    ['GET', 'models', undefined, 200],
    ['POST', 'chat/completions', '[]', 400],
  ] as const)(
    'every kind of caller gets the expected status from the model gateway: %s %s',
    async (method, path, body, status) => {
      const wrong = await compare((kind) => {
        const verdict = onlyModelKeys[kind]
        const probe = { method, path: `/v1/llm/${path}`, ...(body === undefined ? {} : { body }) }
        return { probe, want: verdict === 'in' ? status : verdict }
      })
      expect(wrong).toEqual([])
    },
  )
})

describe('access to a sandbox through the edge', () => {
  test.each([
    ['GET', '/agent', 'project-write', 200],
    ['POST', '/agent', 'project-write', 200],
    ['GET', '/proxy/3000/', 'project-write', 502],
    ['GET', '/svc/health', 'public', 200],
  ] as const)(
    'every kind of caller gets the expected status from a sandbox: %s %s',
    async (method, path, access, status) => {
      const wrong = await compare((kind) => {
        const verdict = expected(access, method, kind)
        return {
          probe: { method, path: `/v1/sandboxes/${sandboxId}${path}` },
          want: verdict === 'in' ? status : verdict,
        }
      })
      expect(wrong).toEqual([])
    },
  )

  test.each(['/svc/prompt', '/svc/abort', '/svc/env', '/svc/refresh', '/svc/health', '/svc/'])(
    'only the service may send POST %s',
    async (path) => {
      const wrong = await compare((kind) => {
        const verdict = expected('project-write', 'POST', kind)
        return {
          probe: { method: 'POST', path: `/v1/sandboxes/${sandboxId}${path}`, body: '{}' },
          want: verdict === 'in' ? 403 : verdict,
        }
      })
      expect(wrong).toEqual([])
      expect(app.driver.seen(sandboxId)?.prompts).toEqual([])
    },
  )

  test('answers 404 for an unknown sandbox to every caller with access', async () => {
    for (const id of [randomUUID(), 'x', '..', `${sandboxId}0`]) {
      const reply = await app.request('GET', `/v1/sandboxes/${encodeURIComponent(id)}/agent`)
      expect([id, reply.status]).toEqual([id, 404])
    }
  })
})

test('everyone can read the public routes', async () => {
  for (const path of ['/v1/openapi.json', '/', '/sign-in', '/projects', '/account/tokens'])
    expect(await compare(() => ({ probe: { method: 'GET', path }, want: 200 }))).toEqual([])
})

describe('unknown paths', () => {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

  test('refuses project tokens below /v1/accounts before it looks up the path', async () => {
    for (const method of methods)
      for (const path of ['/v1/accounts/', '/v1/accounts/billing', '/v1/%61ccounts/billing/x', '/v1/accounts/me/x']) {
        const wrong = await compare((kind) => {
          const verdict = expected('account', method, kind)
          return { probe: { method, path }, want: verdict === 'in' ? 404 : verdict }
        })
        expect([method, path, ...wrong]).toEqual([method, path])
      }
  })

  test('refuses tokens of another project below a project, whether or not it exists', async () => {
    const own: Record<Kind, Verdict> = { ...expectedAll('token'), otherProject: 403, otherAccountsProject: 403 }
    const foreign: Record<Kind, Verdict> = { ...own, bound: 403, unbound: 403, viewersProjectToken: 403 }
    for (const method of methods)
      for (const [id, verdicts] of [
        [app.project.project_id, own],
        [randomUUID(), foreign],
        ['no id and no slug', foreign],
        // Only a known route looks up a slug.
        ['no-project-has-it', expectedAll('token')],
      ] as const)
        for (const path of [`/v1/projects/${id}/nothing`, `/v1/%70rojects/${id}/nothing/here`]) {
          const wrong = await compare((kind) => {
            const verdict = kind === 'cookieNoOrigin' && method === 'GET' ? 'in' : verdicts[kind]
            return { probe: { method, path }, want: verdict === 'in' ? 404 : verdict }
          })
          expect([method, path, ...wrong]).toEqual([method, path])
        }
  })

  function expectedAll(access: Access): Record<Kind, Verdict> {
    return { ...table[access], cookieNoOrigin: 403 }
  }

  test('answers 404 for other unknown paths', async () => {
    for (const path of [
      '/v1',
      '/v1/nothing',
      '/v2/accounts/me',
      '/nothing',
      '/assets/../app.ts',
      '/v1/account',
      '/x/v1/accounts/me',
      `/x/v1/projects/${randomUUID()}/sessions`,
    ])
      expect([path, ...(await compare(() => ({ probe: { method: 'GET', path }, want: 404 })))]).toEqual([path])
  })
})

describe('other spellings of a path', () => {
  const spellings = (path: string) => [
    path.replace('/projects/', '/%70rojects/'),
    path.replace('/v1/', '/%76%31/'),
    path.replace('/projects/', '/./projects/'),
    path.replace('/projects/', '/x/../projects/'),
    path.replace('/projects/', '/x/%2e%2e/projects/'),
    path.replace('/projects/', '//projects/'),
    path.replace('/projects/', '/Projects/'),
    path.replace('/projects/', '/projects%2f'),
    path.replace('/projects/', '/projects/%2e/'),
    path.replace(/([0-9a-f])(\/|$)/, (_, char: string, end: string) => `%${char.charCodeAt(0).toString(16)}${end}`),
    path.toUpperCase().replace('/V1/PROJECTS/', '/v1/projects/'),
  ]

  test('no spelling lets a token into another project', async () => {
    const other = (await app.managedProject()).project.project_id
    for (const suffix of ['', '/sessions', '/secrets', '/change-requests', '/cli-token', '/git/clone-credential']) {
      for (const path of spellings(`/v1/projects/${other}${suffix}`))
        for (const kind of ['bound', 'unbound', 'otherAccountsProject', 'stranger', 'service'] as const) {
          const { status } = await ask(kind, { method: 'GET', path })
          expect([path, kind, [401, 403, 404].includes(status)]).toEqual([path, kind, true])
        }
    }
    for (const path of spellings(`/v1/projects/${other}/git/info/refs`))
      for (const kind of ['bound', 'unbound', 'clone'] as const) {
        const basic = Buffer.from(`x-access-token:${secrets[kind]}`).toString('base64')
        const reply = await app.request('GET', `${path}?service=git-upload-pack`, {
          token: null,
          headers: { authorization: `Basic ${basic}` },
        })
        expect([path, kind, [401, 403, 404].includes(reply.status)]).toEqual([path, kind, true])
      }
  })

  test('no spelling lets a project token use an account route', async () => {
    for (const path of [
      '/v1/%61ccounts/me',
      '/%761/accounts/me',
      '/v1/accounts/%6de',
      '/v1/./accounts/me',
      '/v1/accounts/tokens',
    ])
      for (const kind of ['bound', 'unbound', 'otherProject'] as const)
        expect([path, kind, (await ask(kind, { method: 'GET', path })).status]).toEqual([path, kind, 403])
  })

  test('no spelling reaches the control paths of a sandbox', async () => {
    for (const path of [
      `/v1/sandboxes/${sandboxId}/%73vc/prompt`,
      `/v1/%70/${sandboxId}/svc/prompt`,
      `/v1/p/${sandboxId}/x/%2e%2e/svc/prompt`,
      `/v1/%73andboxes/${sandboxId}/svc/prompt`,
      `/v1/%73andbox%65s/${sandboxId}/svc/prompt`,
      `/v1/sandboxes/${sandboxId}//svc/prompt`,
      `/v1/sandboxes/${sandboxId}/x/../svc/prompt`,
      `/v1/sandboxes/${sandboxId}/x/%2e%2e/svc/prompt`,
      `/v1/sandboxes/${sandboxId}/svc%2fprompt`,
      `/v1/sandboxes/${sandboxId}/SVC/prompt`,
      `/v1/sandboxes/${sandboxId}/./svc/prompt`,
      `/v1/sandboxes/${sandboxId}/svc\\prompt`,
    ]) {
      const { status } = await ask('owner', { method: 'POST', path, body: '{"text":"injected"}' })
      expect([path, status >= 400 && status < 500]).toEqual([path, true])
    }
    expect(app.driver.seen(sandboxId)?.prompts).toEqual([])
  })
})
