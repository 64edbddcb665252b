import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { ChangeRequest, Session } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import { gitText } from '../change-requests/testing.ts'
import { secondServer, until } from '../sessions/testing.ts'
import { insertDueSlots, insertSlotsOf, fireDueTriggers } from './fire-due.ts'
import { fireOrphanedSlots, fireSlot } from './fire.ts'
import { lockTriggers } from './store.ts'
import { cronTrigger, makeTriggerApp, startOfTests, type TriggerApp } from './testing.ts'

setDefaultTimeout(120_000)
let app: TriggerApp
const signal = new AbortController().signal
const hour = 3_600_000
const iso = (ms: number) => new Date(ms).toISOString()

beforeAll(async () => {
  app = await makeTriggerApp({ configure: { modelNames: ['x/y'] } })
})
afterAll(() => app.close())
beforeEach(() => {
  app.clock.now = startOfTests
})

const sessionsOf = async (slug: string) =>
  (await app.request<Session[]>('GET', `/v1/projects/${app.project.project_id}/sessions?limit=1000`)).body.filter(
    (session) => (session.metadata.trigger as { slug?: string } | undefined)?.slug === slug,
  )

describe('triggers of the default branch', () => {
  test('lists a trigger with its next time and its errors', async () => {
    await app.manifest(
      cronTrigger('nightly', '0 3 * * *', 'timezone = "Europe/Berlin"') +
        cronTrigger('broken', 'at night') +
        cronTrigger('off', '0 4 * * *', 'enabled = false'),
    )
    const { body } = await app.request<{ triggers: object[]; errors: object[] }>('GET', app.of())
    expect(body.triggers).toMatchObject([
      {
        ...{ slug: 'nightly', type: 'cron', enabled: true, cron: '0 3 * * *', timezone: 'Europe/Berlin', run_at: null },
        ...{ name: 'nightly', prompt_template: 'Work of {{ slug }}, due {{ due_at }}.' },
        ...{ agent: null, last_fired_at: null, next_fire_at: '2026-03-02T02:00:00.000Z', webhook_url: null },
        // In words, as the effects of a change request show it.
        schedule: 'At 03:00',
        next_fire_times: ['2026-03-02T02:00:00.000Z', '2026-03-03T02:00:00.000Z', '2026-03-04T02:00:00.000Z'],
      },
      { slug: 'off', enabled: false, next_fire_at: null, next_fire_times: [] },
    ])
    expect(body.errors).toMatchObject([
      { path: 'triggers.1.cron', severity: 'error', line: expect.any(Number) as never },
    ])
    expect((await app.request('GET', app.of('nope'))).status).toBe(404)
  })

  test('fires once when it is due, and records the session in the same step', async () => {
    await app.manifest(cronTrigger('nightly', '0 3 * * *', 'model = "x/y"'))
    app.clock.now = Date.parse('2026-03-02T02:59:59Z')
    await fireDueTriggers(app.deps, signal)
    expect((await app.trigger('nightly')).last_fired_at).toBeNull()
    app.clock.now = Date.parse('2026-03-02T03:00:02Z')
    await fireDueTriggers(app.deps, signal)
    await fireDueTriggers(app.deps, signal)
    const found = await app.trigger('nightly')
    expect(found).toMatchObject({ last_fired_at: iso(app.clock.now), next_fire_at: '2026-03-03T03:00:00.000Z' })
    const [session, ...others] = await sessionsOf('nightly')
    expect(others).toEqual([])
    expect(found.slots).toMatchObject([
      {
        ...{ kind: 'cron', due_at: '2026-03-02T03:00:00.000Z', status: 'fired', session_id: session!.session_id },
        ...{ caught_up: false, reason: null, fired_at: iso(app.clock.now) },
      },
    ])
    expect(session).toMatchObject({ model: 'x/y', created_by: app.owner.user_id, base_ref: 'main' })
    const { env } = await until('its sandbox is there', async () => {
      const live = await app.session(session!.session_id)
      return app.driver.seen(live.sandbox?.sandbox_id ?? '')?.spec ?? null
    })
    expect(env.SVC_INITIAL_PROMPT).toBe('Work of nightly, due 2026-03-02T03:00:00.000Z.')
    const token = env.SVC_CLI_TOKEN!
    const opened = await app.request<ChangeRequest>('POST', `/v1/projects/${app.project.project_id}/change-requests`, {
      token,
      body: { title: 'x', head_ref: session!.session_id, session_id: session!.session_id },
    })
    expect(opened.body.origin_session_id).toBe(session!.session_id)
    const merge = `/v1/projects/${app.project.project_id}/change-requests/${opened.body.cr_id}/merge`
    expect((await app.request('POST', merge, { token })).body.code).toBe('agent_merge_forbidden')
  })

  test('fires in the name of the member who merged it, and of the first owner once they left', async () => {
    await app.manifest(cronTrigger('inherited', '0 3 * * *', 'enabled = false'))
    const { user_id: member, token } = await app.makeUser('member')
    expect((await app.request('POST', app.of('inherited', 'enable'), { token })).body.merged).toBeTrue()
    await app.look()
    const firedFor = async (at: string) => {
      app.clock.now = Date.parse(at)
      await fireDueTriggers(app.deps, signal)
      return (await sessionsOf('inherited')).map(({ created_by }) => created_by)
    }
    expect(await firedFor('2026-03-02T03:00:02Z')).toEqual([member])
    await app.request('DELETE', `/v1/accounts/${app.owner.account_id}/members/${member}`)
    expect(await firedFor('2026-03-03T03:00:02Z')).toEqual([app.owner.user_id, member])
  })

  test('never fires for a time before it appeared, was changed or was enabled', async () => {
    await app.manifest(cronTrigger('late', '0 12 * * *'))
    await fireDueTriggers(app.deps, signal)
    expect(await sessionsOf('late')).toEqual([])
    app.clock.now += hour
    await app.manifest(cronTrigger('late', '30 12 * * *'))
    await app.manifest(cronTrigger('late', '30 12 * * *', 'enabled = false'))
    app.clock.now += 48 * hour
    await app.manifest(cronTrigger('late', '30 12 * * *'))
    await fireDueTriggers(app.deps, signal)
    expect(await sessionsOf('late')).toEqual([])
    expect(await app.trigger('late')).toMatchObject({
      slots: [],
      next_fire_at: '2026-03-04T12:30:00.000Z',
      last_fired_at: null,
    })
  })

  test('keeps its next time while other parts of the manifest change', async () => {
    await app.manifest(cronTrigger('steady', '0 15 * * *'))
    app.clock.now = Date.parse('2026-03-01T14:59:00Z')
    await app.manifest(`${cronTrigger('steady', '0 15 * * *', 'agent = "plan"')}[env]\nrequired = ["A"]\n`)
    app.clock.now = Date.parse('2026-03-01T15:00:01Z')
    await fireDueTriggers(app.deps, signal)
    expect((await sessionsOf('steady')).map((session) => session.agent_name)).toEqual(['plan'])
  })

  test('catches up once after days, and records every missed slot', async () => {
    await app.manifest(cronTrigger('hourly', '0 * * * *'))
    app.clock.now = startOfTests + 50 * hour + 20 * 60_000
    await fireDueTriggers(app.deps, signal)
    const { slots, last_fired_at } = await app.trigger('hourly')
    expect(slots).toHaveLength(50)
    expect(slots.filter((slot) => slot.status === 'fired')).toMatchObject([
      { due_at: iso(startOfTests + 50 * hour), caught_up: true },
    ])
    expect(slots.filter((slot) => slot.reason?.startsWith('missed'))).toHaveLength(49)
    expect(last_fired_at).toBe(iso(app.clock.now))
    expect(await sessionsOf('hourly')).toHaveLength(1)
  })

  test('still owes one session after more missed slots than one batch has', async () => {
    await app.manifest(cronTrigger('minutely', '*/10 * * * *'))
    app.clock.now = startOfTests + 8 * 24 * hour
    await fireDueTriggers(app.deps, signal)
    expect(await sessionsOf('minutely')).toHaveLength(1)
    const { rows } = await app.deps.db
      .selectFrom('trigger_slots')
      .select('status')
      .where('slug', '=', 'minutely')
      .execute()
      .then((found) => ({ rows: found }))
    expect(rows).toHaveLength(8 * 24 * 6)
    expect(rows.filter(({ status }) => status === 'fired')).toHaveLength(1)
  })

  test('fires once with run_at', async () => {
    const once = (more: string) =>
      `[[triggers]]\nslug = "once"\ntype = "cron"\ntimezone = "America/New_York"\nrun_at = 2026-03-01T09:30:00\nprompt = "Once."\n${more}`
    await app.manifest(once(''))
    expect((await app.trigger('once')).next_fire_at).toBe('2026-03-01T14:30:00.000Z')
    app.clock.now = Date.parse('2026-03-01T14:30:00Z')
    await fireDueTriggers(app.deps, signal)
    await app.manifest(once('enabled = true\n'))
    app.clock.now += 24 * hour
    await fireDueTriggers(app.deps, signal)
    expect(await sessionsOf('once')).toHaveLength(1)
    expect((await app.trigger('once')).next_fire_at).toBeNull()
  })

  test('says why it could not start a session', async () => {
    await app.manifest(cronTrigger('stray', '0 13 * * *', 'agent = "nobody"'))
    app.clock.now = startOfTests + hour
    await fireDueTriggers(app.deps, signal)
    const found = await app.trigger('stray')
    expect(found.last_fired_at).toBeNull()
    expect(found.slots).toMatchObject([{ status: 'skipped', session_id: null, fired_at: null }])
    expect(found.slots[0]!.reason).toStartWith('agent_not_found: There is no agent "nobody"')
  })

  test('one of several servers fires it', async () => {
    await app.manifest(Array.from({ length: 5 }, (_, index) => cronTrigger(`many-${index}`, '0 13 * * *')).join(''))
    const others = [await secondServer(app), await secondServer(app)]
    app.clock.now = startOfTests + hour
    await Promise.all(
      [app, ...others].flatMap(({ deps }) => [fireDueTriggers(deps, signal), fireDueTriggers(deps, signal)]),
    )
    for (let index = 0; index < 5; index++) expect(await sessionsOf(`many-${index}`)).toHaveLength(1)
    for (const other of others) await other.close()
  })

  test('another server fires a claimed slot of a dead server with the same session', async () => {
    await app.manifest(cronTrigger('orphan', '0 13 * * *'))
    const other = await secondServer(app)
    app.clock.now = startOfTests + hour
    const [slot] = (await insertDueSlots(other.deps))!
    const age = () =>
      app.deps.db
        .updateTable('trigger_slots')
        .set({ claimed_at: new Date(Date.now() - 5_000) })
        .where('slot_id', '=', slot!.slot_id)
        .execute()
    await age()
    await fireOrphanedSlots(app.deps, signal)
    expect(await sessionsOf('orphan')).toEqual([])
    await app.deps.db.deleteFrom('server_instances').where('instance_id', '=', other.deps.instanceId).execute()
    await Promise.all([fireOrphanedSlots(app.deps, signal), fireOrphanedSlots(app.deps, signal)])
    expect((await sessionsOf('orphan')).map((session) => session.session_id)).toEqual([slot!.planned_session_id])
    expect((await app.trigger('orphan')).slots).toMatchObject([{ status: 'fired' }])
    await other.close()
  })

  test('a slot that two callers fire at once starts one session, and both report it', async () => {
    await app.manifest(cronTrigger('twice', '0 13 * * *'))
    app.clock.now = startOfTests + hour
    const [slot] = (await insertDueSlots(app.deps))!
    const fired = await Promise.all([1, 2, 3].map(() => fireSlot(app.deps, slot!)))
    expect(fired).toEqual([1, 2, 3].map(() => ({ kind: 'fired', sessionId: slot!.planned_session_id })))
    expect(await sessionsOf('twice')).toHaveLength(1)
  })

  test('a removed trigger disappears, and its slots stay', async () => {
    await app.manifest(cronTrigger('leaving', '0 13 * * *'))
    app.clock.now = startOfTests + hour
    await fireDueTriggers(app.deps, signal)
    await app.manifest('')
    expect((await app.request('GET', app.of('leaving'))).status).toBe(404)
    app.clock.now += 24 * hour
    await fireDueTriggers(app.deps, signal)
    expect(await sessionsOf('leaving')).toHaveLength(1)
  })

  test('changing a trigger while it fires does not deadlock', async () => {
    await app.manifest(cronTrigger('both', '0 13 * * *'))
    app.clock.now = startOfTests + hour
    const { db } = app.deps
    let changing = Promise.resolve()
    await db.transaction().execute(async (trx) => {
      const [trigger] = await lockTriggers(trx, app.project.project_id)
      changing = app.manifest(cronTrigger('both', '0 14 * * *'))
      await until('the change waits for who fires it', async () => {
        const { rows } = await sql<{ waiting: boolean }>`select exists (select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock') as waiting`.execute(db)
        return rows[0]!.waiting
      })
      await insertSlotsOf(app.deps, trx, { ...trigger!, next_due_at: trigger!.next_due_at! }, app.deps.now())
    })
    await changing
    expect(await app.trigger('both')).toMatchObject({
      ...{ cron: '0 14 * * *', slots: [{ due_at: iso(startOfTests + hour), status: 'claimed' }] },
    })
  })

  test('changing a due trigger still records and fires its slot', async () => {
    await app.manifest(cronTrigger('busy', '0 13 * * *'))
    app.clock.now = startOfTests + hour
    await app.manifest(cronTrigger('busy', '0 13 * * *', 'enabled = false'))
    expect(await app.trigger('busy')).toMatchObject({
      ...{ enabled: false, next_fire_at: null },
      slots: [{ due_at: iso(startOfTests + hour), status: 'claimed' }],
    })
    await app.deps.db
      .updateTable('trigger_slots')
      .set({ claimed_at: new Date(Date.now() - 5_000) })
      .where('slug', '=', 'busy')
      .execute()
    await fireOrphanedSlots(app.deps, signal)
    expect(await sessionsOf('busy')).toHaveLength(1)
    expect((await app.trigger('busy')).slots).toMatchObject([{ status: 'fired' }])
  })
})

describe('firing by hand', () => {
  test('a failed first turn makes a failed slot with the reason, whatever later turns do', async () => {
    await app.manifest(cronTrigger('fails', '0 3 * * *'))
    app.driver.options.onPrompt = () => Promise.reject(new Error('The model is away.'))
    const { session_id: failed } = (await app.request<{ session_id: string }>('POST', app.of('fails', 'fire'))).body
    await until('its first turn failed', async () => (await app.session(failed)).last_turn_error)
    const slot = { status: 'failed', session_id: failed, reason: 'The model is away.' }
    expect((await app.trigger('fails')).slots).toMatchObject([slot])
    delete app.driver.options.onPrompt
    await app.request('POST', app.path(failed, 'prompt'), { body: { text: 'again' } })
    await until('a later turn succeeds', async () => (await app.session(failed)).last_turn_error === null)
    expect((await app.trigger('fails')).slots).toMatchObject([slot])

    const { session_id: good } = (await app.request<{ session_id: string }>('POST', app.of('fails', 'fire'))).body
    await until('the slot of a good turn is fired', async () => {
      const row = await app.deps.db.selectFrom('project_sessions').selectAll().where('session_id', '=', good).execute()
      return row[0]?.first_turn_ended_at !== null
    })
    app.driver.options.onPrompt = () => Promise.reject(new Error('The model is away.'))
    await app.request('POST', app.path(good, 'prompt'), { body: { text: 'later' } })
    await until('a later turn fails', async () => (await app.session(good)).last_turn_error)
    delete app.driver.options.onPrompt
    expect((await app.trigger('fails')).slots[0]).toMatchObject({ status: 'fired', session_id: good, reason: null })
  })

  test('a session that does not start makes a failed slot with the reason', async () => {
    await app.manifest(cronTrigger('unstarted', '0 3 * * *'))
    app.driver.failures.push('no-space')
    const { session_id } = (await app.request<{ session_id: string }>('POST', app.of('unstarted', 'fire'))).body
    await app.reaches(session_id, 'failed')
    expect((await app.trigger('unstarted')).slots).toMatchObject([
      { status: 'failed', session_id, reason: expect.stringContaining('The disk is full.') },
    ])
  })

  test("starts a session with the person's message, also for a disabled trigger", async () => {
    await app.manifest(cronTrigger('manual', '0 3 * * *', 'enabled = false'))
    const fired = await app.request<{ session_id: string; status: string }>('POST', app.of('manual', 'fire'), {
      body: { message: 'And look at x.' },
    })
    expect([fired.status, fired.body.status]).toEqual([202, 'fired'])
    const found = await app.trigger('manual')
    expect(found.slots).toMatchObject([{ kind: 'manual', status: 'fired', session_id: fired.body.session_id }])
    expect(found.last_fired_at).not.toBeNull()
    const { env } = await until('its sandbox is there', async () => {
      const live = await app.session(fired.body.session_id)
      return app.driver.seen(live.sandbox?.sandbox_id ?? '')?.spec ?? null
    })
    expect(env.SVC_INITIAL_PROMPT).toEndWith('\n\nAnd look at x.')
  })

  test('the same key returns the same session', async () => {
    const headers = { 'idempotency-key': 'once-only' }
    const replies = await Promise.all(
      [1, 2].map(() => app.request<{ session_id: string }>('POST', app.of('manual', 'fire'), { headers, body: {} })),
    )
    const sessions = new Set(replies.filter((reply) => reply.status === 202).map((reply) => reply.body.session_id))
    expect(sessions.size).toBe(1)
  })

  test('answers 429 at the session limit and records it', async () => {
    const capped = await makeTriggerApp({ configure: { sessionLimit: 1 } })
    await capped.manifest(cronTrigger('tight', '0 13 * * *'))
    expect((await capped.request('POST', capped.of('tight', 'fire'))).status).toBe(202)
    const refused = await capped.request('POST', capped.of('tight', 'fire'))
    expect(refused.status).toBe(429)
    expect(refused.body.code).toBe('concurrent_session_limit')
    capped.clock.now += hour
    await fireDueTriggers(capped.deps, signal)
    const { slots } = await capped.trigger('tight')
    expect(slots.map((slot) => [slot.kind, slot.status]).sort()).toEqual([
      ['cron', 'skipped'],
      ['manual', 'fired'],
      ['manual', 'skipped'],
    ])
    expect(slots.find((slot) => slot.kind === 'cron')!.reason).toStartWith('concurrent_session_limit:')
    await capped.close()
  })

  test('limits depth and rate of triggers fired by agents that triggers started', async () => {
    let token = app.ownerToken
    const depths: number[] = []
    for (let depth = 0; depth <= 4; depth++) {
      const fired = await app.request<{ session_id: string }>('POST', app.of('manual', 'fire'), { token })
      depths.push(fired.status)
      if (fired.status !== 202) break
      token = await app.makeToken({ project_id: app.project.project_id, session_id: fired.body.session_id })
    }
    expect(depths).toEqual([202, 202, 202, 202, 429])
    await app.askedLately('manual', 'manual', 29)
    const fire = () => app.request('POST', app.of('manual', 'fire'))
    expect((await fire()).status).toBe(202)
    const refused = await fire()
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

describe('enabling and disabling a trigger', () => {
  const text = `# mine\n${cronTrigger('switch', '0 3 * * *', '# the end')}`
  type Switched = { change_request: ChangeRequest | null; merged: boolean }

  test("a user's change opens a change request and merges it at once in their name", async () => {
    await app.manifest(text)
    const { status, body } = await app.request<Switched>('POST', app.of('switch', 'disable'))
    expect(status).toBe(200)
    expect(body).toMatchObject({ merged: true, change_request: { status: 'merged', base_ref: 'main' } })
    expect(await gitText(app.repo, 'show', 'main:svc.toml')).toBe(
      text.replace('slug = "switch"\n', 'slug = "switch"\nenabled = false\n').trim(),
    )
    expect(await gitText(app.repo, 'log', '-1', '--format=%B', 'main')).toContain('Requested by ')
    expect(await app.trigger('switch')).toMatchObject({ enabled: false, next_fire_at: null })
    expect((await app.request<Switched>('POST', app.of('switch', 'disable'))).body).toEqual({
      change_request: null,
      merged: false,
    })
    expect((await app.request<Switched>('POST', app.of('switch', 'enable'))).body.merged).toBeTrue()
    expect((await app.trigger('switch')).enabled).toBeTrue()
    expect(await gitText(app.repo, 'show', 'main:svc.toml')).toContain('# mine\n')
  })

  test("an agent's change only opens a change request", async () => {
    await app.manifest(text)
    const { token } = await app.makeSession(app.project)
    const before = await gitText(app.repo, 'rev-parse', 'main')
    const { body } = await app.request<Switched>('POST', app.of('switch', 'disable'), { token })
    expect(body).toMatchObject({ merged: false, change_request: { status: 'open' } })
    expect(await gitText(app.repo, 'rev-parse', 'main')).toBe(before)
    expect((await app.trigger('switch')).enabled).toBeTrue()
  })

  test('answers 404 for an unknown trigger', async () => {
    expect((await app.request('POST', app.of('nope', 'enable'))).status).toBe(404)
  })
})

test('notices an outside push to an external repository like a merge', async () => {
  const { project, repo } = await app.externalProject({ 'svc.toml': cronTrigger('outside', '0 3 * * *') })
  const list = `/v1/projects/${project.project_id}/triggers`
  const slugs = async () =>
    (await app.request<{ triggers: { slug: string }[] }>('GET', list)).body.triggers.map(({ slug }) => slug)
  expect(await slugs()).toEqual(['outside'])
  await commit(repo, 'main', { 'svc.toml': cronTrigger('renamed', '0 3 * * *') })
  await app.look()
  const { rows } = {
    rows: await app.deps.db
      .selectFrom('triggers')
      .select('slug')
      .where('project_id', '=', project.project_id)
      .execute(),
  }
  expect(rows).toEqual([{ slug: 'renamed' }])
  const disabled = await app.request<{ merged: boolean }>('POST', `${list}/renamed/disable`)
  expect(disabled.body.merged).toBeTrue()
  expect(await gitText(repo, 'show', 'main:svc.toml')).toContain('enabled = false')
})
