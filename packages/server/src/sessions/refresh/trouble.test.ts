/** Refreshes while a git host is away, a manifest is broken, an agent works, or a sandbox is slow. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import type { Project, Session } from '@svc/contract'
import type { Repository } from '@svc/git'
import { commit, makeRepo, serveHttpBackend } from '@svc/git/testing'
import { detectDefaultBranch } from '../../projects/default-branch.ts'
import { getProject } from '../../projects/store.ts'
import { idleSessions } from '../activity-store.ts'
import { makeSessionApp, type SessionApp, until } from '../testing.ts'
import { RefreshTender } from './tend.ts'

let app: SessionApp
/** While it is set, the agent is at work. */
let working: PromiseWithResolvers<string> | null = null
/** While it is set, no sandbox ends a refresh. */
let slow: PromiseWithResolvers<void> | null = null
/** The clock of the server where a test moves it, so that none waits for a pause to pass. */
let clock: number | null = null
beforeAll(async () => {
  app = await makeSessionApp({
    onPrompt: async () => (await working?.promise) ?? 'done',
    refuseRefresh: async () => {
      await slow?.promise
      return null
    },
    deps: { now: () => new Date(clock ?? Date.now()) },
  })
}, 120_000)
afterAll(() => app.close())
afterEach(() => void (clock = null))

interface Place {
  at: string
  project_id: string
  repo: Repository
}
const managed = async (files: Record<string, string>): Promise<Place> => {
  const { project, repo } = await app.managedProject(files)
  return { at: `/v1/projects/${project.project_id}/sessions`, project_id: project.project_id, repo }
}
const read = async ({ at }: Place, id: string) => (await app.request<Session>('GET', `${at}/${id}`)).body
const running = async (place: Place): Promise<Session> => {
  const { body } = await app.request<Session>('POST', place.at, { body: {} })
  const session = await until('the session runs', async () => {
    const found = await read(place, body.session_id)
    return found.status === 'running' ? found : null
  })
  await app.deps.sessions.reconcile(session.session_id)
  return session
}
const notice = async ({ project_id: id }: Place) => {
  await detectDefaultBranch(app.deps, (await getProject(app.deps.db, id))!)
}
const write = async (place: Place, files: Record<string, string>) => {
  await commit(place.repo, 'main', files)
  await notice(place)
}
const refresh = ({ at }: Place, id: string) => app.request<Session>('POST', `${at}/${id}/refresh`)
const work = async ({ at }: Place, id: string) => {
  working = Promise.withResolvers<string>()
  await app.request('POST', `${at}/${id}/prompt`, { body: { text: 'work' } })
}
const endWork = () => {
  working?.resolve('done')
  working = null
}
const timeline = async ({ at }: Place, id: string) => {
  const { body } = await app.request<{ phases: { name: string; error: string | null }[] }>(
    'GET',
    `${at}/${id}/timeline`,
  )
  return body.phases.filter(({ name }) => name === 'refresh')
}
const events = ({ project_id: id }: Place) =>
  app.deps.db
    .selectFrom('project_events')
    .select('data')
    .where('type', '=', 'session.refreshed')
    .where('project_id', '=', id)
    .execute()
const tick = async (tender: RefreshTender) => {
  await tender.tend(AbortSignal.timeout(60_000))
  await tender.ended()
}
/** Whether the project's list lets a sandbox reach that host. */
const mayReach = ({ sandbox }: Session, host: string) =>
  new Promise<boolean>((resolve, reject) => {
    let answer = ''
    const path = app.driver.seen(sandbox!.sandbox_id)!.spec.egressSocket!
    const socket = connect({ path, allowHalfOpen: true }, () => socket.write(`CONNECT ${host}:443 HTTP/1.1\r\n\r\n`))
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
    socket.on('end', () => socket.destroy())
    socket.on('close', () => resolve(!answer.includes("blocked by the project's egress list")))
    socket.on('error', reject)
  })

describe('while the git host is down', () => {
  async function external() {
    const origin = await makeRepo({ main: { 'README.md': 'mine\n', 'svc.toml': '[sandbox]\negress = []\n' } })
    let isUnavailable = false
    const host = await serveHttpBackend(origin.dir, { before: () => (isUnavailable ? 503 : undefined) })
    const { body } = await app.request<Project>('POST', '/v1/projects', { body: { repo_url: host.url } })
    const repo: Repository = { dir: origin.dir, remote: null }
    const place = { at: `/v1/projects/${body.project_id}/sessions`, project_id: body.project_id, repo }
    return { ...place, close: host.close, setAway: (yes: boolean) => void (isUnavailable = yes) }
  }

  test('an automatic refresh waits, without a row or an event for each attempt', async () => {
    const place = await external()
    const session = await running(place)
    await write(place, { 'svc.toml': '[sandbox]\negress = ["back.invalid"]\n' })
    place.setAway(true)
    const tender = new RefreshTender(app.deps)
    for (let tries = 0; tries < 5; tries++) {
      await tick(tender)
      clock = Date.now() + (tries + 1) * 120_000
    }
    const waiting = await read(place, session.session_id)
    expect(waiting.refresh).toMatchObject({ status: 'waiting', cause: 'default_branch', settled_at: null })
    expect(waiting.refresh?.error).toContain('cannot be reached')
    expect(await timeline(place, session.session_id)).toEqual([])
    expect(await events(place)).toEqual([])

    place.setAway(false)
    await tick(tender)
    const { refresh: done } = await read(place, session.session_id)
    expect(done).toMatchObject({ status: 'done', applied: ['sandbox.egress'], error: null })
    expect(await mayReach(session, 'back.invalid')).toBe(true)
    await place.close()
  }, 120_000)

  test('pauses between the attempts', async () => {
    const place = await external()
    const session = await running(place)
    await write(place, { 'svc.toml': '[sandbox]\negress = ["back.invalid"]\n' })
    place.setAway(true)
    const tender = new RefreshTender(app.deps)
    clock = Date.now()
    await tick(tender)
    place.setAway(false)
    await tick(tender)
    expect((await read(place, session.session_id)).refresh?.status).toBe('waiting')
    clock += 60_000
    await tick(tender)
    expect((await read(place, session.session_id)).refresh?.status).toBe('done')
    expect(await timeline(place, session.session_id)).toHaveLength(1)
    await place.close()
  }, 120_000)

  test('fails a requested refresh once', async () => {
    const place = await external()
    const session = await running(place)
    place.setAway(true)
    const { status, body } = await refresh(place, session.session_id)
    expect(status).toBe(202)
    expect(body.refresh).toMatchObject({ status: 'failed', cause: 'request' })
    expect(body.refresh?.error).toContain('cannot be reached')
    const tender = new RefreshTender(app.deps)
    for (let ticks = 0; ticks < 3; ticks++) {
      await tick(tender)
      clock = Date.now() + (ticks + 1) * 120_000
    }
    expect(await timeline(place, session.session_id)).toHaveLength(1)
    expect(await events(place)).toHaveLength(1)
    await place.close()
  }, 120_000)
})

describe('a manifest with an error', () => {
  test('keeps the current settings and reports the error once', async () => {
    const place = await managed({ 'svc.toml': '[sandbox]\negress = ["kept.invalid"]\nidle_minutes = 7\n' })
    const session = await running(place)
    const tender = new RefreshTender(app.deps)
    await write(place, { 'svc.toml': '[sandbox]\negress = []\n<<<<<<< HEAD\n' })
    for (let ticks = 0; ticks < 3; ticks++) await tick(tender)
    const { refresh: failed } = await read(place, session.session_id)
    expect(failed).toMatchObject({ status: 'failed', cause: 'default_branch', applied: [] })
    expect(failed?.error).toStartWith('svc.toml of the default branch has an error, line 3: the file ')
    expect(await mayReach(session, 'kept.invalid')).toBe(true)
    expect(await mayReach(session, 'registry.npmjs.org')).toBe(false)
    await app.deps.db
      .updateTable('project_sessions')
      .set({ last_active_at: new Date(Date.now() - 8 * 60_000) })
      .where('session_id', '=', session.session_id)
      .execute()
    const idle = await idleSessions(app.deps.db, { idleMinutes: 60, waitingMinutes: 60, home: null })
    expect(idle).toContainEqual(expect.objectContaining({ session_id: session.session_id, minutes: 7 }))

    await write(place, { 'code.txt': 'more\n' })
    for (let ticks = 0; ticks < 3; ticks++) await tick(tender)
    expect(await timeline(place, session.session_id)).toHaveLength(1)
    expect((await refresh(place, session.session_id)).body.refresh).toMatchObject({
      ...{ status: 'failed', cause: 'request', error: failed!.error },
    })
    expect(await mayReach(session, 'registry.npmjs.org')).toBe(false)

    await write(place, { 'svc.toml': '[sandbox]\negress = []\nidle_minutes = 7\n' })
    await tick(tender)
    const { refresh: mended } = await read(place, session.session_id)
    expect(mended).toMatchObject({ status: 'done', applied: ['sandbox.egress'], error: null })
    expect(await mayReach(session, 'kept.invalid')).toBe(false)
  }, 120_000)
})

describe('while the agent works', () => {
  test('closes a host that left the egress list', async () => {
    const place = await managed({ 'svc.toml': '[sandbox]\negress = ["leak.invalid"]\n' })
    const session = await running(place)
    const tender = new RefreshTender(app.deps)
    expect(await mayReach(session, 'leak.invalid')).toBe(true)
    await work(place, session.session_id)
    await write(place, { 'svc.toml': '[sandbox]\negress = []\n', '.svc/runtime/agents/house.md': 'Be brief.\n' })
    await tick(tender)
    expect(await mayReach(session, 'leak.invalid')).toBe(false)
    expect((await read(place, session.session_id)).refresh).toMatchObject({
      ...{ status: 'waiting', applied: ['sandbox.egress'] },
    })
    expect(app.driver.seen(session.sandbox!.sandbox_id)!.refreshes).toEqual([])
    endWork()
    await until('the rest is applied', async () => {
      await tick(tender)
      return (await read(place, session.session_id)).refresh?.status === 'done'
    })
    expect((await read(place, session.session_id)).refresh?.applied).toEqual(['agents', 'sandbox.egress'])
    expect(await timeline(place, session.session_id)).toHaveLength(1)
  }, 120_000)

  test('applies a changed egress list at once, also by a requested refresh', async () => {
    const place = await managed({ 'svc.toml': '[sandbox]\negress = ["leak.invalid"]\n' })
    const session = await running(place)
    await work(place, session.session_id)
    await write(place, { 'svc.toml': '[sandbox]\negress = ["other.invalid"]\n' })
    await tick(new RefreshTender(app.deps))
    expect((await read(place, session.session_id)).refresh).toMatchObject({
      ...{ status: 'done', applied: ['sandbox.egress'] },
    })
    expect(await mayReach(session, 'leak.invalid')).toBe(false)
    await commit(place.repo, 'main', { 'svc.toml': '[sandbox]\negress = []\n' })
    expect((await refresh(place, session.session_id)).body.refresh).toMatchObject({
      ...{ status: 'waiting', cause: 'request', applied: ['sandbox.egress'] },
    })
    expect(await mayReach(session, 'other.invalid')).toBe(false)
    endWork()
  }, 120_000)
})

describe('slow sandboxes', () => {
  test('do not delay the refreshes of other projects', async () => {
    const place = await managed({ 'svc.toml': '[sandbox]\negress = []\n' })
    const sessions = [await running(place), await running(place), await running(place), await running(place)]
    const other = await managed({ 'svc.toml': '[sandbox]\negress = []\n' })
    const mine = await running(other)
    const underWay = () =>
      sessions.filter(({ sandbox }) => app.driver.seen(sandbox!.sandbox_id)!.refreshes.length > 0).length
    slow = Promise.withResolvers<void>()
    await write(place, { '.svc/runtime/agents/house.md': 'Be brief.\n' })
    const tender = new RefreshTender(app.deps)
    const signal = AbortSignal.timeout(60_000)
    await tender.tend(signal)
    await until('two are under way', () => underWay() === 2)
    const asked = refresh(
      place,
      sessions.find(({ sandbox }) => app.driver.seen(sandbox!.sandbox_id)!.refreshes.length === 0)!.session_id,
    )
    await until('a caller waits for a third', () => underWay() === 3)

    await write(other, { 'svc.toml': '[sandbox]\negress = ["fast.invalid"]\n' })
    await until('the other project is served', async () => {
      await tender.tend(signal)
      return (await read(other, mine.session_id)).refresh?.status === 'done'
    })
    // Places of a project: the fourth waits.
    expect(underWay()).toBe(3)
    slow.resolve()
    slow = null
    expect((await asked).body.refresh?.status).toBe('done')
    await until('all are served', async () => {
      await tick(tender)
      const all = await Promise.all(sessions.map(({ session_id: id }) => read(place, id)))
      return all.every((session) => session.refresh?.status === 'done')
    })
  }, 120_000)
})

describe('an agent that requests refreshes in a loop', () => {
  test('gets one in five seconds, and the timeline keeps the newest hundred', async () => {
    const place = await managed({ 'svc.toml': '[sandbox]\negress = []\n' })
    const session = await running(place)
    const { session_id, sandbox } = session
    const of = { session_id, generation: sandbox!.generation }
    await app.deps.db
      .insertInto('session_phases')
      .values(
        Array.from({ length: 150 }, (_, index) => ({
          ...{ ...of, position: 1000 + index, name: 'refresh', started_at: new Date(), ms: 1, error: null },
          note: `Old ${index}.`,
        })),
      )
      .execute()
    clock = Date.now()
    expect((await refresh(place, session_id)).body.refresh?.status).toBe('done')
    const tender = new RefreshTender(app.deps)
    for (let requests = 0; requests < 20; requests++) {
      const { body } = await refresh(place, session_id)
      expect(body.refresh).toMatchObject({ status: 'waiting', error: expect.stringContaining('5 seconds ago') })
      await tick(tender)
    }
    expect(app.driver.seen(sandbox!.sandbox_id)!.refreshes).toHaveLength(1)
    clock += 5_000
    await tick(tender)
    expect((await read(place, session_id)).refresh).toMatchObject({ status: 'done', error: null })
    expect(app.driver.seen(sandbox!.sandbox_id)!.refreshes).toHaveLength(2)
    expect(await events(place)).toHaveLength(2)
    const phases = await timeline(place, session_id)
    expect(phases).toHaveLength(100)
    expect(phases[0]).toMatchObject({ note: 'Old 52.' })
    const audited = await app.deps.db
      .selectFrom('audit_events')
      .select('event_id')
      .where('action', '=', 'session.refresh')
      .where('object_id', '=', session_id)
      .execute()
    expect(audited).toHaveLength(2)
  }, 120_000)
})
