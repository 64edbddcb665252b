/** A running session takes over what changed on the default branch, without a new sandbox. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Session } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { detectDefaultBranch } from '../../projects/default-branch.ts'
import { getProject } from '../../projects/store.ts'
import { makeSessionApp, type RunningSession, type SessionApp, until } from '../testing.ts'
import { RefreshTender } from './tend.ts'

type Reply = Session & { code: string; error: string; hint: string }

let app: SessionApp
/** While it is set, the agent is at work. */
let working: PromiseWithResolvers<string> | null = null
let refusal: { code: string; message: string } | null = null
beforeAll(async () => {
  app = await makeSessionApp({
    files: { 'svc.toml': '[sandbox]\negress = []\n', '.svc/runtime/agents/house.md': 'Be brief.\n' },
    onPrompt: async () => (await working?.promise) ?? 'done',
    refuseRefresh: () => refusal,
  })
}, 120_000)
afterAll(() => app.close())

const refresh = (sessionId: string) => app.request<Reply>('POST', app.path(sessionId, 'refresh'))
const refreshesOf = ({ sandbox }: RunningSession) => app.driver.seen(sandbox!.sandbox_id)!.refreshes
const phases = async (sessionId: string) => {
  const path = app.path(sessionId, 'timeline')
  const { body } = await app.request<{ phases: { name: string; note: string | null; error: string | null }[] }>(
    'GET',
    path,
  )
  return body.phases.filter(({ name }) => name === 'refresh')
}
let serial = 0
const write = async (files: Record<string, string | null>) => {
  await commit(app.repo, 'main', files)
  await detectDefaultBranch(app.deps, (await getProject(app.deps.db, app.project.project_id))!)
}
/** Another text every time, so that each test changes something. */
const manifest = (sandbox = '', runtime = '') =>
  `[runtime]\n${runtime}\n[sandbox]\negress = ["host-${++serial}.example.com"]\n${sandbox}\n`
const tend = async () => {
  const tender = new RefreshTender(app.deps)
  await tender.tend(AbortSignal.timeout(60_000))
  await tender.ended()
}

describe('a refresh by a caller', () => {
  test('applies what can change in place, and lists what needs a restart', async () => {
    const session = await app.running()
    await commit(app.repo, 'main', {
      'svc.toml': manifest('cpu = 1.5\nsetup = "true"', 'config_dir = "tools/agents"'),
      'tools/agents/agents/other.md': 'Be kind.\n',
    })
    const reply = await refresh(session.session_id)
    expect(reply.status).toBe(202)
    expect(reply.body.refresh).toMatchObject({
      ...{ status: 'done', cause: 'request', error: null },
      applied: ['runtime.config_dir', 'agents', 'sandbox.egress'],
      needs_restart: ['sandbox.cpu', 'sandbox.setup'],
    })
    expect(refreshesOf(session)).toEqual([{ config_dir: 'tools/agents' }])
    expect(await phases(session.session_id)).toMatchObject([
      {
        error: null,
        note: 'Applied: runtime.config_dir, agents, sandbox.egress. Restart the session to apply: sandbox.cpu, sandbox.setup.',
      },
    ])
    const events = await app.deps.db
      .selectFrom('project_events')
      .select('data')
      .where('type', '=', 'session.refreshed')
      .execute()
    expect(JSON.stringify(events)).toContain('sandbox.cpu')

    // A restart is made with them, so there is nothing left to say.
    await app.request('POST', app.path(session.session_id, 'restart'))
    const restarted = await app.reaches(session.session_id, 'running')
    expect(restarted.refresh).toBeNull()
    await app.deps.sessions.reconcile(session.session_id)
    expect((await refresh(session.session_id)).body.refresh).toMatchObject({ applied: [], needs_restart: [] })
  })

  test("waits for the end of the agent's turn", async () => {
    const session = await app.running()
    working = Promise.withResolvers<string>()
    await app.request('POST', app.path(session.session_id, 'prompt'), { body: { text: 'work' } })
    expect((await refresh(session.session_id)).body.refresh).toMatchObject({ status: 'waiting', settled_at: null })
    await tend()
    expect(refreshesOf(session)).toEqual([])
    working.resolve('done')
    working = null
    await until('the refresh', async () => {
      await tend()
      return (await app.session(session.session_id)).refresh?.status === 'done'
    })
    expect(refreshesOf(session)).toHaveLength(1)
    const { body } = await app.request<Session>('GET', `${app.path(session.session_id)}?include=activity`)
    expect(body).toMatchObject({ status: 'running', is_busy: false, last_turn_error: null })
  })

  test('says that the session branch was not pulled, and applies the rest', async () => {
    await write({ 'svc.toml': manifest() })
    const session = await app.running()
    await write({ 'svc.toml': manifest() })
    refusal = { code: 'not_fast_forward', message: 'The session branch was not pulled: it has commits of its own.' }
    const { body } = await refresh(session.session_id)
    refusal = null
    expect(body.refresh).toMatchObject({ status: 'done', applied: ['sandbox.egress'] })
    expect(body.refresh?.error).toBe('The session branch was not pulled: it has commits of its own.')
  })

  test('refuses a session that does not run, with its state', async () => {
    const session = await app.running()
    await app.request('POST', app.path(session.session_id, 'stop'))
    const stopped = await refresh(session.session_id)
    expect(stopped.status).toBe(409)
    expect(stopped.body).toMatchObject({ code: 'conflict', status: 'stopped' })
    expect(stopped.body.error).toBe('This session is stopped, so there is no running sandbox to refresh.')
    expect(stopped.body.hint).toContain(`svc sessions restart ${session.session_id.slice(0, 8)}`)

    app.driver.options.bootMs = 600_000
    const booting = (await app.create()).body
    const refused = await refresh(booting.session_id)
    app.driver.options.bootMs = 0
    expect(refused.status).toBe(409)
    expect(refused.body).toMatchObject({ code: 'conflict', status: 'provisioning' })
  })
})

describe('a refresh after the default branch moved', () => {
  test('brings changed agents to a running session automatically', async () => {
    const session = await app.running()
    await write({ 'svc.toml': null, '.svc/runtime/agents/house.md': `Be number ${++serial}.\n` })
    await tend()
    const found = await app.session(session.session_id)
    expect(found.refresh).toMatchObject({ status: 'done', cause: 'default_branch', error: null })
    expect(found.refresh?.applied).toContain('agents')
    expect(refreshesOf(session)).toEqual([{ config_dir: '.svc/runtime' }])
    await tend()
    expect(refreshesOf(session)).toHaveLength(1)
  })

  test('does not restart the runtime for changes of egress or code', async () => {
    const session = await app.running()
    await write({ 'svc.toml': manifest() })
    await tend()
    expect((await app.session(session.session_id)).refresh).toMatchObject({ applied: ['sandbox.egress'] })
    const { updated_at: before } = await app.session(session.session_id)
    await write({ 'code.txt': `${++serial}\n` })
    await tend()
    expect((await app.session(session.session_id)).updated_at).toBe(before)
    expect(refreshesOf(session)).toEqual([])
    expect(await phases(session.session_id)).toHaveLength(1)
  })

  test('reports once what needs a restart, and when that ended', async () => {
    const session = await app.running()
    const { refresh: none } = await app.session(session.session_id)
    expect(none).toBeNull()
    await write({ 'svc.toml': `${manifest()}memory = "1GiB"\n` })
    await tend()
    await write({ 'code.txt': `${++serial}\n` })
    await tend()
    expect((await app.session(session.session_id)).refresh?.needs_restart).toEqual(['sandbox.memory'])
    expect(await phases(session.session_id)).toHaveLength(1)
    await write({ 'svc.toml': manifest() })
    await tend()
    expect((await app.session(session.session_id)).refresh?.needs_restart).toEqual([])
  })
})
