/** Changes for the test that counts audit rows: each prepares a request, and returns a function that sends it. */
import { randomUUID } from 'node:crypto'
import type { ChangeRequest, Project, Question, Review, Session } from '@svc/contract'
import { commit, makeRepo, serveGitHub } from '@svc/git/testing'
import { testProject } from '../change-requests/testing.ts'
import { insertRow } from '../db/rows.ts'
import { detectDefaultBranch } from '../projects/default-branch.ts'
import { getProject } from '../projects/store.ts'
import { type SessionApp, until } from '../sessions/testing.ts'
import type { TestApp, TestReply } from '../testing.ts'

interface Invited {
  invitation_id: string
  sign_in: { url: string }
}

export function memberChanges(app: () => TestApp) {
  const base = () => `/v1/accounts/${app().owner.account_id}`
  async function invited() {
    const headers = await app().browser()
    const body = { email: `${randomUUID()}@example.test` }
    return (await app().request<Invited>('POST', `${base()}/members`, { token: null, headers, body })).body
  }
  const post = (path: string, body?: object) => () => app().request('POST', path, { body })
  const inBrowser = async (path: string, body?: object) => {
    const headers = await app().browser()
    return () => app().request('POST', path, { token: null, headers, body })
  }
  return {
    createAccount: { action: 'account.create', prepare: async () => post('/v1/accounts', { name: 'Another team' }) },
    updateAccount: {
      action: 'account.update',
      prepare: async () => () => app().request('PATCH', base(), { body: { name: `A name ${randomUUID()}` } }),
    },
    addMember: {
      action: 'invitation.create',
      prepare: async () => post(`${base()}/members`, { email: `${randomUUID()}@example.test`, role: 'viewer' }),
    },
    changeRole: {
      action: 'member.role',
      async prepare() {
        const { user_id } = await app().makeUser('member')
        return () => app().request('PATCH', `${base()}/members/${user_id}`, { body: { role: 'admin' } })
      },
    },
    removeMember: {
      action: 'member.remove',
      async prepare() {
        const { user_id } = await app().makeUser('member')
        return () => app().request('DELETE', `${base()}/members/${user_id}`)
      },
    },
    linkInvitation: {
      action: 'invitation.link',
      prepare: async () => inBrowser(`${base()}/invitations/${(await invited()).invitation_id}/link`),
    },
    revokeInvitation: {
      action: 'invitation.revoke',
      async prepare() {
        const { invitation_id } = await invited()
        return () => app().request('DELETE', `${base()}/invitations/${invitation_id}`)
      },
    },
    acceptInvitation: {
      action: 'member.add',
      async prepare() {
        const other = await app().makeUser('owner', 'own')
        const { token } = other
        const me = await app().request<{ account: { account_id: string } }>('GET', '/v1/accounts/me', { token })
        const path = `/v1/accounts/${me.body.account.account_id}/members`
        const theirs = { token: null, headers: await app().browser(other.user_id) }
        const body = { email: `${randomUUID()}@example.test` }
        const code = (await app().request<Invited>('POST', path, { ...theirs, body })).body.sign_in.url.split('#')[1]!
        return inBrowser('/v1/invitations/accept', { code })
      },
    },
  }
}

export function connectorChanges(
  app: () => SessionApp,
): Record<string, { action: string; prepare(): Promise<() => Promise<TestReply<unknown>>> }> {
  const base = () => `/v1/projects/${app().project.project_id}`
  async function connector(): Promise<string> {
    const entry = `slug = "shop"\ntype = "http"\nurl = "https://api.example.com/"\n`
    await commit(app().repo, 'main', { 'svc.toml': `[[connectors]]\n${entry}` })
    return `${base()}/connectors/shop`
  }
  async function question(): Promise<string> {
    const approval_id = randomUUID()
    await insertRow(app().deps.db, 'connector_approvals', {
      ...{ approval_id, project_id: app().project.project_id, session_id: null, slug: 'shop', tool: 'request' },
      url: 'https://api.example.com/',
      arguments: '{"path":"canary-value"}',
      arguments_sha256: Buffer.alloc(32),
      ...{ created_at: new Date(), expires_at: new Date(Date.now() + 600_000) },
    })
    return `${base()}/connector-approvals/${approval_id}`
  }
  /** Sends this once the object that `make` returns the path of is there. */
  const act = (action: string, make: () => Promise<string>, method: string, verb: string, body?: object) => ({
    action,
    async prepare() {
      const path = await make()
      return () => app().request(method, `${path}/${verb}`, { body })
    },
  })
  return {
    checkConnector: act('connector.check', connector, 'POST', 'check'),
    setConnectorPolicy: act('connector.policy', connector, 'PATCH', 'policies', { policy: 'block' }),
    decideConnectorApproval: act('connector.deny', question, 'POST', 'decide', { decision: 'deny' }),
  }
}

/** The test server's environment sets a model, which takes precedence, so it is removed during each change. */
export function modelUpstreamActs(app: () => TestApp) {
  const path = '/v1/models/upstream'
  const withoutEnvironment = async (method: 'PUT' | 'DELETE') => {
    const upstream = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json({ choices: [] }) })
    const { config } = app().deps
    const { model } = config
    config.model = null
    const body = { url: `http://127.0.0.1:${upstream.port}/v1`, key: 'canary-value-of-a-model', models: ['m'] }
    try {
      return await app().request(method, path, method === 'PUT' ? { body } : {})
    } finally {
      config.model = model
      await upstream.stop(true)
    }
  }
  return {
    setModelUpstream: { action: 'model_upstream.set', prepare: async () => () => withoutEnvironment('PUT') },
    clearModelUpstream: {
      action: 'model_upstream.clear',
      async prepare() {
        await withoutEnvironment('PUT')
        return () => withoutEnvironment('DELETE')
      },
    },
  }
}

export const answerQuestion = (app: () => SessionApp, freshSession: () => Promise<string>) => ({
  action: 'session.answer',
  async prepare() {
    const path = await freshSession()
    const { sandbox } = (await app().request<Session>('GET', path)).body
    void app()
      .driver.questions(sandbox!.sandbox_id)
      .askPermission({ permission: 'bash', patterns: ['date'] })
    const asked = await until('the question is there', async () => {
      const { body } = await app().request<{ questions: Question[] }>('GET', `${path}/questions`)
      return body.questions[0] ?? null
    })
    return () => app().request('POST', `${path}/questions/${asked.question_id}/answer`, { body: { answer: 'once' } })
  },
})

export const fileChanges = (app: () => SessionApp) => ({
  proposeFile: {
    action: 'change_request.open',
    async prepare() {
      const file = `/v1/projects/${app().project.project_id}/file`
      const path = `file-${randomUUID()}`
      await commit(app().repo, 'main', { [path]: 'a\n' })
      const { body } = await app().request<{ blob_sha: string }>('GET', `${file}?path=${path}`)
      return () => app().request('POST', file, { body: { path, blob_sha: body.blob_sha, content: 'b\n' } })
    },
  },
  createFirstCommit: {
    action: 'project.first_commit',
    async prepare() {
      const { body: empty } = await app().request<Project>('POST', '/v1/projects', { body: { name: 'empty' } })
      return () => app().request('POST', `/v1/projects/${empty.project_id}/first-commit`, { body: {} })
    },
  },
})

/** A pull request on a host that is closed after the pull request was opened. */
export const pullRequest = (app: () => TestApp) => ({
  action: 'change_request.pull_request',
  async prepare() {
    const repo = await makeRepo({ main: { a: '1' } })
    const host = await serveGitHub(repo.dir)
    host.tokens.set('of-the-project', 'both')
    app().deps.config.github.apis[host.host] = host.apiUrl
    const body = { repo_url: host.repoUrl, git_token: 'of-the-project' }
    const { body: project } = await app().request<Project>('POST', '/v1/projects', { body })
    const at = testProject(app(), { project, repo })
    const { cr_id } = await at.open('work', { b: '2' })
    return async () => {
      const reply = await app().request('POST', at.path(cr_id, 'pull-request'))
      await host.close()
      await repo.remove()
      return reply
    }
  },
})

export const rerunChecks = (app: () => SessionApp, open: () => Promise<string>) => ({
  action: 'check.rerun',
  async prepare() {
    const { repo, deps, project, request } = app()
    await commit(repo, 'main', { 'svc.toml': '[[checks]]\nname = "unit"\ncommand = "true"\n' })
    await detectDefaultBranch(deps, (await getProject(deps.db, project.project_id))!)
    const path = `${await open()}/checks/rerun`
    return () => request('POST', path, { body: {} })
  },
})

export const applySuggestions = (app: () => SessionApp, open: () => Promise<string>) => ({
  action: 'change_request.apply_suggestions',
  async prepare() {
    const path = await open()
    const { request } = app()
    const { body: found } = await request<{ change_request: ChangeRequest }>('GET', path)
    const { head_commit_sha: head_sha, head_ref } = found.change_request
    const comments = [{ path: head_ref, side: 'new', line: 1, text: '```suggestion\nb\n```' }]
    const { body } = await request<Review>('POST', `${path}/reviews`, { body: { head_sha, send: false, comments } })
    const comment_ids = body.comments.map(({ comment_id }) => comment_id)
    return () => request('POST', `${path}/suggestions/apply`, { body: { comment_ids, expected_head_sha: head_sha } })
  },
})

export const capAccountUsage = (app: () => TestApp) => ({
  action: 'account.cap',
  prepare: async () => () =>
    app().request('PATCH', `/v1/accounts/${app().owner.account_id}/usage`, { body: { model_tokens_per_month: null } }),
})

export const promptChanges = (app: () => SessionApp, freshSession: () => Promise<string>) => ({
  promptSession: {
    action: 'session.prompt',
    async prepare() {
      const path = await freshSession()
      return () => app().request('POST', `${path}/prompt`, { body: { text: 'hello' } })
    },
  },
  cancelPrompt: {
    action: 'session.cancel_prompt',
    async prepare() {
      const { options } = app().driver
      options.bootMs = 60_000
      const { body: session } = await app().create()
      const sent = { body: { text: 'never mind' } }
      const { body } = await app().request<{ prompt_id: string }>(
        'POST',
        app().path(session.session_id, 'prompt'),
        sent,
      )
      return async () => {
        const reply = await app().request('DELETE', app().path(session.session_id, `prompts/${body.prompt_id}`))
        // The sandbox begins to boot after the session is created.
        delete options.bootMs
        return reply
      }
    },
  },
})
