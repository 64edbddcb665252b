import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { ChangeRequest, ErrorBody, Message, Project, Session } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { gitText } from '../change-requests/testing.ts'
import type { TestReply } from '../testing.ts'
import { makeSessionApp, type SessionApp, testModel, until } from './testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp({
    files: { 'README.md': 'hello\n', '.svc/runtime/agents/reviewer.md': '# Reviews\n', 'svc.toml': '' },
  })
}, 120_000)
afterAll(() => app.close())

const promptsOf = (session: Pick<Session, 'sandbox'>) =>
  app.driver.seen(session.sandbox?.sandbox_id ?? '')?.prompts ?? []
const messages = async (sessionId: string) =>
  (await app.request<{ messages: Message[] }>('GET', app.path(sessionId, 'transcript'))).body.messages
const textsOf = (list: Message[]) =>
  list.map((message) => [message.role, message.parts.map((part) => ('text' in part ? part.text : '')).join('')])
const prompt = (sessionId: string, text: string, more: object = {}) =>
  app.request<{ prompt_id: string; status: string; code?: string }>('POST', app.path(sessionId, 'prompt'), {
    body: { text },
    ...more,
  })
const whoAmI = async (token: string) => (await app.request('GET', '/v1/token', { token })).status

describe('creating a session', () => {
  test('answers at once with the row after the branch exists', async () => {
    const { status, body } = await app.create({ name: 'mine', metadata: { a: [1] } })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      account_id: app.owner.account_id,
      project_id: app.project.project_id,
      name: 'mine',
      branch_name: body.session_id,
      base_ref: 'main',
      agent_name: 'build',
      model: null,
      error: null,
      created_by: app.owner.user_id,
      metadata: { a: [1] },
    })
    expect(['provisioning', 'running']).toContain(body.status)
    const [branch, main] = await Promise.all([
      gitText(app.repo, 'rev-parse', `refs/heads/${body.session_id}`),
      gitText(app.repo, 'rev-parse', 'refs/heads/main'),
    ])
    expect(branch).toBe(main)
    const running = await app.reaches(body.session_id, 'running')
    expect(running.sandbox).toMatchObject({ driver: 'fake', status: 'active', generation: 1 })
    const health = await app.request('GET', new URL(running.sandbox_url!).pathname + '/svc/health', { token: null })
    expect(health.body).toMatchObject({ daemon: 'ok', branch: body.session_id, generation: 1 })
  })

  test('takes its name from the first line of the prompt, and the requested base', async () => {
    const dev = await commit(app.repo, 'dev', { 'd.txt': 'd\n' })
    const { body } = await app.create({ initial_prompt: `  ${'Fix it '.repeat(20)}\nand more`, base_ref: ' dev ' })
    expect(body.base_ref).toBe('dev')
    expect(body.name).toMatch(/^Fix it .*…$/)
    expect(body.name.length).toBe(80)
    expect(await gitText(app.repo, 'rev-parse', `refs/heads/${body.session_id}`)).toBe(dev)
  })

  test('knows the built-in agents and those of the default branch, whatever its base is', async () => {
    for (const agent_name of ['build', 'plan', 'reviewer']) expect((await app.create({ agent_name })).status).toBe(201)
    await commit(app.repo, 'with-agent', { '.svc/runtime/agents/newcomer.md': 'x\n' })
    expect((await app.create({ agent_name: 'newcomer' })).body.code).toBe('agent_not_found')
    const onBranch = await app.create({ agent_name: 'newcomer', base_ref: 'with-agent' })
    expect(onBranch.body.code).toBe('agent_not_found')
    expect((await app.create({ agent_name: 'reviewer', base_ref: 'with-agent' })).status).toBe(201)
  })

  test.each([
    ['a base that is not there', { base_ref: 'nope' }, 'ref_not_found'],
    ['a commit for a base', { base_ref: '0'.repeat(40) }, 'ref_not_found'],
    ['an agent nobody knows', { agent_name: 'nobody' }, 'agent_not_found'],
    ['a path for an agent', { agent_name: '../../../etc/passwd' }, 'invalid'],
    ['an empty prompt', { initial_prompt: ' \n ' }, 'invalid'],
    ['a prompt with a NUL', { initial_prompt: 'a\0b' }, 'invalid'],
    ['a prompt of more than 120 KiB', { initial_prompt: 'é'.repeat(61_441) }, 'invalid'],
    ['an option for a model', { model: '--help me' }, 'invalid'],
    ['metadata of more than 16 KiB', { metadata: { a: 'x'.repeat(16 * 1024) } }, 'invalid'],
  ])('refuses %s with 400 and leaves no row, branch or audit row', async (_, body, code) => {
    const state = async () => [
      (await app.deps.db.selectFrom('project_sessions').select('session_id').execute()).length,
      await gitText(app.repo, 'for-each-ref', '--format=%(refname)'),
      (await app.deps.db.selectFrom('audit_events').select('event_id').execute()).length,
    ]
    const before = await state()
    const reply = await app.create(body)
    expect([reply.status, reply.body.code]).toEqual([400, code])
    expect(await state()).toEqual(before)
  })

  test('answers 400 with what to do for a repository without a commit', async () => {
    const { body: project } = await app.request<Project>('POST', '/v1/projects', { body: { name: 'empty' } })
    const reply = await app.request<ErrorBody>('POST', `/v1/projects/${project.project_id}/sessions`, { body: {} })
    expect([reply.status, reply.body.code]).toEqual([400, 'ref_not_found'])
    expect(reply.body.hint).toContain('svc ship')
  })

  test('records each step of the start', async () => {
    const session = await app.running()
    const reply = await app.request<{ phases: { name: string; ms: number | null; error: string | null }[] }>(
      'GET',
      app.path(session.session_id, 'timeline'),
    )
    expect(reply.body.phases.map((phase) => phase.name).slice(0, 3)).toEqual(['branch', 'prepare', 'sandbox'])
    for (const phase of reply.body.phases) expect(phase).toMatchObject({ ms: expect.any(Number), error: null })
  })
})

describe('the environment of a sandbox', () => {
  test('has exactly the variables of the specification and the secrets', async () => {
    const base = `/v1/projects/${app.project.project_id}`
    await app.request('POST', `${base}/secrets`, { body: { name: 'B_SECRET', value: 'b' } })
    await app.request('POST', `${base}/secrets`, { body: { name: 'A_SECRET', value: 'a\nb "c"' } })
    const { body: listed } = await app.request<{ revision: string }>('GET', `${base}/secrets`)
    const session = await app.running({
      initial_prompt: 'Say hello',
      model: `svc/${testModel.name}`,
      agent_name: 'plan',
    })
    const { env } = session
    expect(env).toEqual({
      A_SECRET: 'a\nb "c"',
      B_SECRET: 'b',
      SVC_PROJECT_ID: app.project.project_id,
      SVC_SESSION_ID: session.session_id,
      SVC_BRANCH_NAME: session.session_id,
      SVC_HEAD_REF: session.session_id,
      SVC_REPO_URL: `http://127.0.0.1:61080/v1/projects/${app.project.project_id}/git`,
      SVC_DEFAULT_BRANCH: 'main',
      SVC_BASE_REF: 'main',
      SVC_SERVICE_PORT: '8000',
      SVC_API_URL: 'http://127.0.0.1:61080/v1',
      SVC_AGENT_NAME: 'plan',
      SVC_RUNTIME_MODEL: `svc/${testModel.name}`,
      SVC_INITIAL_PROMPT: 'Say hello',
      SVC_BOOTSTRAP_RUNTIME_SESSION: '1',
      SVC_PROJECT_AUTO_CLONE: '1',
      SVC_PROJECT_SECRET_NAMES: 'A_SECRET,B_SECRET',
      SVC_PROJECT_SECRETS_REVISION: listed.revision,
      SVC_TOKEN: expect.stringMatching(/^svc_sbx_[0-9a-f]{64}$/),
      SVC_CLI_TOKEN: expect.stringMatching(/^svc_pat_/),
      SVC_EXECUTOR_TOKEN: env.SVC_CLI_TOKEN!,
      SVC_LLM_API_KEY: expect.stringMatching(/^svc_llm_/),
      SVC_LLM_BASE_URL: 'http://127.0.0.1:61080/v1/llm',
      SVC_ALT_API_KEY: env.SVC_LLM_API_KEY!,
      SVC_ALT_URL: 'http://127.0.0.1:61080/v1/llm',
      SVC_SANDBOX_GENERATION: '1',
      SVC_CONFIG_DIR: '.svc/runtime',
      SVC_RUNTIME_FREEZE_SECONDS: '60',
      SVC_RUNTIME_STOP_SECONDS: '600',
    })
    expect((await app.request('GET', '/v1/token', { token: env.SVC_CLI_TOKEN! })).body).toMatchObject({
      kind: 'project',
      session_id: session.session_id,
      project_id: app.project.project_id,
    })
  })

  test("has no prompt without one, and the server's model without an own one", async () => {
    const { env } = await app.running()
    expect(env.SVC_INITIAL_PROMPT).toBeUndefined()
    expect(env.SVC_BOOTSTRAP_RUNTIME_SESSION).toBeUndefined()
    expect(env.SVC_RUNTIME_MODEL).toBe(testModel.name)
  })

  test('ignores a stored secret with a reserved name', async () => {
    const row = await app.deps.db
      .selectFrom('projects')
      .selectAll()
      .where('project_id', '=', app.project.project_id)
      .executeTakeFirstOrThrow()
    for (const name of ['SVC_TOKEN', 'SVC_API_URL', 'SVC_SESSION_ID']) {
      const sealed = app.deps.keyring.seal({
        projectId: row.project_id,
        dataKey: row.data_key,
        aad: ['secret', name, 1],
        value: 'evil',
      })
      const values = { project_id: row.project_id, name, version: 1, sealed, value_bytes: 4 }
      await app.deps.db
        .insertInto('secrets')
        .values({ ...values, created_by: null })
        .execute()
    }
    const { env } = await app.running()
    expect(Object.values(env)).not.toContain('evil')
    await app.deps.db.deleteFrom('secrets').where('name', 'like', 'SVC%').execute()
  })
})

describe('sending a prompt', () => {
  test('reaches the agent once, and the transcript keeps prompt and answer after the session stopped', async () => {
    const session = await app.running()
    const { status, body } = await prompt(session.session_id, 'hello there')
    expect([status, body.status]).toEqual([202, 'delivered'])
    expect(promptsOf(session)).toMatchObject([
      { sandboxId: session.sandbox!.sandbox_id, text: 'hello there', promptId: body.prompt_id },
    ])
    const kept = await until('the answer is kept', async () => {
      const list = await messages(session.session_id)
      return list.length === 2 && list[1]!.completed_at !== null ? list : null
    })
    expect(textsOf(kept)).toEqual([
      ['user', 'hello there'],
      ['assistant', 'hello there'],
    ])
    await app.request('POST', app.path(session.session_id, 'stop'))
    expect(await messages(session.session_id)).toEqual(kept)
  })

  test('a prompt without a recorded delivery is sent again and runs once', async () => {
    const session = await app.running()
    const { body } = await prompt(session.session_id, 'only once')
    const where = app.deps.db.updateTable('session_prompts').where('prompt_id', '=', body.prompt_id)
    await where.set({ status: 'accepted', delivered_at: null }).execute()
    await Promise.all([1, 2, 3].map(() => app.deps.sessions.deliverPrompts(session.session_id)))
    expect(promptsOf(session).map((each) => each.text)).toEqual(['only once'])
    const row = await app.deps.db
      .selectFrom('session_prompts')
      .select('status')
      .where('prompt_id', '=', body.prompt_id)
      .executeTakeFirst()
    expect(row?.status).toBe('delivered')
  })

  test('prompts to a starting session wait and are delivered in order', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create()
    const accepted = [await prompt(body.session_id, 'first'), await prompt(body.session_id, 'second')]
    expect(accepted.map((reply) => [reply.status, reply.body.status])).toEqual([
      [202, 'accepted'],
      [202, 'accepted'],
    ])
    delete app.driver.options.bootMs
    const running = await app.reaches(body.session_id, 'running')
    await until('both are delivered', () => promptsOf(running).length === 2)
    expect(promptsOf(running).map((each) => each.text)).toEqual(['first', 'second'])
  })

  test('restarts a stopped session in a new sandbox', async () => {
    const session = await app.running()
    await app.request('POST', app.path(session.session_id, 'stop'))
    expect((await prompt(session.session_id, 'wake up')).status).toBe(202)
    const again = await app.reaches(session.session_id, 'running')
    expect(again.sandbox?.generation).toBe(2)
    await until('it is delivered', () => promptsOf(again).length === 1)
  })

  test('concurrent prompts to a stopped session start it once, and each is delivered once', async () => {
    const session = await app.running()
    await app.request('POST', app.path(session.session_id, 'stop'))
    const texts = Array.from({ length: 8 }, (_, n) => `prompt ${n}`)
    const replies = await Promise.all(texts.map((text) => prompt(session.session_id, text)))
    expect(replies.map((reply) => reply.status)).toEqual(texts.map(() => 202))
    const again = await app.reaches(session.session_id, 'running')
    expect(again.sandbox?.generation).toBe(2)
    await until('all are delivered', () => promptsOf(again).length === texts.length)
    expect(
      promptsOf(again)
        .map((each) => each.text)
        .toSorted(),
    ).toEqual(texts)
  })

  test('a repeated prompt with one key is one prompt', async () => {
    const session = await app.running()
    const headers = { 'idempotency-key': randomUUID() }
    const [one, two] = [
      await prompt(session.session_id, 'keyed', { headers }),
      await prompt(session.session_id, 'keyed', { headers }),
    ]
    expect(two.body.prompt_id).toBe(one.body.prompt_id)
    expect(promptsOf(session)).toHaveLength(1)
  })

  test.each([[''], [' \n'], ['a\0b'], ['x'.repeat(256 * 1024 + 1)]])('refuses invalid prompt %#', async (text) => {
    const session = await app.create()
    expect((await prompt(session.body.session_id, text)).status).toBe(400)
  })

  test('an abort ends the turn, and the transcript says so', async () => {
    app.driver.options.onPrompt = () => new Promise<string>(() => {})
    const session = await app.running()
    await prompt(session.session_id, 'take for ever')
    await until('the agent is at work', () => app.deps.sessions.turnOf(session.session_id) === 'busy')
    await until('the turn has begun', async () => (await messages(session.session_id)).length === 2)
    expect((await app.request('POST', app.path(session.session_id, 'abort'))).body).toEqual({ ok: true })
    await until('the turn is over', () => app.deps.sessions.turnOf(session.session_id) === 'idle')
    delete app.driver.options.onPrompt
    const stopped = async () => (await messages(session.session_id)).at(-1)?.error_code === 'aborted'
    await until('the answer says that it was stopped', stopped)
    await app.request('POST', app.path(session.session_id, 'stop'))
    expect((await app.request('POST', app.path(session.session_id, 'abort'))).status).toBe(409)
    // As a server of an earlier version stored it.
    const rows = app.deps.db.updateTable('session_messages').where('session_id', '=', session.session_id)
    await rows.set({ error_code: null }).execute()
    expect(await stopped()).toBe(true)
  })
})

describe('stopping a session', () => {
  test('ends the sandbox and every credential before it answers, and keeps the branch', async () => {
    const session = await app.running()
    const { env } = session
    const reply = await app.request<Session>('POST', app.path(session.session_id, 'stop'))
    expect([reply.status, reply.body.status, reply.body.error]).toEqual([200, 'stopped', null])
    expect(reply.body.sandbox?.status).toBe('stopped')
    expect(reply.body.sandbox_url).toBeNull()
    expect(await app.driver.find(session.sandbox!.sandbox_id)).toBeNull()
    expect(await whoAmI(env.SVC_CLI_TOKEN!)).toBe(401)
    const clone = `/v1/projects/${app.project.project_id}/git/clone-credential`
    expect((await app.request('GET', clone, { token: env.SVC_TOKEN! })).status).toBe(401)
    expect((await app.request('GET', '/v1/llm/models', { token: env.SVC_LLM_API_KEY! })).status).toBe(401)
    expect(await gitText(app.repo, 'rev-parse', `refs/heads/${session.branch_name}`)).toMatch(/^[0-9a-f]{40}$/)
  })

  test('stopping again changes nothing', async () => {
    const session = await app.running()
    const first = await app.request<Session>('POST', app.path(session.session_id, 'stop'))
    const again = await app.request<Session>('POST', app.path(session.session_id, 'stop'))
    expect([again.status, again.body.status, again.body.sandbox]).toEqual([200, 'stopped', first.body.sandbox])
  })

  test('stopping a starting session does not wait for the start', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create()
    await until('its sandbox is being made', async () => (await app.session(body.session_id)).sandbox !== null)
    const reply = await app.request<Session>('POST', app.path(body.session_id, 'stop'))
    expect(reply.body.status).toBe('stopped')
    delete app.driver.options.bootMs
    expect(await app.driver.find(reply.body.sandbox!.sandbox_id)).toBeNull()
  })

  test('stopping at the moment of a start does not wait for it either', async () => {
    app.driver.options.bootMs = 60_000
    let stopping: Promise<TestReply<Session>>
    await app.deps.db.transaction().execute(async (trx) => {
      // The start checks here whether another server runs the session, after it read the wanted state.
      await sql`lock table server_instances in access exclusive mode`.execute(trx)
      const { body } = await app.create()
      await until('the start looks', async () => {
        const { rows } = await sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(app.deps.db)
        return rows.length > 0
      })
      stopping = app.request<Session>('POST', app.path(body.session_id, 'stop'))
      await until('the stop is wanted', async () => {
        const { rows } = await sql`select 1 from project_sessions
          where session_id = ${body.session_id} and desired = 'stopped'`.execute(app.deps.db)
        return rows.length > 0
      })
      await app.session(body.session_id)
    })
    expect((await stopping!).body.status).toBe('stopped')
    delete app.driver.options.bootMs
  })

  test('stopping at the moment it becomes running leaves its first prompt to the next start', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create({ initial_prompt: 'first' })
    await until('its sandbox boots', async () => {
      const { sandbox } = await app.session(body.session_id)
      return sandbox !== null && (await app.driver.find(sandbox.sandbox_id)) !== null
    })
    await app.deps.db.transaction().execute(async (trx) => {
      await sql`update project_sessions set desired = 'stopped' where session_id = ${body.session_id}`.execute(trx)
      delete app.driver.options.bootMs
      await until('the start records it', async () => {
        const { rows } = await sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(app.deps.db)
        return rows.length > 0
      })
      app.deps.sessions.interrupt(body.session_id)
    })
    await app.deps.sessions.reconcile(body.session_id)
    expect((await app.session(body.session_id)).status).toBe('stopped')
    await app.request('POST', app.path(body.session_id, 'prompt'), { body: { text: 'second' } })
    const again = await app.reaches(body.session_id, 'running')
    await until('both were delivered', () => promptsOf(again).length === 2)
    expect(promptsOf(again).map(({ text }) => text)).toEqual(['first', 'second'])
  })

  test('concurrent stops end the session once', async () => {
    const session = await app.running()
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => app.request<Session>('POST', app.path(session.session_id, 'stop'))),
    )
    expect(replies.map((reply) => [reply.status, reply.body.status])).toEqual(replies.map(() => [200, 'stopped']))
  })
})

describe('restarting a session', () => {
  test('begins the next generation with new credentials, without sending the first prompt again', async () => {
    const session = await app.running({ initial_prompt: 'Once' })
    await until('it was said', () => promptsOf(session).length === 1)
    const reply = await app.request<Session>('POST', app.path(session.session_id, 'restart'))
    expect([reply.status, reply.body.status]).toEqual([202, 'provisioning'])
    expect(await whoAmI(session.env.SVC_CLI_TOKEN!)).toBe(401)
    const again = await app.reaches(session.session_id, 'running')
    expect(again.sandbox).toMatchObject({ generation: 2, status: 'active' })
    const { spec, prompts } = app.driver.seen(again.sandbox!.sandbox_id)!
    expect(prompts).toEqual([])
    expect(spec.env.SVC_INITIAL_PROMPT).toBeUndefined()
    expect(spec.env.SVC_BOOTSTRAP_RUNTIME_SESSION).toBeUndefined()
    expect(spec.env.SVC_SANDBOX_GENERATION).toBe('2')
    for (const name of ['SVC_TOKEN', 'SVC_CLI_TOKEN', 'SVC_LLM_API_KEY'])
      expect(spec.env[name]).not.toBe(session.env[name]!)
    expect(await whoAmI(spec.env.SVC_CLI_TOKEN!)).toBe(200)
    expect(await app.driver.find(session.sandbox!.sandbox_id)).toBeNull()
  })

  test('refuses a starting session, and accepts a stopped or failed one', async () => {
    app.driver.options.bootMs = 60_000
    const { body } = await app.create()
    const refused = await app.request<ErrorBody>('POST', app.path(body.session_id, 'restart'))
    expect([refused.status, refused.body.code, refused.body.status]).toEqual([409, 'conflict', 'provisioning'])
    await app.request('POST', app.path(body.session_id, 'stop'))
    delete app.driver.options.bootMs
    expect((await app.request('POST', app.path(body.session_id, 'restart'))).status).toBe(202)
    expect((await app.reaches(body.session_id, 'running')).sandbox?.generation).toBe(2)
  })

  test('concurrent restarts are one restart', async () => {
    const session = await app.running()
    await app.request('POST', app.path(session.session_id, 'stop'))
    // It starts for as long as they ask: one that runs already may be restarted again.
    app.driver.options.bootMs = 60_000
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => app.request('POST', app.path(session.session_id, 'restart'))),
    )
    delete app.driver.options.bootMs
    expect(replies.filter((reply) => reply.status === 202)).toHaveLength(1)
    expect(replies.filter((reply) => reply.status === 409)).toHaveLength(5)
    expect((await app.reaches(session.session_id, 'running')).sandbox?.generation).toBe(2)
  })
})

describe('deleting a session', () => {
  test('ends the sandbox, deletes the row, and keeps the branch and the change request without a link', async () => {
    const session = await app.running()
    await commit(app.repo, session.branch_name, { 'by-agent.txt': 'x\n' })
    const opened = await app.request<ChangeRequest>('POST', `/v1/projects/${app.project.project_id}/change-requests`, {
      token: session.env.SVC_CLI_TOKEN!,
      body: { title: 'Work', head_ref: session.branch_name, session_id: session.session_id },
    })
    expect(opened.body.origin_session_id).toBe(session.session_id)
    expect((await app.request('DELETE', app.path(session.session_id))).body).toEqual({ ok: true })
    expect((await app.request('GET', app.path(session.session_id))).status).toBe(404)
    expect(await app.driver.find(session.sandbox!.sandbox_id)).toBeNull()
    expect(await whoAmI(session.env.SVC_CLI_TOKEN!)).toBe(401)
    const kept = await app.request<{ change_request: ChangeRequest }>(
      'GET',
      `/v1/projects/${app.project.project_id}/change-requests/${opened.body.cr_id}`,
    )
    expect(kept.body.change_request).toMatchObject({ origin_session_id: null, status: 'open' })
    expect(await gitText(app.repo, 'rev-parse', `refs/heads/${session.branch_name}`)).toBe(opened.body.head_commit_sha!)
  })

  test('purging a project stops its sandboxes first and deletes everything', async () => {
    const { project } = await app.managedProject()
    const path = `/v1/projects/${project.project_id}`
    const made = await Promise.all(
      Array.from({ length: 3 }, () => app.request<Session>('POST', `${path}/sessions`, { body: {} })),
    )
    const sandboxes = await until('all run', async () => {
      const { body } = await app.request<Session[]>('GET', `${path}/sessions`)
      return body.every((session) => session.status === 'running') ? body.map((each) => each.sandbox!.sandbox_id) : null
    })
    expect(made).toHaveLength(3)
    const tokens = sandboxes.map((id) => app.driver.seen(id)!.spec.env.SVC_CLI_TOKEN!)
    expect((await app.request('DELETE', `${path}?purge=true`)).status).toBe(200)
    for (const id of sandboxes) expect(await app.driver.find(id)).toBeNull()
    for (const token of tokens) expect(await whoAmI(token)).toBe(401)
    const rows = app.deps.db.selectFrom('project_sessions').select('session_id')
    expect(await rows.where('project_id', '=', project.project_id).execute()).toEqual([])
  })
})
