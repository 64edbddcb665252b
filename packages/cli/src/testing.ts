/** Runs commands against a real HTTP server whose responses are validated by the contract's schemas, so that the two cannot drift apart. */
import type { AuditEvent as AuditRow, ChangeRequest, Member, Project, Session, SessionEvent, Token } from '@svc/sdk'
import { serverAnswers } from './testing/server.ts'
import { aUsage, modelAnswers, settings } from './testing/usage.ts'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { errorStatus, ServiceError } from '@svc/contract/errors'
import { routes } from '@svc/contract/openapi'
import { ok, type Route } from '@svc/contract/route'
import { makeToken } from '@svc/contract/schemas/token-format'
import { channelAnswers } from './testing/channel.ts'
import { appAnswers } from './testing/app.ts'
import { browseAnswers } from './testing/browse.ts'
import { checkAnswers } from './testing/check.ts'
import { pullRequestAnswers } from './testing/pull-request.ts'
import { inboxAnswers } from './testing/inbox.ts'
import { aPrompt } from './testing/prompt.ts'
import { questionAnswers } from './testing/question.ts'
import { usualConnectors } from './testing/connector.ts'
import { aSlot, aTrigger } from './testing/trigger.ts'
import { webhookAnswers } from './testing/webhook.ts'
import { aDiff, cleanPreview } from './testing/diff.ts'
import { someOrigins } from './testing/origins.ts'
import { at, ids, now, sha } from './testing/ids.ts'
import { aChangeRequest } from './testing/change-request.ts'
import { type Io, sleep } from './io.ts'
import { type ExitCode, run } from './run.ts'

export { ids, now, sha }
export { aChangeRequest }
export * from './testing/diff.ts'
export const token = makeToken((count) => new Uint8Array(count).fill(7))

export const aProject = (changes: Partial<Project> = {}): Project => ({
  project_id: ids.project,
  account_id: ids.account,
  slug: 'app',
  name: 'app',
  repo_url: 'https://git.example.com/team/app.git',
  git_url: `http://127.0.0.1/v1/projects/${ids.project}/git`,
  default_branch: 'main',
  managed: false,
  config_dir: '.svc/runtime',
  ssh_public_key: null,
  settings,
  created_at: at(86_400 * 3),
  updated_at: at(86_400),
  ...changes,
})

export const aSession = (changes: Partial<Session> = {}): Session => ({
  session_id: ids.session,
  account_id: ids.account,
  project_id: ids.project,
  name: 'Fix the test',
  branch_name: ids.session,
  base_ref: 'main',
  agent_name: 'default',
  model: null,
  status: 'running',
  error: null,
  last_turn_error: null,
  sandbox_url: 'http://127.0.0.1:8420/s/1',
  sandbox: { sandbox_id: ids.sandbox, driver: 'local', status: 'active', generation: 1 },
  created_by: ids.user,
  ...{ parent_session_id: null, waiting_for: null, refresh: null },
  metadata: {},
  created_at: at(600),
  updated_at: at(60),
  last_active_at: at(60),
  ...changes,
})

export const aRefresh = (changes: Partial<NonNullable<Session['refresh']>> = {}): Session['refresh'] => ({
  ...{ status: 'done', cause: 'request', requested_at: at(2), settled_at: at(1) },
  ...{ applied: ['agents', 'sandbox.egress'], needs_restart: [], error: null },
  ...changes,
})

const anAccount = { account_id: ids.account, slug: 'home-11111111', name: 'Home', plan: 'selfhost', role: 'owner' }
const accountNamed = (name: string, index: number) => ({
  ...anAccount,
  account_id: index === 0 ? ids.account : `${index}`.repeat(8) + ids.account.slice(8),
  name,
})

export const aMember = (changes: Partial<Member> = {}): Member => ({
  user_id: ids.user,
  name: 'Ada',
  email: 'ada@example.com',
  role: 'owner',
  created_at: at(86_400),
  ...changes,
})

export const aToken = (changes: Partial<Token> = {}): Token => ({
  token_id: ids.cr,
  name: 'laptop',
  project_id: null,
  session_id: null,
  expires_at: null,
  created_at: at(86_400),
  last_used_at: at(60),
  ...changes,
})

export const anAuditRow = (changes: Partial<AuditRow> = {}): AuditRow => ({
  event_id: 7,
  at: at(60),
  project_id: ids.project,
  actor_kind: 'user',
  actor_user_id: ids.user,
  token_id: ids.token,
  session_id: null,
  request_id: 'r1',
  address: '127.0.0.1',
  action: 'change_request.merge',
  object_type: 'change_request',
  object_id: ids.cr,
  before: null,
  after: { status: 'merged' },
  ...changes,
})

export const noUnfinishedWork = {
  ...{ saved_at: null, commit: null, base: null, generation: null },
  ...{ files: 0, paths: [], unpushed_commits: 0, notes: [], earlier: [] },
}
export const usual: Answers = {
  getReady: () => ({
    status: 'ready',
    version: '0.1.0',
    sandbox: { driver: 'fake', ready: true, problem: null, install: null, missing_limits: [] },
    ...{ model: 'scripted', providers: { apps: 'local', connectors: 'mcp' }, disk: { ready: true, problem: null } },
  }),
  whoAmI: () => ({
    kind: 'user',
    token_id: ids.token,
    user: { user_id: ids.user, name: 'Ada', email: 'ada@example.com' },
    account: { account_id: ids.account, name: 'Home' },
    project_id: null,
    session_id: null,
    expires_at: null,
  }),
  getHealth: () => ({ status: 'ok', version: '0.1.0' }),
  getMe: () => ({
    ...{ user_id: ids.user, email: 'ada@example.com' },
    user: { user_id: ids.user, name: 'Ada', email: 'ada@example.com' },
    account: anAccount,
    accounts: [anAccount],
  }),
  listAccounts: () => ({ accounts: ['Home', 'Research', 'Trial', 'Personal'].map(accountNamed) }),
  createAccount: ({ body }) => ({ ...anAccount, ...(body as object) }),
  updateAccount: ({ body }) => ({ ...anAccount, ...(body as object) }),
  listInvitations: () => ({ invitations: [] }),
  listMembers: () => [aMember(), aMember({ user_id: ids.token, name: 'Bo', email: 'bo@example.com', role: 'viewer' })],
  addMember: ({ body }) => ({
    member: aMember({ ...(body as { email: string }), user_id: ids.sandbox }),
    invitation_id: ids.sandbox,
    sign_in: { url: 'http://127.0.0.1:8420/sign-in#abc', expires_at: at(-86_400) },
  }),
  changeRole: ({ body }) => aMember(body as { role: 'admin' }),
  listAudit: () => [anAuditRow()],
  accountUsage: () => aUsage(),
  ...modelAnswers,
  ...serverAnswers,
  listUserTokens: () => [aToken()],
  listProjectTokens: () => [
    {
      ...aToken({ token_id: ids.sandbox, name: 'ci', project_id: ids.project }),
      ...{ created_by: ids.user, created_by_name: 'Ada', is_member: true },
    },
  ],
  mintUserToken: ({ body }) => ({ ...aToken(), ...(body as object), secret_key: token }),
  mintProjectToken: ({ body }) => ({ ...aToken({ project_id: ids.project }), ...(body as object), secret_key: token }),
  updateProject: ({ body }) => aProject(body as Partial<Project>),
  createProject: ({ body }) => aProject(body as Partial<Project>),
  listProjects: () => [aProject()],
  getProject: () => aProject(),
  deleteProject: ({ query }) => ({ ok: true, purge_at: query.purge === 'true' ? null : '2030-01-31T00:00:00.000Z' }),
  restoreProject: () => aProject(),
  getProjectDeletion: () => ({
    ...{ sessions: 3, live_sessions: 1, unpushed_sessions: 1, change_requests: 2, open_change_requests: 1 },
    ...{ repository_bytes: 4 * 1024 ** 2, deleted_at: null, purge_at: '2030-01-31T00:00:00.000Z' },
  }),
  createSession: () => aSession({ status: 'provisioning', sandbox: null, sandbox_url: null }),
  listSessions: () => [aSession()],
  getSession: () => aSession(),
  stopSession: () => aSession({ status: 'stopped' }),
  restartSession: () => aSession({ status: 'provisioning' }),
  refreshSession: () => aSession({ refresh: aRefresh() }),
  promptSession: () => ({ prompt_id: ids.sandbox, status: 'accepted' }),
  updateSession: ({ body }) => aSession(body as Partial<Session>),
  ...inboxAnswers,
  listPrompts: () => ({ prompts: [aPrompt()] }),
  cancelPrompt: () => aPrompt({ status: 'cancelled' }),
  ...questionAnswers,
  getTranscript: () => ({ messages: [] }),
  getTimeline: () => ({ phases: [{ name: 'clone', started_at: at(600), ms: 420, error: null }] }),
  getUnfinishedWork: () => noUnfinishedWork,
  saveUnfinishedWork: () => noUnfinishedWork,
  listUnfinishedWork: () => [],
  recoverUnfinishedWork: () => ({ ok: true, files: 2 }),
  listPorts: () => ({ ports: [], can_frame: true }),
  getPreview: () => ({ url: `http://3000--${ids.session}.localhost/` }),
  listChangeRequests: () => ({ change_requests: [aChangeRequest()] }),
  getChangeRequest: () => ({ change_request: aChangeRequest() }),
  openChangeRequest: ({ body }) => {
    const { session_id: session, ...rest } = body as Partial<ChangeRequest> & { session_id?: string }
    return aChangeRequest({ ...rest, origin_session_id: session ?? null })
  },
  previewChangeRequest: () => cleanPreview,
  verifyChangeRequest: () => ({
    verified: true,
    kind: 'merge-commit',
    expected: { tree: sha('d'), commit: sha('c') },
    got: { tree: sha('d'), commit: sha('c') },
    git_version: '2.39.5',
  }),
  ...pullRequestAnswers,
  getChangeRequestOrigins: () => someOrigins,
  diffChangeRequest: () => aDiff(),
  mergeChangeRequest: () => ({
    change_request: aChangeRequest({ status: 'merged', merged_at: at(0), merge_commit_sha: sha('a') }),
    merge: {
      merge_commit_sha: sha('a'),
      fast_forward: true,
      up_to_date: false,
      base_sha_before: sha('b'),
      base_sha_after: sha('a'),
    },
  }),
  closeChangeRequest: () => aChangeRequest({ status: 'closed', closed_at: at(0) }),
  reopenChangeRequest: () => aChangeRequest(),
  listSecrets: () => ({
    items: [{ name: 'KEY', created_at: at(60), updated_at: at(60), created_by: null }],
    required: ['KEY', 'DB'],
    optional: ['EXTRA'],
    needed: [
      { name: 'KEY', needed_by: [{ kind: 'env', slug: null }] },
      {
        name: 'DB',
        needed_by: [
          { kind: 'env', slug: null },
          { kind: 'app', slug: 'web' },
        ],
      },
      { name: 'HOOK', needed_by: [{ kind: 'trigger', slug: 'on-push' }] },
    ],
    missing: ['DB', 'HOOK'],
    revision: '1',
  }),
  setSecret: ({ body }) => ({
    name: (body as { name: string }).name,
    created_at: at(0),
    updated_at: at(0),
    created_by: null,
  }),
  ...appAnswers,
  ...checkAnswers,
  ...browseAnswers,
  listTriggers: () => ({ triggers: [aTrigger()], errors: [] }),
  getTrigger: () => ({ ...aTrigger(), slots: [aSlot] }),
  ...usualConnectors,
  fireTrigger: () => ({ session_id: ids.session, status: 'fired' }),
  enableTrigger: () => ({ change_request: null, merged: false }),
  ...channelAnswers,
  ...webhookAnswers,
  disableTrigger: () => ({ change_request: aChangeRequest({ status: 'merged' }), merged: true }),
}

export interface Received {
  name: string
  method: string
  path: string
  params: Record<string, string>
  query: Record<string, string>
  headers: Headers
  body: unknown
}
type Answer = (request: Received) => unknown
export type Answers = Record<string, Answer>

export interface Service {
  url: string
  received: Received[]
  of(name: string): Received[]
  [Symbol.asyncDispose](): Promise<void>
}

/** `answers` by route name: a body, a thrown ServiceError, a Response, or a generator of events. */
export function startService(answers: Answers = {}, { port = 0 } = {}): Service {
  const received: Received[] = []
  const server = Bun.serve({
    port,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const found = match(request)
      const url = new URL(request.url)
      const text = await request.text()
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      const got: Received = {
        name: found?.route.name ?? 'unknown',
        method: request.method,
        path: url.pathname,
        params: found?.params ?? {},
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body,
      }
      received.push(got)
      if (found === null) return refuse(new ServiceError('not_found', 'No such route'))
      return answer(found.route, got, answers[got.name] ?? usual[got.name])
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    received,
    of: (name) => received.filter((request) => request.name === name),
    async [Symbol.asyncDispose]() {
      await server.stop(true)
    },
  }
}

async function answer(route: Route, got: Received, make: Answer | undefined): Promise<Response> {
  try {
    route.body?.parse(got.body)
    route.query.parse(got.query)
    if (make === undefined && route.reply !== ok) throw new Error(`No answer for ${route.name}`)
    const made = make === undefined ? { ok: true } : await make(got)
    if (made instanceof Response) return made
    if (isGenerator(made)) return eventStream(route, made)
    return Response.json(route.reply.parse(made), { status: route.status })
  } catch (error) {
    if (error instanceof ServiceError) return refuse(error)
    // A request or a response outside the contract must fail the test, not pass as an expected error.
    return Response.json({ error: `contract: ${String(error)}`, code: 'internal' }, { status: 500 })
  }
}

function refuse(error: ServiceError): Response {
  const again = error.detail.retry_after_seconds
  const headers = { 'X-Request-Id': 'r1', ...(typeof again === 'number' ? { 'Retry-After': String(again) } : {}) }
  return Response.json(error.toBody(), { status: errorStatus(error.code), headers })
}

function isGenerator(value: unknown): value is AsyncGenerator<SessionEvent> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function eventStream(route: Route, made: AsyncGenerator<SessionEvent>): Response {
  let count = 0
  return new Response(
    new ReadableStream({
      async pull(controller) {
        const next = await made.next()
        if (next.done) return controller.close()
        const event = route.reply.parse(next.value) as SessionEvent
        const text = `id: ${++count}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
        controller.enqueue(new TextEncoder().encode(text))
      },
    }),
    { headers: { 'Content-Type': 'text/event-stream' } },
  )
}

function match(request: Request): { route: Route; params: Record<string, string> } | null {
  const { pathname } = new URL(request.url)
  for (const route of routes) {
    const pattern = new RegExp(`^${route.path.replace(/:([A-Za-z]+)/g, '(?<$1>[^/]+)')}$`)
    const found = route.method === request.method ? pattern.exec(pathname) : null
    if (found !== null)
      return {
        route,
        params: Object.fromEntries(Object.entries(found.groups ?? {}).map(([k, v]) => [k, decodeURIComponent(v)])),
      }
  }
  return null
}

export interface Ran {
  code: ExitCode
  stdout: string
  stderr: string
  json<T = Record<string, unknown>>(): T
  problem<T = { error: string; code: string; hint: string | null; next: string[] }>(): T
}

interface RunOptions {
  service?: Service
  /** With a service, its URL and a token come first; `null` removes a variable. */
  env?: Record<string, string | null>
  stdin?: string | Readable
  cwd?: string
  /** Makes stdin and both streams a terminal. */
  terminal?: boolean
  columns?: number
  /** Input for prompts, sent once stderr matches. */
  types?: readonly { after: RegExp; keys: string }[]
  signal?: AbortSignal
  /** Called with all of stderr whenever it grows. */
  hears?: (shown: string) => unknown
  onInterrupt?: (handler: () => void) => void
}

export async function svc(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const home = await mkdtemp(join(tmpdir(), 'svc-cli-'))
  const captured = { stdout: '', stderr: '' }
  const keys = new PassThrough() as PassThrough & { isTTY?: boolean }
  const waiting = [...(options.types ?? [])]
  let shown = ''
  const hear = (text: string) => {
    shown += text
    while (waiting[0]?.after.test(shown)) {
      shown = ''
      const { keys: typed } = waiting.shift()!
      setTimeout(() => keys.write(typed), 5)
    }
  }
  const terminal = options.terminal === true
  const signal = options.signal ?? new AbortController().signal
  const env: Record<string, string | undefined> = {
    HOME: home,
    PATH: process.env.PATH,
    GIT_CONFIG_GLOBAL: '/dev/null',
    ...(options.service === undefined ? {} : { SVC_API_URL: `${options.service.url}/v1`, SVC_CLI_TOKEN: token }),
    ...Object.fromEntries(Object.entries(options.env ?? {}).map(([name, value]) => [name, value ?? undefined])),
  }
  const said = options.stdin ?? keys
  const stdin = typeof said === 'string' ? Readable.from([said]) : said
  const io: Io = {
    env,
    cwd: options.cwd ?? home,
    stdin: Object.assign(stdin, { isTTY: terminal, setRawMode: () => stdin }) as Io['stdin'],
    stdout: terminalSink({ isTTY: terminal, columns: options.columns ?? 100 }, (text) => (captured.stdout += text)),
    stderr: terminalSink({ isTTY: terminal, columns: options.columns ?? 100 }, (text) => {
      captured.stderr += text
      hear(text)
      options.hears?.(captured.stderr)
    }),
    now: () => now,
    newId: () => crypto.randomUUID(),
    sleep: (ms) => sleep(Math.min(ms, 2), signal),
    signal,
    onInterrupt(handler) {
      options.onInterrupt?.(handler)
      return () => {}
    },
  }
  try {
    const code = await run(args, io)
    return {
      code,
      ...captured,
      json: <T>() => JSON.parse(captured.stdout) as T,
      problem: <T>() => JSON.parse(captured.stderr.trim().split('\n').at(-1)!) as T,
    }
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/** Captures writes and the drawing of prompts. */
function terminalSink(
  { isTTY, columns }: { isTTY: boolean; columns: number },
  take: (text: string) => void,
): Io['stdout'] {
  const write = (text: string | Uint8Array) => {
    take(typeof text === 'string' ? text : Buffer.from(text).toString())
    return true
  }
  const stream = Object.assign(new PassThrough(), { isTTY, columns, rows: 40, write })
  return { isTTY, columns, write, stream }
}

export async function temporaryFolder(): Promise<{ path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'svc-cli-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
