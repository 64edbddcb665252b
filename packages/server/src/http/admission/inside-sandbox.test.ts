/** Sends each route through a sandbox's relay. A route that is not listed here has to be refused there. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { routes } from '@svc/contract/openapi'
import { buildApp } from '../../app.ts'
import { startDashboardSession } from '../../auth/dashboard-session.ts'
import { Listener } from '../../listen.ts'
import { makeTestApp, type TestApp } from '../../testing.ts'

const open = new Set([
  ...['getHealth', 'getReady', 'whoAmI', 'listProjectTokens', 'mintProjectToken', 'revokeProjectToken'],
  ...['getCloneCredential', 'getProject', 'validateManifest', 'compareRefs', 'getFile', 'listBranches', 'listCommits'],
  ...[
    'listTree',
    'blameFile',
    'listPaths',
    'searchFiles',
    'deleteSecret',
    'listSecrets',
    'setSecret',
    'abortSession',
    'createSession',
    'deleteSession',
  ],
  ...[
    'getSession',
    'getSessionChanges',
    'getSessionFiles',
    'getTimeline',
    'getTranscript',
    ...['listPrompts', 'cancelPrompt'],
    'getAttachment',
    'listSessions',
    'promptSession',
    'refreshSession',
    'restartSession',
    'stopSession',
  ],
  ...['streamSessionEvents', 'updateSession', 'projectUsage', 'sessionUsage', 'bundleUnfinishedWork'],
  ...['getUnfinishedWork', 'listUnfinishedWork', 'recoverUnfinishedWork', 'saveUnfinishedWork', 'settleUnfinishedWork'],
  ...['getPreview', 'listPorts', 'closeChangeRequest', 'diffChangeRequest', 'editChangeRequest', 'getChangeRequest'],
  ...['listChangeRequests', 'mergeChangeRequest', 'openChangeRequest', 'previewChangeRequest', 'reopenChangeRequest'],
  ...['verifyChangeRequest', 'getChecks', 'readCheckLog', 'rerunChecks', 'createReview', 'listReviews'],
  ...['answerComment', 'applySuggestions', 'replyToComment', 'resolveComment', 'getReviewState', 'editReviewState'],
  ...['listChangeRequestVersions', 'getReadingGuide', 'getChangeRequestOrigins'],
  ...['disableTrigger', 'enableTrigger', 'fireTrigger', 'getTrigger', 'listTriggers', 'streamProjectEvents'],
  ...['getChannel', 'listChannels', 'deployApp', 'getApp', 'listApps', 'openApp', 'readAppLogs', 'rollbackApp'],
  ...['stopApp', 'checkConnector', 'decideConnectorApproval', 'getConnector', 'listConnectorApprovals'],
  ...['listConnectors', 'setConnectorPolicy', 'getPullRequest', 'openPullRequest', 'listModels', 'listQuestions'],
])

let app: TestApp
let socketPath: string
let projectId: string
let bound: string
const relay = new Listener({ fromSandbox: true })
beforeAll(async () => {
  app = await makeTestApp()
  const { project } = await app.managedProject()
  projectId = project.project_id
  bound = (await app.makeSession(project)).token
  const served = buildApp(app.deps)
  socketPath = join(app.deps.config.dataDir, 'relay-under-test.sock')
  await relay.onSocket(socketPath)
  relay.answerWith((request, env) => served.fetch(request, env))
}, 120_000)
afterAll(async () => {
  await relay.close()
  await app.close()
})

interface Answer {
  status: number
  text: string
}

function send(method: string, path: string, headers: Record<string, string>, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const all = { host: '127.0.0.1:61080', ...(body ? { 'content-type': 'application/json' } : {}), ...headers }
    const sent = httpRequest({ socketPath, method, path, headers: all }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const refusal = 'does not answer inside a sandbox'
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('routes inside a sandbox', () => {
  test.each(routes.map((route) => [route.name, route] as const))(
    'refuses %s inside a sandbox, unless it is listed',
    async (name, route) => {
      // For another project, so that nothing is created or deleted; listed routes get past the refusal.
      const path = route.path.replaceAll(/:[A-Za-z]+/g, () => randomUUID())
      for (const headers of [bearer(bound), bearer(app.ownerToken), {}]) {
        const { status, text } = await send(route.method, path, headers, route.body === null ? undefined : {})
        const isRefused = status === 403 && text.includes(refusal)
        expect([name, isRefused]).toEqual([name, !open.has(name)])
      }
    },
  )

  test('lists only routes that exist', () => {
    const names = new Set(routes.map(({ name }) => name))
    expect([...open].filter((name) => !names.has(name))).toEqual([])
  })
})

test.each([
  ...['/', '/sign-in', '/sign-in/oidc', '/sign-in/oidc/callback?code=x', '/authorize', '/projects', '/account/profile'],
  ...[
    '/assets/x.js',
    '/install',
    '/install/SHA256SUMS',
    '/v1/nothing',
    '/v1//sign-in',
    '/v1/sign-in/',
    '/v1/%73ign-in',
  ],
  ...['/v1/channels/slack/x/events', '/v1/projects/x/host-webhook'],
])('refuses %s inside a sandbox', async (path) => {
  for (const method of ['GET', 'POST'])
    expect(await send(method, path, bearer(app.ownerToken))).toMatchObject({
      status: 403,
      text: expect.stringContaining(refusal),
    })
})

test('an agent cannot lock out the owner: 104 failed sign-ins inside a sandbox do not count', async () => {
  // The agent poses as the dashboard: its relay is the host it calls.
  const origin = { origin: 'http://127.0.0.1:61080' }
  const body = { email: 'owner@example.test', password: 'a wrong password' }
  const answers = await Promise.all(
    Array.from({ length: 104 }, () => send('POST', '/v1/sign-in/password', origin, body)),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]))
  expect(await app.deps.db.selectFrom('sign_in_limits').selectAll().execute()).toEqual([])
})

test('refuses a dashboard cookie inside a sandbox', async () => {
  const cookie = (await startDashboardSession(app.deps, app.owner.user_id)).split(';')[0]!
  const answer = await send('GET', `/v1/projects/${projectId}`, { cookie })
  expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('Dashboard cookies are not accepted')])
})

test("answers git, models, tools and the agent's own project inside a sandbox", async () => {
  expect((await send('GET', `/v1/projects/${projectId}`, bearer(bound))).status).toBe(200)
  expect((await send('GET', '/v1/token', bearer(bound))).status).toBe(200)
  expect((await send('HEAD', '/v1/health', {})).status).toBe(200)
  const basic = Buffer.from(`x-access-token:${bound}`).toString('base64')
  const refs = `/v1/projects/${projectId}/git/info/refs?service=git-upload-pack`
  expect((await send('GET', refs, { authorization: `Basic ${basic}` })).status).toBe(200)
  for (const [method, path] of [
    ['GET', '/v1/llm/models'],
    ['POST', '/v1/mcp'],
    ['GET', '/v1/sandboxes/x/agent'],
    ['GET', '/v1/p/x/agent'],
    ['POST', '/v1/projects/x/triggers/y/webhook'],
  ] as const)
    expect((await send(method, path, {})).text).not.toContain(refusal)
})
