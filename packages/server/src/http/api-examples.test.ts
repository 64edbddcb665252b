/** Sends the examples of the API document to a server, and every read besides, and validates each answer against the document. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ChangeRequest, Question, Review, Route, Webhook } from '@svc/contract'
import { openApiDocument, routes } from '@svc/contract/openapi'
import { commit } from '@svc/git/testing'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { startSlack } from '../channels/slack/testing-slack.ts'
import { makeSessionApp, type SessionApp, until } from '../sessions/testing.ts'
import type { TestReply } from '../testing.ts'

const manifest = `svc_version = 1
[[triggers]]
slug = "nightly"
type = "cron"
cron = "0 3 * * *"
prompt = "Tidy up"
[[apps]]
slug = "site"
static_dir = "src"
[[connectors]]
slug = "shop"
type = "http"
url = "https://api.example.com/"
[[checks]]
name = "unit"
command = "true"
`
const files = { 'README.md': 'hello\n', 'svc.toml': manifest, 'src/index.html': '<p>hello</p>\n' }

/** Routes that only a person in a browser may call. */
const inBrowser = ['setPassword', 'confirmSignIn', 'dismissNotices', 'approveCliLogin', 'signInWithPassword']
/** Reads of objects that this server does not have, or that have no end. */
const notSent = [
  ...['getAttachment', 'streamSessionEvents', 'streamProjectEvents', 'bundleUnfinishedWork', 'readCheckLog'],
  ...['getCloneCredential', 'verifyChangeRequest', 'streamInbox'],
]
/** The last ones, since they change what the others read. */
const last = ['setPassword', 'signInWithPassword', 'confirmSignIn', 'restartSession', 'mergeChangeRequest']

const sent = routes
  .filter((route) => (route.method === 'GET' || route.example !== null) && !notSent.includes(route.name))
  .map((route) => [route.name, route] as const)
  .toSorted(([a], [b]) => last.indexOf(a) - last.indexOf(b))

let app: SessionApp
let params: Record<string, string>
/** The id of a project whose repository has no commit. */
let empty: string
let browser: Record<string, string>
/** Bodies of examples with ids that exist here. */
const known: Record<string, object> = {}
const slack = startSlack()
const document = openApiDocument('1.2.3')
const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
ajv.addSchema(document, 'document')

beforeAll(async () => {
  const { bot_token, conversation_id } = exampleOf('connectChannel')
  slack.token = String(bot_token)
  slack.channels.set(String(conversation_id), { name: 'dev', is_member: true })
  const onFiles = () => ({ kind: 'file', git: 'committed', size: 6, content_base64: btoa('hello\n') })
  app = await makeSessionApp({ files, onFiles, configure: { slackApiUrl: slack.apiUrl, sessionLimit: 12 } })
  browser = await app.browser()
  await commit(app.repo, 'fix-build', { ...files, 'README.md': 'port 0\n' })
  await commit(app.repo, 'other', { ...files, 'src/login.ts': 'other\n' })
  const { session_id } = await app.running()
  const other = { title: 'Other', head_ref: 'other' }
  const { cr_id, head_commit_sha } = await post<ChangeRequest>('change-requests', other)
  const suggestion = { path: 'src/login.ts', side: 'new', line: 1, text: '```suggestion\nbetter\n```' }
  const suggesting = { head_sha: head_commit_sha, send: false, comments: [suggestion] }
  const suggested = await post<Review>(`change-requests/${cr_id}/reviews`, suggesting)
  known.applySuggestions = { comment_ids: [suggested.comments[0]!.comment_id], expected_head_sha: head_commit_sha }
  const review = exampleOf('createReview')
  params = {
    projectId: app.project.project_id,
    accountId: app.owner.account_id,
    userId: (await app.makeUser('member')).user_id,
    sessionId: session_id,
    name: 'API_KEY',
    questionId: await question(session_id),
    crId: cr_id,
    commentId: (await post<Review>(`change-requests/${cr_id}/reviews`, review)).comments[0]!.comment_id,
    channelId: (await post<{ channel_id: string }>('channels', exampleOf('connectChannel'))).channel_id,
    key: '',
    webhookId: (await post<Webhook>('webhooks', exampleOf('createWebhook'))).webhook_id,
  }
  empty = (await app.request<{ project_id: string }>('POST', '/v1/projects', { body: { name: 'empty' } })).body
    .project_id
  params.key = `change_request.${params.crId}`
}, 120_000)
afterAll(async () => {
  await app.close()
  await slack.close()
})

test.each(sent)('%s accepts its example and answers as documented', async (_, route) => {
  const reply = await send(route)
  expect([route.name, reply.status, reply.status === route.status ? '' : reply.text]).toEqual([
    route.name,
    route.status,
    '',
  ])
  expect([route.name, problems(route, reply)]).toEqual([route.name, []])
})

test.each([
  ['getFile', 'application/octet-stream', 'hello\n'],
  ['diffChangeRequest', 'text/x-diff', 'diff --git'],
  ['diffChangeRequest', 'application/x-ndjson', '{"patch":"diff --git'],
])('%s answers with the documented media type %s', async (name, type, text) => {
  const route = routes.find((each) => each.name === name)!
  const reply = await send(route, { accept: type })
  expect(route.replyTypes).toContain(type)
  expect([reply.status, reply.headers.get('content-type')?.split(';')[0]]).toEqual([200, type])
  expect(reply.text).toContain(text)
})

test('every body has an example, unless it needs a one-time code or an object that only a run creates', () => {
  const without = routes.filter(({ body, example }) => body !== null && example === null).map(({ name }) => name)
  expect(without.toSorted()).toEqual(
    [
      ...['signInWithOwnerLink', 'readInvitation', 'acceptInvitation', 'redeemCliLogin'],
      ...['claimLinkCode', 'linkChatUser', 'setModelUpstream', 'refreshSession', 'rollbackApp'],
      ...['moveProject', 'drainServer', 'takeOverServer'],
      'decideConnectorApproval',
    ].toSorted(),
  )
})

function exampleOf(name: string): Record<string, unknown> {
  return routes.find((route) => route.name === name)!.example!.body as Record<string, unknown>
}

async function send(route: Route, headers: Record<string, string> = {}): Promise<TestReply<unknown>> {
  const slug = /\/(triggers|apps|connectors)\//.exec(route.path)?.[1]
  const project = route.name === 'createFirstCommit' ? { projectId: empty } : {}
  const named = {
    ...params,
    ...project,
    slug: { triggers: 'nightly', apps: 'site', connectors: 'shop' }[slug ?? ''] ?? '',
  }
  const path = route.path.replaceAll(/:([A-Za-z]+)/g, (_, name: keyof typeof named) => named[name] ?? '')
  const query = new URLSearchParams(route.example?.query).toString()
  return app.request(route.method, query === '' ? path : `${path}?${query}`, {
    headers,
    ...(route.example?.body === undefined ? {} : { body: known[route.name] ?? route.example.body }),
    ...(inBrowser.includes(route.name) ? { token: null, headers: browser } : {}),
  })
}

/** How an answer differs from its schema in the document. */
function problems(route: Route, reply: TestReply<unknown>): string[] {
  const part = (text: string) => text.replaceAll('~', '~0').replaceAll('/', '~1')
  const path = part(route.path.replaceAll(/:([A-Za-z]+)/g, '{$1}'))
  const place = ['paths', path, route.method.toLowerCase(), 'responses', route.status, 'content']
  const pointer = [...place, part('application/json'), 'schema'].join('/')
  const validate = ajv.compile({ $ref: `document#/${pointer.replaceAll('{', '%7B').replaceAll('}', '%7D')}` })
  return validate(reply.body) ? [] : validate.errors!.map((error) => `${error.instancePath} ${error.message}`)
}

async function post<Body>(noun: string, body: object): Promise<Body> {
  const made = await app.request<Body>('POST', `/v1/projects/${app.project.project_id}/${noun}`, { body })
  if (made.status !== 201) throw new Error(`The object was not created: ${made.status} ${made.text}`)
  return made.body
}

async function question(sessionId: string): Promise<string> {
  const { sandbox } = await app.session(sessionId)
  void app.driver.questions(sandbox!.sandbox_id).askPermission({ permission: 'bash', patterns: ['date'] })
  return until('the agent asks', async () => {
    const { body } = await app.request<{ questions: Question[] }>('GET', app.path(sessionId, 'questions'))
    return body.questions[0]?.question_id ?? null
  })
}
