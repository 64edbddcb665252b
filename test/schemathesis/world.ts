/** A real server with the fake sandbox driver on loopback, and one object of each kind for generated requests. */
import { randomUUID } from 'node:crypto'
import type { ChangeRequest, MintedToken, Project, Prompt, Question } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { jobs } from '../../packages/server/src/scheduler/jobs.ts'
import { runJobs } from '../../packages/server/src/scheduler/loop.ts'
import { buildApp } from '../../packages/server/src/app.ts'
import { startSlack } from '../../packages/server/src/channels/slack/testing-slack.ts'
import { Listener } from '../../packages/server/src/listen.ts'
import { makeSessionApp, type SessionApp, until } from '../../packages/server/src/sessions/testing.ts'

export interface World {
  url: string
  token: string
  /** Ids of real objects, by the name of the path parameter. */
  ids: Record<string, string[]>
  /** Existing values, by the place that takes them. */
  fields: Record<string, (string | number)[]>
  /** Slugs, by the part of the path before them. */
  slugs: Record<string, string[]>
  /** Ids for an operation that deletes: objects that no other request needs. */
  spare: Record<string, Record<string, string[]>>
  close(): Promise<void>
}

const manifest = `svc_version = 1
[[triggers]]
slug = "nightly"
type = "cron"
cron = "0 3 * * *"
prompt = "Tidy up"
[[apps]]
slug = "site"
static_dir = "public"
[[connectors]]
slug = "shop"
type = "http"
url = "https://api.example.com/"
[[checks]]
name = "unit"
command = "true"
`
const files = { 'README.md': 'hello\n', 'svc.toml': manifest, 'public/index.html': '<p>hello</p>\n' }
/** Generated requests start sessions; past this number the cap refuses them. */
const sessionLimit = 8
const spareCount = 3

export async function makeWorld(): Promise<World> {
  const slack = startSlack()
  const app = await makeSessionApp({ files, configure: { slackApiUrl: slack.apiUrl, sessionLimit } })
  const listener = new Listener({ fromSandbox: false })
  const served = buildApp(app.deps)
  listener.answerWith((request, env) => served.fetch(request, env))
  const port = await listener.onPort('127.0.0.1', 0)
  const stopping = new AbortController()
  const working = runJobs(jobs(app.deps), stopping.signal, app.deps)
  return {
    url: `http://127.0.0.1:${port}`,
    token: app.ownerToken,
    ids: await objects(app),
    fields: {
      'body.head_ref': ['one', 'two', 'three', 'main'],
      'body.base_ref': ['main', 'one'],
      'query.ref': ['main', 'one'],
      'query.base': ['main'],
      'query.head': ['one', 'two'],
      'query.path': ['README.md', 'public'],
      'query.number': [1, 2],
    },
    slugs: { triggers: ['nightly'], apps: ['site'], connectors: ['shop'], secrets: ['API_KEY'] },
    spare: await spares(app),
    async close() {
      stopping.abort()
      await working
      await listener.close()
      await app.close()
      await slack.close()
    },
  }
}

async function objects(app: SessionApp): Promise<Record<string, string[]>> {
  const { session_id } = await app.running()
  const idle = await app.running()
  await app.request('POST', app.path(idle.session_id, 'stop'))
  return {
    projectId: [app.project.project_id],
    accountId: [app.owner.account_id],
    sessionId: [session_id, idle.session_id],
    crId: await Promise.all(['one', 'two', 'three'].map((branch) => openChange(app, branch, session_id))),
    webhookId: [await webhook(app)],
    questionId: [await question(app, session_id)],
    attachmentId: [await attachment(app, session_id)],
  }
}

async function openChange(app: SessionApp, branch: string, session_id: string): Promise<string> {
  await commit(app.repo, branch, { ...files, [branch]: `${branch}\n` })
  const body = { title: branch, head_ref: branch, session_id }
  const path = `/v1/projects/${app.project.project_id}/change-requests`
  return made(await app.request<ChangeRequest>('POST', path, { body })).cr_id
}

async function attachment(app: SessionApp, sessionId: string): Promise<string> {
  const attachments = [{ name: 'notes.txt', content_base64: btoa('notes') }]
  await app.request('POST', app.path(sessionId, 'prompt'), { body: { text: 'Read.', attachments } })
  const { body } = await app.request<{ prompts: Prompt[] }>('GET', app.path(sessionId, 'prompts'))
  return body.prompts[0]!.attachments[0]!.attachment_id
}

async function question(app: SessionApp, sessionId: string): Promise<string> {
  const { sandbox } = await app.session(sessionId)
  void app.driver.questions(sandbox!.sandbox_id).askPermission({ permission: 'bash', patterns: ['date'] })
  return until('the agent asks', async () => {
    const { body } = await app.request<{ questions: Question[] }>('GET', app.path(sessionId, 'questions'))
    return body.questions[0]?.question_id ?? null
  })
}

async function webhook(app: SessionApp): Promise<string> {
  const path = `/v1/projects/${app.project.project_id}/webhooks`
  const body = { url: 'http://127.0.0.1:9/hook', events: ['change_request.opened'] }
  return made(await app.request<{ webhook_id: string }>('POST', path, { body })).webhook_id
}

async function spares(app: SessionApp): Promise<World['spare']> {
  const { project_id } = app.project
  const each = <T>(make: () => Promise<T>) => Promise.all(Array.from({ length: spareCount }, make))
  const mint = (path: string) => app.request<MintedToken>('POST', path, { body: { name: 'spare' } })
  const users = await each(async () => (await app.makeUser('member')).user_id)
  const project = async () => made(await app.request<Project>('POST', '/v1/projects', { body: { name: 'spare' } }))
  return {
    deleteProject: { projectId: await each(async () => (await project()).project_id) },
    deleteSession: { sessionId: await each(async () => (await app.makeSession(app.project)).session_id) },
    revokeUserToken: { tokenId: await each(async () => made(await mint('/v1/accounts/tokens')).token_id) },
    revokeProjectToken: {
      tokenId: await each(async () => made(await mint(`/v1/projects/${project_id}/cli-token`)).token_id),
    },
    removeMember: { userId: users },
    changeRole: { userId: users },
    deleteWebhook: { webhookId: await each(() => webhook(app)) },
    endDashboardSession: { dashboardSessionId: await each(async () => randomUUID()) },
  }
}

function made<Body>(reply: { status: number; text: string; body: Body }): Body {
  if (reply.status !== 201) throw new Error(`The object was not created: ${reply.status} ${reply.text}`)
  return reply.body
}
