/** Sandboxes that wait for a session: claimed in an instant, worth nothing before, and never in the way of a session. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Session } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { reconcileSessions } from '../jobs.ts'
import { insertRow, updateRows } from '../../db/rows.ts'
import { sha256 } from '../../auth/credentials.ts'
import { letDie, letLive, makeSessionApp, secondServer, type SessionApp, until } from '../testing.ts'
import { warmOf, type WarmRow } from './store.ts'

let app: SessionApp
const configure = { warmSandboxes: { perProject: 1, inAll: 4 }, modelNames: ['another', 'm'] }
const agent = '---\ndescription: helps\nmode: primary\n---\nYou are the house agent.\n'
beforeAll(async () => {
  app = await makeSessionApp({ configure, files: { 'README.md': 'hello\n', '.svc/runtime/agents/house.md': agent } })
  // A project gets one once it was worked on.
  await app.running()
}, 120_000)
beforeEach(() => letLive(app.deps))
afterAll(() => app.close())

const never = new AbortController().signal
const rows = (of: Pick<SessionApp, 'deps'> = app) => warmOf(of.deps.db, of.deps.instanceId)
/** The one that waits, once it is there. */
const waiting = (of: Pick<SessionApp, 'deps'> = app, fits: (row: WarmRow) => boolean = () => true) =>
  until('a sandbox waits', async () => {
    await of.deps.warm.tend(never)
    return (await rows(of)).find((row) => row.status === 'ready' && fits(row)) ?? null
  })
const valuesOf = (sandboxId: string) => app.driver.seen(sandboxId)!.spec.env
const whoAmI = async (token: string) => (await app.request('GET', '/v1/token', { token })).status
const gitAs = (password: string, path: string, project = app.project.project_id) =>
  app.request('GET', `/v1/projects/${project}/git/${path}`, {
    token: null,
    headers: { authorization: `Basic ${btoa(`x-access-token:${password}`)}` },
  })

describe('a session that claims a warm sandbox', () => {
  test('takes its ids and values, which work only from then on', async () => {
    const warm = await waiting()
    const values = valuesOf(warm.sandbox_id)
    expect(await whoAmI(values.SVC_CLI_TOKEN!)).toBe(401)
    const credential = `/v1/projects/${app.project.project_id}/git/clone-credential`
    const asSandbox = async () => (await app.request('GET', credential, { token: values.SVC_TOKEN! })).status
    expect(await asSandbox()).toBe(401)
    expect((await app.request<Session[]>('GET', app.path())).body.map((each) => each.session_id)).not.toContain(
      warm.session_id,
    )

    const made = await app.create({ name: 'warm' })
    expect([made.status, made.body.status, made.body.session_id]).toEqual([201, 'provisioning', warm.session_id])
    expect(made.body.sandbox).toMatchObject({ sandbox_id: warm.sandbox_id, generation: 1 })
    const running = await app.reaches(warm.session_id, 'running')
    expect(running).toMatchObject({ branch_name: warm.session_id, sandbox: { status: 'active', generation: 1 } })
    expect([await whoAmI(values.SVC_CLI_TOKEN!), await asSandbox()]).toEqual([200, 200])
    const told = app.driver.seen(warm.sandbox_id)!.env
    expect(told).toMatchObject({
      SVC_SESSION_ID: warm.session_id,
      SVC_BRANCH_NAME: warm.session_id,
      SVC_BASE_REF: 'main',
      SVC_AGENT_NAME: 'build',
      SVC_SANDBOX_GENERATION: '1',
    })
    expect(Object.keys(told)).not.toContain('SVC_SANDBOX_WARM')
    const { body } = await app.request<{ phases: { name: string }[] }>('GET', app.path(warm.session_id, 'timeline'))
    expect(body.phases.map(({ name }) => name)).toEqual(['claim'])
    const branches = await app.request<{ name: string }[]>('GET', `/v1/projects/${app.project.project_id}/branches`)
    expect(JSON.stringify(branches.body)).toContain(warm.session_id)
  })

  test('is claimed although a job sees the session before its branch is cut', async () => {
    const warm = await waiting()
    const { replicas, sessions } = app.deps
    const send = replicas.send.bind(replicas)
    let reconciled: Promise<void> | null = null
    // The step before the branch.
    replicas.send = (...args) => {
      reconciled ??= sessions.reconcile(warm.session_id)
      return send(...args)
    }
    try {
      expect((await app.create()).body.session_id).toBe(warm.session_id)
      await reconciled!
    } finally {
      replicas.send = send
    }
    expect(await app.session(warm.session_id)).toMatchObject({ status: 'running', sandbox: { generation: 1 } })
    const { body } = await app.request<{ phases: { name: string }[] }>('GET', app.path(warm.session_id, 'timeline'))
    expect(body.phases.map(({ name }) => name)).toEqual(['claim'])
  })

  test('is made although its daemon listens before it takes requests', async () => {
    const earlier = await waiting()
    let refused: string[] | null = null
    app.driver.options.around = async (path, answer) => {
      if (path !== '/svc/follow' || refused !== null) return answer()
      refused = (await rows()).map((row) => row.sandbox_id)
      const body = { error: 'The agent runtime is still starting.', code: 'runtime_booting' }
      return Response.json(body, { status: 503 })
    }
    try {
      // Takes the one that waits, so that another is made.
      expect((await app.running()).session_id).toBe(earlier.session_id)
      const made = await waiting(app, (row) => row.sandbox_id !== earlier.sandbox_id)
      expect(refused as string[] | null).toContain(made.sandbox_id)
    } finally {
      delete app.driver.options.around
    }
  })

  test('claims none with a chosen id, and the id of a warm sandbox cannot be chosen', async () => {
    const warm = await waiting()
    expect((await app.create({ session_id: warm.session_id })).status).toBe(409)
    const session_id = randomUUID()
    expect((await app.create({ session_id })).body.session_id).toBe(session_id)
    expect((await rows()).map((row) => row.session_id)).toContain(warm.session_id)
    await app.reaches(session_id, 'running')
    await app.request('DELETE', app.path(session_id))
  })

  test('loses the values with a restart or a stop', async () => {
    const warm = await waiting()
    const { SVC_CLI_TOKEN: token } = valuesOf(warm.sandbox_id)
    const session = await app.running()
    expect(session.session_id).toBe(warm.session_id)
    expect((await app.request('POST', app.path(session.session_id, 'restart'))).status).toBe(202)
    expect(await whoAmI(token!)).toBe(401)
    const again = await app.reaches(session.session_id, 'running')
    const next = valuesOf(again.sandbox!.sandbox_id)
    expect([again.sandbox!.generation, await whoAmI(next.SVC_CLI_TOKEN!)]).toEqual([2, 200])
    expect((await app.request('POST', app.path(session.session_id, 'stop'))).status).toBe(200)
    expect(await whoAmI(next.SVC_CLI_TOKEN!)).toBe(401)
  })

  test('may have another base, agent and first prompt', async () => {
    await commit(app.repo, 'other', { 'other.txt': 'other\n' })
    const warm = await waiting()
    const made = await app.create({ base_ref: 'other', agent_name: 'house', initial_prompt: 'begin' })
    expect(made.body.session_id).toBe(warm.session_id)
    await app.reaches(warm.session_id, 'running')
    expect(app.driver.seen(warm.sandbox_id)!.env).toMatchObject({
      SVC_BASE_REF: 'other',
      SVC_AGENT_NAME: 'house',
      SVC_INITIAL_PROMPT: 'begin',
      SVC_BOOTSTRAP_RUNTIME_SESSION: '1',
    })
    await until('the prompt is said', () => app.driver.seen(warm.sandbox_id)!.prompts.length === 1)
  })

  test('is the same session for the same Idempotency-Key', async () => {
    const warm = await waiting()
    const headers = { 'idempotency-key': 'warm-once' }
    const [first, second] = [await app.create({}, { headers }), await app.create({}, { headers })]
    expect([first.body.session_id, second.body.session_id]).toEqual([warm.session_id, warm.session_id])
    // As after a crash between the row and the answer.
    await sql`update idempotency_keys set status = null, body = null where key = 'warm-once'`.execute(app.deps.db)
    const third = await app.create({}, { headers })
    expect([third.status, third.body.session_id]).toEqual([201, warm.session_id])
  })

  test('boots normally with another model, for which the next warm sandbox is made', async () => {
    const warm = await waiting()
    const session = await app.running({ model: 'svc/another' })
    expect(session.session_id).not.toBe(warm.session_id)
    const next = await waiting(app, (row) => row.sandbox_id !== warm.sandbox_id)
    expect(valuesOf(next.sandbox_id).SVC_RUNTIME_MODEL).toBe('svc/another')
    expect(await app.driver.find(warm.sandbox_id)).toBeNull()
    await app.running()
  })

  test('boots normally as the next generation when the warm sandbox died', async () => {
    const warm = await waiting()
    const token = valuesOf(warm.sandbox_id).SVC_CLI_TOKEN!
    // The sandbox ended without an exit event.
    await app.driver.stop(warm.sandbox_id)
    const made = await app.create()
    expect(made.body.session_id).toBe(warm.session_id)
    const session = await app.reaches(warm.session_id, 'running')
    expect([session.sandbox!.generation, await whoAmI(token)]).toEqual([2, 401])
  })

  test('twenty concurrent sessions all run, and one claims the warm sandbox', async () => {
    const warm = await waiting()
    const made = await Promise.all(Array.from({ length: 20 }, () => app.create()))
    expect(made.map((reply) => reply.status)).toEqual(Array(20).fill(201))
    const ids = made.map((reply) => reply.body.session_id)
    expect(new Set(ids).size).toBe(20)
    expect(ids.filter((id) => id === warm.session_id)).toHaveLength(1)
    for (const id of ids) await app.reaches(id, 'running')
    for (const id of ids) await app.request('POST', app.path(id, 'stop'))
  })
})

describe('keeping a sandbox warm', () => {
  test('reads its project while it boots, and nothing else', async () => {
    const { project: other } = await app.managedProject()
    const warm = await waiting()
    const read = 'svc_read_'.padEnd(49, 'r')
    await sql`update warm_sandboxes set read_sha256 = ${sha256(read)}, read_expires_at = now() + interval '1 minute'
      where sandbox_id = ${warm.sandbox_id}`.execute(app.deps.db)
    expect((await gitAs(read, 'info/refs?service=git-upload-pack')).status).toBe(200)
    expect((await gitAs(read, 'info/refs?service=git-receive-pack')).status).toBe(403)
    expect((await gitAs(read, 'info/refs?service=git-upload-pack', other.project_id)).status).toBe(403)
    expect((await app.request('GET', '/v1/token', { token: read })).status).toBe(401)
    await commit(app.repo, 'main', { 'README.md': 'moved\n' })
    await waiting(app, (row) => row.commit_sha !== warm.commit_sha)
    expect((await gitAs(read, 'info/refs?service=git-upload-pack')).status).toBe(401)
  })

  test('requests no model while it rehearses', async () => {
    const warm = await waiting()
    const body = { model: 'x', messages: [{ role: 'user', content: 'Say ok.' }] }
    const token = valuesOf(warm.sandbox_id).SVC_LLM_API_KEY!
    const reply = await app.request('POST', '/v1/llm/chat/completions', { token, body })
    expect([reply.status, reply.body]).toMatchObject([200, { choices: [{ message: { content: 'ok' } }] }])
    expect((await app.request('GET', '/v1/llm/models', { token })).status).toBe(401)
  })

  test('follows the base branch', async () => {
    const warm = await waiting()
    const tip = await commit(app.repo, 'main', { 'README.md': 'moved again\n' })
    const moved = await waiting(app, (row) => row.commit_sha === tip)
    expect(moved.sandbox_id).toBe(warm.sandbox_id)
  })

  test.each([
    [
      'a secret',
      (a: SessionApp) =>
        a.request('POST', `/v1/projects/${a.project.project_id}/secrets`, { body: { name: 'NEW', value: 'v' } }),
    ],
    ['an agent', (a: SessionApp) => commit(a.repo, 'main', { '.svc/runtime/agents/house.md': `${agent}\nMore.\n` })],
    [
      'the settings of the runtime',
      (a: SessionApp) => commit(a.repo, 'main', { 'opencode.json': '{"permission": {"bash": "ask"}}\n' }),
    ],
    [
      'the manifest',
      (a: SessionApp) => commit(a.repo, 'main', { 'svc.toml': 'svc_version = 1\n[runtime]\nmodel = "svc/m"\n' }),
    ],
  ])('replaces the sandbox when %s changed', async (_, change) => {
    const warm = await waiting()
    await change(app)
    // Not claimed by a session that wants what is new.
    const session = await app.running()
    expect(session.session_id).not.toBe(warm.session_id)
    await waiting(app, (row) => row.sandbox_id !== warm.sandbox_id)
    expect(await app.driver.find(warm.sandbox_id)).toBeNull()
  })

  test('counts against no limit, and the idle sweep ignores it', async () => {
    const capped = await makeSessionApp({ configure: { ...configure, sessionLimit: 2 } })
    try {
      await capped.running()
      const warm = await waiting(capped)
      await reconcileSessions(capped.deps)
      expect(await capped.driver.find(warm.sandbox_id)).not.toBeNull()
      const replies = await Promise.all(Array.from({ length: 30 }, () => capped.create()))
      expect(replies.filter((reply) => reply.status === 201)).toHaveLength(1)
      expect(replies.filter((reply) => reply.status === 429)).toHaveLength(29)
    } finally {
      await capped.close()
    }
    expect(await capped.driver.list()).toEqual([])
  })

  test('ends with its project, and when nobody works on the project any more', async () => {
    const quiet = await makeSessionApp({ configure })
    try {
      await quiet.running()
      const warm = await waiting(quiet)
      await sql`update project_sessions set last_active_at = now() - interval '2 hours'`.execute(quiet.deps.db)
      await quiet.deps.warm.tend(never)
      expect([await rows(quiet), await quiet.driver.find(warm.sandbox_id)]).toEqual([[], null])

      await sql`update project_sessions set last_active_at = now()`.execute(quiet.deps.db)
      await waiting(quiet)
      expect((await quiet.request('DELETE', `/v1/projects/${quiet.project.project_id}`)).status).toBe(200)
      expect([await rows(quiet), await quiet.driver.list()]).toEqual([[], []])
    } finally {
      await quiet.close()
    }
  })

  test('belongs to its server only, and is forgotten when that server dies', async () => {
    const other = await secondServer(app)
    const one = await other.request<Session>('POST', app.path(), { body: {} })
    await app.reaches(one.body.session_id, 'running')
    const warm = await waiting(other)
    const session = await app.running()
    expect(session.session_id).not.toBe(warm.session_id)
    await letDie(other.deps)
    await sql`update server_instances set heartbeat_at = now() - interval '5 minutes'
      where instance_id = ${other.deps.instanceId}`.execute(app.deps.db)
    await app.deps.warm.tend(never)
    expect(await rows(other)).toEqual([])
    await other.close()
  })

  test.each([
    ['goes on at the next server when it still fits', false],
    ['is ended by the next server when it does not fit any more', true],
  ])('a warm sandbox that outlives its server %s', async (_, isOutdated) => {
    const first = await makeSessionApp({ configure, outlives: true })
    const next = await secondServer(first, {}, { sandboxes: first.deps.sandboxes })
    try {
      await first.running()
      const warm = await waiting(first)
      await first.deps.warm.close({ endsSandboxes: false })
      expect(await first.driver.find(warm.sandbox_id)).not.toBeNull()
      const path = `/v1/projects/${first.project.project_id}/secrets`
      if (isOutdated) await next.request('POST', path, { body: { name: 'NEW', value: 'a-new-value' } })
      await sql`update server_instances set heartbeat_at = now() - interval '5 minutes'
        where instance_id = ${first.deps.instanceId}`.execute(first.deps.db)
      const now = await waiting(next)
      expect(now.sandbox_id === warm.sandbox_id).toBe(!isOutdated)
      expect((await first.driver.find(warm.sandbox_id)) === null).toBe(isOutdated)
      const session = (await next.request<Session>('POST', first.path(), { body: {} })).body
      expect(session.session_id).toBe(now.session_id)
      await first.reaches(session.session_id, 'running')
    } finally {
      await next.close()
      await first.close()
    }
  })

  test.each(['is drained', 'is the home of the project no more'])(
    'ends on a server that %s, and none is made',
    async (how) => {
      const left = await makeSessionApp({ configure, deps: { serverName: 'ada', home: 'ada' } })
      const { db } = left.deps
      try {
        await insertRow(db, 'servers', { server_name: 'ada', data_folder: randomUUID() })
        await updateRows(db, 'projects', {}, { home: 'ada' })
        await left.running()
        await waiting(left)
        if (how === 'is drained') await updateRows(db, 'servers', {}, { draining_since: new Date().toISOString() })
        else await updateRows(db, 'projects', {}, { home: 'bob' })
        for (let pass = 0; pass < 3; pass++) await left.deps.warm.tend(never)
        expect([await rows(left), (await left.driver.list()).length]).toEqual([[], 1])
      } finally {
        await left.close()
      }
    },
  )

  test('retries a failed warm sandbox later, and sessions start meanwhile', async () => {
    const failing = await makeSessionApp({ configure })
    try {
      await failing.running()
      failing.driver.failures.push('no-space')
      await until('it was tried', async () => {
        await failing.deps.warm.tend(never)
        return failing.driver.failures.length === 0
      })
      expect([await rows(failing), (await failing.driver.list()).length]).toEqual([[], 1])
      await failing.running()
    } finally {
      await failing.close()
    }
  })
})
