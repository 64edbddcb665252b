/** Each change writes exactly one row, whichever route makes it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ChangeRequest, MintedToken, Project, Review } from '@svc/contract'
import { createHash, randomUUID } from 'node:crypto'
import { routes } from '@svc/contract/openapi'
import { commit } from '@svc/git/testing'
import { startDashboardSession } from '../auth/dashboard-session.ts'
import { makeLinkCode } from '../channels/links/links.ts'
import { deployedApp as deployed } from '../apps/testing.ts'
import { getChannel } from '../channels/store.ts'
import { startSlack } from '../channels/slack/testing-slack.ts'
import {
  applySuggestions,
  answerQuestion,
  capAccountUsage,
  connectorChanges,
  memberChanges,
  modelUpstreamActs,
  fileChanges,
  promptChanges,
  pullRequest,
  rerunChecks,
} from './testing-changes.ts'
import { insertToken, makeSessionApp, type SessionApp } from '../sessions/testing.ts'
import { upsertWip } from '../sessions/unfinished-work/store.ts'
import type { TestReply } from '../testing.ts'
let app: SessionApp
let base: string
const slack = startSlack()
beforeAll(async () => {
  app = await makeSessionApp({ configure: { slackApiUrl: slack.apiUrl } })
  base = `/v1/projects/${app.project.project_id}`
}, 120_000)
afterAll(() => app.close().then(() => slack.close()))
type Act = () => Promise<TestReply<unknown>>
interface Change {
  action: string
  /** Additional events of the same request, each with its own row. */
  also?: string[]
  /** Prepares the change, and returns a function that makes it. */
  prepare(): Promise<Act>
}

const post =
  (path: string, body?: unknown): Act =>
  () =>
    app.request('POST', path, body === undefined ? {} : { body })
const mint = (path: string) => app.request<MintedToken>('POST', path, { body: { name: 'a token' } })
const freshProject = async () => (await app.request<Project>('POST', '/v1/projects', { body: { name: 'fresh' } })).body
const chat = () => ({ bot_token: slack.token, signing_secret: slack.secret, conversation_id: 'C0DEVTEAM' })

async function openChangeRequest(): Promise<string> {
  const branch = `work-${randomUUID()}`
  await commit(app.repo, branch, { [branch]: 'a\n' })
  const body = { title: 'A title', head_ref: branch }
  const made = await app.request<ChangeRequest>('POST', `${base}/change-requests`, { body })
  return `${base}/change-requests/${made.body.cr_id}`
}

async function freshSession(): Promise<string> {
  return app.path((await app.running()).session_id)
}

async function ownerLink() {
  const headers = await app.browser()
  return app.request<{ url: string }>('POST', '/v1/accounts/owner-links', { token: null, headers })
}

async function linkCode(): Promise<string> {
  return ((await ownerLink()).body as { url: string }).url.split('#')[1]!
}

const fromOurPage = () => ({ origin: app.deps.config.publicUrl })
const account = { email: 'owner@example.test', password: 'canary-value-of-a-password' }
const verifier = 'v'.repeat(43)
const challenge = createHash('sha256').update(verifier).digest('base64url')
const browser = async () => ({
  cookie: (await startDashboardSession(app.deps, app.owner.user_id)).split(';')[0]!,
  ...fromOurPage(),
})
const newPassword = async () =>
  app.request('POST', '/v1/accounts/password', { token: null, body: account, headers: await browser() })
const approve = async () =>
  app.request('POST', '/v1/accounts/cli-logins', {
    token: null,
    body: { challenge, name: 'laptop' },
    headers: await browser(),
  })

const changes: Record<string, Change> = {
  ...connectorChanges(() => app),
  createOwnerLink: { action: 'owner_link.create', prepare: async () => ownerLink },
  signInWithOwnerLink: {
    action: 'user.sign_in',
    async prepare() {
      const code = await linkCode()
      return () => app.request('POST', '/v1/sign-in', { token: null, body: { code }, headers: fromOurPage() })
    },
  },
  signOut: {
    action: 'user.sign_out',
    async prepare() {
      const cookie = (await startDashboardSession(app.deps, app.owner.user_id)).split(';')[0]!
      return () => app.request('POST', '/v1/sign-out', { token: null, headers: { cookie, ...fromOurPage() } })
    },
  },
  ...memberChanges(() => app),
  confirmSignIn: {
    action: 'dashboard_session.confirm',
    async prepare() {
      await newPassword()
      const headers = await app.browser()
      const { password } = account
      return () => app.request('POST', '/v1/accounts/confirm', { token: null, headers, body: { password } })
    },
  },
  capAccountUsage: capAccountUsage(() => app),
  ...modelUpstreamActs(() => app),
  signInWithPassword: {
    action: 'user.sign_in',
    async prepare() {
      await newPassword()
      return () => app.request('POST', '/v1/sign-in/password', { token: null, body: account, headers: fromOurPage() })
    },
  },
  setPassword: {
    action: 'user.set_password',
    async prepare() {
      const headers = await browser()
      return () => app.request('POST', '/v1/accounts/password', { token: null, body: account, headers })
    },
  },
  endDashboardSession: {
    action: 'dashboard_session.end',
    async prepare() {
      const headers = await browser()
      const path = '/v1/accounts/dashboard-sessions'
      const { body } = await app.request<{ dashboard_session_id: string }[]>('GET', path)
      return () => app.request('DELETE', `${path}/${body[0]!.dashboard_session_id}`, { token: null, headers })
    },
  },
  approveCliLogin: { action: 'cli_login.approve', prepare: async () => approve },
  redeemCliLogin: {
    action: 'cli_login.redeem',
    async prepare() {
      const { code } = (await approve()).body as { code: string }
      return () => app.request('POST', '/v1/cli-logins/redeem', { token: null, body: { code, verifier } })
    },
  },
  mintUserToken: { action: 'token.create', prepare: async () => post('/v1/accounts/tokens', { name: 'x' }) },
  revokeUserToken: {
    action: 'token.revoke',
    async prepare() {
      const { body } = await mint('/v1/accounts/tokens')
      return () => app.request('DELETE', `/v1/accounts/tokens/${body.token_id}`)
    },
  },
  mintProjectToken: { action: 'token.create', prepare: async () => post(`${base}/cli-token`) },
  revokeProjectToken: {
    action: 'token.revoke',
    async prepare() {
      const { body } = await mint(`${base}/cli-token`)
      return () => app.request('DELETE', `${base}/cli-token/${body.token_id}`)
    },
  },
  createProject: { action: 'project.create', prepare: async () => post('/v1/projects', { name: 'another' }) },
  updateProject: {
    action: 'project.update',
    prepare: async () => () => app.request('PATCH', base, { body: { settings: { manifest_gate: 'on' } } }),
  },
  deleteProject: {
    action: 'project.delete',
    async prepare() {
      const { project_id } = await freshProject()
      return () => app.request('DELETE', `/v1/projects/${project_id}`)
    },
  },
  restoreProject: {
    action: 'project.restore',
    async prepare() {
      const { project_id } = await freshProject()
      await app.request('DELETE', `/v1/projects/${project_id}`)
      return () => app.request('POST', `/v1/projects/${project_id}/restore`)
    },
  },
  setSecret: {
    action: 'secret.set',
    prepare: async () => post(`${base}/secrets`, { name: 'A', value: 'canary-value' }),
  },
  deleteSecret: {
    action: 'secret.delete',
    async prepare() {
      await post(`${base}/secrets`, { name: 'B', value: 'canary-value' })()
      return () => app.request('DELETE', `${base}/secrets/B`)
    },
  },
  createSession: { action: 'session.create', prepare: async () => post(app.path(), {}) },
  updateSession: {
    action: 'session.update',
    async prepare() {
      const path = await freshSession()
      return () => app.request('PATCH', path, { body: { name: 'renamed' } })
    },
  },
  stopSession: { action: 'session.stop', prepare: async () => post(`${await freshSession()}/stop`) },
  refreshSession: {
    action: 'session.refresh',
    prepare: async () => post(`${app.path((await app.running()).session_id)}/refresh`),
  },
  restartSession: { action: 'session.restart', prepare: async () => post(`${await freshSession()}/restart`) },
  deleteSession: {
    action: 'session.delete',
    async prepare() {
      const path = await freshSession()
      return () => app.request('DELETE', path)
    },
  },
  ...promptChanges(() => app, freshSession),
  abortSession: { action: 'session.abort', prepare: async () => post(`${await freshSession()}/abort`) },
  answerQuestion: answerQuestion(() => app, freshSession),
  saveUnfinishedWork: { action: 'session.save', prepare: async () => post(`${await freshSession()}/wip`) },
  recoverUnfinishedWork: {
    action: 'session.recover',
    async prepare() {
      const path = await freshSession()
      const saved = await commit(app.repo, `saved-${randomUUID()}`, { 'saved.txt': 'a\n' })
      await upsertWip(app.deps.db, {
        session_id: path.split('/').at(-1)!,
        ...{ generation: 1, commit_sha: saved, base_sha: null, files: 1, unpushed_commits: 0 },
        ...{ recovered_at: null, recovered_into: null },
      })
      return post(`${path}/wip/recover`)
    },
  },
  settleUnfinishedWork: {
    action: 'session.recovered',
    prepare: async () => post(`${await freshSession()}/wip/recovered`, { commit: 'c'.repeat(40) }),
  },
  openChangeRequest: {
    action: 'change_request.open',
    async prepare() {
      const branch = `work-${randomUUID()}`
      await commit(app.repo, branch, { [branch]: 'a\n' })
      return post(`${base}/change-requests`, { title: 'A title', head_ref: branch })
    },
  },
  ...fileChanges(() => app),
  editChangeRequest: {
    action: 'change_request.edit',
    async prepare() {
      const path = await openChangeRequest()
      return () => app.request('PATCH', path, { body: { title: 'Another title' } })
    },
  },
  mergeChangeRequest: {
    action: 'change_request.merge',
    prepare: async () => post(`${await openChangeRequest()}/merge`),
  },
  closeChangeRequest: {
    action: 'change_request.close',
    prepare: async () => post(`${await openChangeRequest()}/close`),
  },
  reopenChangeRequest: {
    action: 'change_request.reopen',
    async prepare() {
      const path = await openChangeRequest()
      await post(`${path}/close`)()
      return post(`${path}/reopen`)
    },
  },
  openPullRequest: pullRequest(() => app),
  rerunChecks: rerunChecks(() => app, openChangeRequest),
  createReview: {
    action: 'change_request.review',
    prepare: async () =>
      post(`${await openChangeRequest()}/reviews`, { head_sha: 'a'.repeat(40), body: 'Fine.', send: false }),
  },
  answerComment: {
    action: 'change_request.answer_comment',
    prepare: async () => post(`${await reviewedComment()}/answer`, { outcome: 'declined', text: 'No.' }),
  },
  applySuggestions: applySuggestions(() => app, openChangeRequest),
  replyToComment: {
    action: 'change_request.reply_to_comment',
    prepare: async () => post(`${await reviewedComment()}/replies`, { text: 'canary-value' }),
  },
  resolveComment: {
    action: 'change_request.resolve_comment',
    async prepare() {
      const path = await reviewedComment()
      return () => app.request('PATCH', path, { body: { resolved: true } })
    },
  },
  fireTrigger: { action: 'session.create', prepare: async () => post(`${await trigger(true)}/fire`, {}) },
  enableTrigger: {
    action: 'change_request.open',
    also: ['change_request.merge'],
    prepare: async () => post(`${await trigger(false)}/enable`),
  },
  disableTrigger: {
    action: 'change_request.open',
    also: ['change_request.merge'],
    prepare: async () => post(`${await trigger(true)}/disable`),
  },
  connectChannel: { action: 'channel.connect', prepare: async () => post(`${base}/channels`, chat()) },
  editChannel: {
    action: 'channel.edit',
    async prepare() {
      const path = await channel()
      return () => app.request('PATCH', path, { body: { allow_unlinked: true } })
    },
  },
  testChannel: { action: 'channel.test', prepare: async () => post(`${await channel()}/test`) },
  disconnectChannel: {
    action: 'channel.disconnect',
    async prepare() {
      const path = await channel()
      return () => app.request('DELETE', path)
    },
  },
  claimLinkCode: {
    action: 'channel_link.claim',
    prepare: async () => post('/v1/channel-links/claim', { code: await chatCode() }),
  },
  linkChatUser: {
    action: 'channel_link.create',
    async prepare() {
      const code = await chatCode()
      await post('/v1/channel-links/claim', { code })()
      return post('/v1/channel-links', { code })
    },
  },
  unlinkChatUser: {
    action: 'channel_link.delete',
    async prepare() {
      const code = await chatCode()
      await post('/v1/channel-links/claim', { code })()
      const made = (await post('/v1/channel-links', { code })()) as TestReply<{ link_id: string }>
      return () => app.request('DELETE', `/v1/channel-links/${made.body.link_id}`)
    },
  },
  createWebhook: {
    action: 'webhook.create',
    prepare: async () =>
      post(`${base}/webhooks`, { url: 'http://127.0.0.1:9/canary-value', secret: 'canary-value-1234' }),
  },
  updateWebhook: {
    action: 'webhook.update',
    async prepare() {
      const path = await webhook()
      return () => app.request('PATCH', path, { body: { paused: true, rotate_secret: true } })
    },
  },
  deleteWebhook: {
    action: 'webhook.delete',
    async prepare() {
      const path = await webhook()
      return () => app.request('DELETE', path)
    },
  },
  rotateHostWebhook: { action: 'host_webhook.rotate', prepare: async () => post(`${base}/host-webhook/rotate`) },
  pingWebhook: { action: 'webhook.ping', prepare: async () => post(`${await webhook()}/ping`) },
  redeliver: {
    action: 'webhook.redeliver',
    async prepare() {
      const path = await webhook()
      const { body } = await app.request<{ delivery_id: string }>('POST', `${path}/ping`)
      return post(`${path}/deliveries/${body.delivery_id}/redeliver`)
    },
  },
  deployApp: { action: 'app.deploy', prepare: async () => post(`${await deployedApp()}/deploy`) },
  stopApp: { action: 'app.stop', prepare: async () => post(`${await deployedApp()}/stop`) },
  rollbackApp: {
    action: 'app.rollback',
    async prepare() {
      await deployedApp()
      return post(`${await deployedApp()}/rollback`, {})
    },
  },
}

async function reviewedComment(): Promise<string> {
  const path = `${await openChangeRequest()}/reviews`
  const body = { head_sha: 'a'.repeat(40), body: 'Fine.', send: false }
  const { thread } = (await app.request<Review>('POST', path, { body })).body
  return `${path}/comments/${thread!.comment_id}`
}

async function channel(): Promise<string> {
  const made = (await post(`${base}/channels`, chat())()) as TestReply<{ channel_id: string }>
  return `${base}/channels/${made.body.channel_id}`
}

async function chatCode(): Promise<string> {
  const channelId = (await channel()).split('/').at(-1)!
  const row = (await getChannel(app.deps.db, channelId))!
  return makeLinkCode(app.deps, row, { workspaceId: 'T0ACME', chatUserId: 'U0ADA', name: 'Ada', email: null })
}

async function webhook(): Promise<string> {
  const made = await app.request<{ webhook_id: string }>('POST', `${base}/webhooks`, {
    body: { url: 'http://127.0.0.1:9/canary-value' },
  })
  return `${base}/webhooks/${made.body.webhook_id}`
}

/** Reads with POST, because their input is long, and what only the caller sees. */
const changesNothing = [
  ...['validateManifest', 'readInvitation', 'dismissNotices'],
  ...['putAwayInboxItem', 'restoreInboxItem', 'editReviewState'],
]
/** They need several servers: fleet/moves/drain.test.ts and fleet/take-over.test.ts. */
const withServers = ['moveProject', 'cancelMove', 'drainServer', 'takeOverServer']

async function trigger(enabled: boolean): Promise<string> {
  const entry = `slug = "nightly"\ntype = "cron"\ncron = "0 3 * * *"\nprompt = "Go."\nenabled = ${enabled}\n`
  await commit(app.repo, 'main', { 'svc.toml': `[[triggers]]\n${entry}` })
  return `${base}/triggers/nightly`
}

const deployedApp = () => deployed(app)

const countAudit = async () =>
  (await app.deps.db.selectFrom('audit_events').select('event_id').orderBy('event_id').execute()).length

describe('auditing every change', () => {
  test('this test lists every route that changes something', () => {
    const mutating = routes
      .filter((route) => route.method !== 'GET' && ![...changesNothing, ...withServers].includes(route.name))
      .map((route) => route.name)
    expect(Object.keys(changes).toSorted()).toEqual(mutating.toSorted())
  })

  test.each(Object.entries(changes))(
    '%s writes exactly one audit row with the actor, the change and the request',
    async (_, change) => {
      const act = await change.prepare()
      const before = await countAudit()
      const reply = await act()
      expect([reply.status < 300, reply.text.slice(0, 300)]).toEqual([true, expect.any(String)])
      const actions = [change.action, ...(change.also ?? [])]
      expect((await countAudit()) - before).toBe(actions.length)
      const rows = await app.deps.db
        .selectFrom('audit_events')
        .selectAll()
        .where('request_id', '=', reply.headers.get('x-request-id'))
        .orderBy('event_id')
        .execute()
      expect(rows).toMatchObject(
        actions.map((action) => ({ action, actor_kind: 'user', actor_user_id: app.owner.user_id })),
      )
      expect(rows[0]!.object_id).not.toBe('')
      expect(rows[0]!.address).not.toBeNull()
      for (const kept of ['svc_pat_', 'svc_sbx_', 'canary-value']) expect(JSON.stringify(rows)).not.toContain(kept)
    },
  )
})

test("attributes an agent's change to the agent and its session", async () => {
  const session = await app.running()
  const token = session.env.SVC_CLI_TOKEN!
  const reply = await app.request('PATCH', app.path(session.session_id), { token, body: { name: 'by the agent' } })
  const rows = await app.deps.db
    .selectFrom('audit_events')
    .select(['actor_kind', 'session_id', 'token_id', 'before', 'after'])
    .where('request_id', '=', reply.headers.get('x-request-id'))
    .execute()
  expect(rows).toMatchObject([
    {
      actor_kind: 'agent',
      session_id: session.session_id,
      before: { name: session.name },
      after: { name: 'by the agent' },
    },
  ])
  expect(rows[0]!.token_id).not.toBeNull()
})

test('attributes a change by an unbound project token to the project, and records a repeated request once', async () => {
  const token = await insertToken(app, { project_id: app.project.project_id })
  const before = await countAudit()
  const ask = () => app.request('POST', app.path(), { token, body: {}, headers: { 'idempotency-key': 'audited-once' } })
  const [first, again] = [await ask(), await ask()]
  expect([first.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
  expect((await countAudit()) - before).toBe(1)
  const row = await app.deps.db.selectFrom('audit_events').selectAll().orderBy('event_id', 'desc').executeTakeFirst()
  expect(row).toMatchObject({ actor_kind: 'project', session_id: null, action: 'session.create' })
})

test('a refused request, or one that changes nothing, writes no audit row', async () => {
  const session = await app.running()
  const before = await countAudit()
  await app.request('PATCH', app.path(session.session_id), { body: { name: '' } })
  await app.request('PATCH', app.path(randomUUID()), { body: { name: 'x' } })
  await app.request('DELETE', `${base}/secrets/NOT_THERE`)
  await app.request('POST', '/v1/sign-in', { token: null, body: { code: 'wrong' }, headers: fromOurPage() })
  await app.request('POST', '/v1/sign-out', { token: null, headers: fromOurPage() })
  await app.request('POST', `${base}/secrets`, { body: { name: 'SVC_X', value: 'x' } })
  expect(await countAudit()).toBe(before)
})
