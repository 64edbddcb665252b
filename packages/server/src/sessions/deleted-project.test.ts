/** Deleted projects: who sees them, what stops, what a restore brings back, and when they are purged. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import type { ErrorBody, Project, ProjectDeletion, Trigger, TriggerSlot } from '@svc/contract'
import { routes } from '@svc/contract/openapi'
import { commit } from '@svc/git/testing'
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { managedDir } from '../projects/repository.ts'
import { getProjectOrDeleted, markDeleted } from '../projects/store.ts'
import type { TestReply } from '../testing.ts'
import { fireDueTriggers } from '../triggers/fire-due.ts'
import { cronTrigger, makeTriggerApp, type TriggerApp } from '../triggers/testing.ts'
import { endDeletedProjects, purgeAtOf } from './delete-project.ts'
import { until } from './testing.ts'

const dayMs = 86_400_000
const signal = new AbortController().signal

let app: TriggerApp
let at: string
beforeAll(async () => {
  app = await makeTriggerApp()
  at = `/v1/projects/${app.project.project_id}`
}, 120_000)
afterAll(() => app.close())

const status = async (method: string, path: string, token?: string) =>
  (await app.request(method, path, token === undefined ? {} : { token })).status
const ids = async (path: string, token: string) =>
  (await app.request<Project[]>('GET', path, { token })).body.map(({ project_id }) => project_id)
const endJob = () => endDeletedProjects(app.deps, signal)

describe('a deleted project', () => {
  let admin: { token: string }
  let others: Record<string, string>
  let tokens: Record<string, string>
  let sessionId: string
  let sandboxId: string

  beforeAll(async () => {
    await app.manifest(cronTrigger('often', '*/5 * * * *'))
    await commit(app.repo, 'work', { 'b.txt': 'b\n' })
    await app.request('POST', `${at}/change-requests`, { body: { title: 'Work', head_ref: 'work' } })
    await app.request('POST', `${at}/secrets`, { body: { name: 'A', value: 'canary-value' } })
    const session = await app.running()
    sessionId = session.session_id
    sandboxId = session.sandbox!.sandbox_id
    admin = await app.makeUser('admin')
    const [member, viewer, stranger] = await Promise.all([
      app.makeUser('member'),
      app.makeUser('viewer'),
      app.makeUser('owner', 'own'),
    ])
    others = { member: member.token, viewer: viewer.token, stranger: stranger.token }
    tokens = {
      bound: session.env.SVC_CLI_TOKEN!,
      unbound: await app.makeToken({ project_id: app.project.project_id }),
      service: session.env.SVC_TOKEN!,
    }
    const before = await app.request<ProjectDeletion>('GET', `${at}/deletion`)
    expect(before.body).toMatchObject({ sessions: 1, live_sessions: 1, change_requests: 1, open_change_requests: 1 })
    expect(before.body.repository_bytes).toBeGreaterThan(0)
    expect(await status('DELETE', at, others.member)).toBe(403)
    const { body } = await app.request('DELETE', at)
    expect(body).toEqual({ ok: true, purge_at: new Date(app.clock.now + 30 * dayMs).toISOString() })
  }, 120_000)

  test('stops its sessions and removes their sandboxes', async () => {
    const row = await app.deps.db
      .selectFrom('project_sessions')
      .select(['status', 'desired'])
      .where('session_id', '=', sessionId)
      .executeTakeFirstOrThrow()
    expect(row).toEqual({ status: 'stopped', desired: 'stopped' })
    expect(await app.driver.find(sandboxId)).toBeNull()
  })

  const reached = routes.filter((route) => route.path.includes(':projectId') && route.deleted === null)

  test('this test covers more than 70 routes', () => expect(reached.length).toBeGreaterThan(70))

  test.each(reached.map((route) => [route.name, route] as const))(
    '%s does not reach a deleted project',
    async (_, route) => {
      const path = route.path
        .replace(':projectId', app.project.project_id)
        .replace(':sessionId', sessionId)
        .replaceAll(/:\w+/g, () => app.deps.newId())
      const seen: Record<string, number> = {}
      for (const [who, token] of Object.entries({ owner: app.ownerToken, admin: admin.token, ...others, ...tokens })) {
        const body = route.body === null ? undefined : {}
        seen[who] = (await app.request(route.method, path, { token, body })).status
      }
      // A route of sandboxes takes nothing but the service key, which ended.
      const people = route.access === 'sandbox' ? 401 : 404
      const [owner, member, viewer, stranger] = [people, people, people, people]
      const ended = { bound: 401, unbound: 401, service: 401 }
      expect(seen).toEqual({ owner, admin: owner, member, viewer, stranger, ...ended })
    },
  )

  test('only owners and admins can restore or purge it', async () => {
    for (const token of Object.values(others)) {
      expect(await status('GET', `${at}/deletion`, token)).toBe(404)
      expect(await status('POST', `${at}/restore`, token)).toBe(404)
      expect(await status('POST', `/v1/projects/${app.project.slug}/restore`, token)).toBe(404)
      expect(await status('DELETE', at, token)).toBe(404)
      expect(await status('DELETE', `${at}?purge=true`, token)).toBe(404)
    }
    for (const token of Object.values(tokens))
      for (const path of [`${at}/restore`, `${at}/deletion`]) {
        const method = path.endsWith('restore') ? 'POST' : 'GET'
        expect(await status(method, path, token)).toBe(401)
      }
  })

  test('lists deleted projects for those who may restore them, and in no other list', async () => {
    for (const token of [app.ownerToken, admin.token, others.member!, others.viewer!])
      expect(await ids('/v1/projects', token)).not.toContain(app.project.project_id)
    for (const token of [app.ownerToken, admin.token])
      expect(await ids('/v1/projects?deleted=true', token)).toEqual([app.project.project_id])
    for (const token of Object.values(others)) expect(await ids('/v1/projects?deleted=true', token)).toEqual([])
    const [listed] = (await app.request<Project[]>('GET', '/v1/projects?deleted=true')).body
    expect(listed).toMatchObject({ slug: app.project.slug, deleted_at: new Date(app.clock.now).toISOString() })
  })

  test('answers 404 to git, MCP, and webhooks of triggers and git hosts', async () => {
    const basic = (token: string) => ({ authorization: `Basic ${btoa(`x-access-token:${token}`)}` })
    const git = (token: string) =>
      app.request('GET', `${at}/git/info/refs?service=git-upload-pack`, { token: null, headers: basic(token) })
    expect((await git(app.ownerToken)).status).toBe(404)
    expect((await git(tokens.unbound!)).status).toBe(401)
    const mcp = (token: string) =>
      app.request('POST', '/v1/mcp', { token, headers: { 'x-svc-project': app.project.project_id }, body: {} })
    expect((await mcp(app.ownerToken)).status).toBe(404)
    expect((await mcp(tokens.bound!)).status).toBe(401)
    expect(await status('GET', '/v1/token', tokens.unbound)).toBe(401)
    const call = (path: string) => app.request('POST', path, { token: null, body: {} })
    const missing = at.replace(app.project.project_id, app.deps.newId())
    for (const door of ['triggers/often/webhook', 'host-webhook'])
      expect((await call(`${at}/${door}`)).status).toBe((await call(`${missing}/${door}`)).status)
  })

  test('keeps its date when it is deleted again', async () => {
    app.clock.now += dayMs
    const { status, body } = await app.request('DELETE', at)
    const purgeAt = new Date(app.clock.now + 29 * dayMs).toISOString()
    expect([status, body]).toEqual([200, { ok: true, purge_at: purgeAt }])
  })

  test('fires no trigger', async () => {
    await fireDueTriggers(app.deps, signal)
    await endJob()
    const { slots } = await app.deps.db
      .selectFrom('trigger_slots')
      .select(({ fn }) => fn.countAll<string>().as('slots'))
      .executeTakeFirstOrThrow()
    expect(Number(slots)).toBe(0)
  })

  test('restores everything, under another slug when its own is taken', async () => {
    const taken = await app.request<Project>('POST', '/v1/projects', { body: { name: app.project.slug } })
    expect(taken.body.slug).toBe(app.project.slug)
    app.clock.now += 60_000
    // The slug names the deleted one here, though a live one has it now.
    const restored = await app.request<Project>('POST', `/v1/projects/${app.project.slug}/restore`)
    expect([restored.status, restored.body.project_id]).toEqual([200, app.project.project_id])
    expect(restored.body.slug).toBe(`${app.project.slug}-2`)
    expect(restored.body).not.toHaveProperty('deleted_at')
    expect(await ids('/v1/projects?deleted=true', app.ownerToken)).toEqual([])
    const list = await app.request<{ change_requests: { number: number; status: string }[] }>(
      'GET',
      `${at}/change-requests`,
    )
    expect(list.body.change_requests).toMatchObject([{ number: 1, status: 'open' }])
    const secrets = await app.request<{ items: { name: string }[] }>('GET', `${at}/secrets`)
    expect(secrets.body.items.map(({ name }) => name)).toEqual(['A'])
    expect(await status('GET', at, others.member)).toBe(200)
    expect(await status('GET', at, tokens.unbound)).toBe(200)
    // The credentials of a session ended with its sandbox.
    expect(await status('GET', at, tokens.bound)).toBe(401)
    expect((await app.session(sessionId)).status).toBe('stopped')
    expect((await app.request('POST', app.path(sessionId, 'restart'))).status).toBe(202)
    await app.reaches(sessionId, 'running')
    expect((await app.request('POST', `${at}/restore`)).status).toBe(409)
  })

  test('fires no trigger for slots that it missed', async () => {
    await fireDueTriggers(app.deps, signal)
    const { slots, next_fire_at } = await app.trigger('often')
    expect(slots).toHaveLength(1)
    expect(slots[0]).toMatchObject({ status: 'skipped', reason: 'missed: the project was deleted at that time' })
    expect(Date.parse(next_fire_at!)).toBeGreaterThan(app.clock.now)
    expect(Date.parse(next_fire_at!)).toBeLessThanOrEqual(app.clock.now + 5 * 60_000)
    app.clock.now = Date.parse(next_fire_at!)
    await fireDueTriggers(app.deps, signal)
    const after: Trigger & { slots: TriggerSlot[] } = await app.trigger('often')
    expect(after.slots.filter(({ status }) => status === 'fired')).toHaveLength(1)
  })

  test('records deletion and restoring in the audit log of its account', async () => {
    const path = `/v1/accounts/${app.owner.account_id}/audit?action=project`
    const rows = (await app.request<{ action: string; project_id: string }[]>('GET', path)).body
    const own = rows.filter(({ project_id }) => project_id === app.project.project_id)
    expect(own.map(({ action }) => action)).toEqual(['project.restore', 'project.delete', 'project.create'])
  })
})

describe('a server that dies while it deletes a project', () => {
  test('leaves the stopping to the job', async () => {
    const made = await app.running()
    const project_id = app.project.project_id
    const whole = {
      deleted_at: new Date(app.clock.now),
      deleted_by: app.owner.user_id,
      deleted_slug: 'left',
      purge_at: new Date(app.clock.now + dayMs),
      slug: project_id,
    }
    await app.deps.db.updateTable('projects').set(whole).where('project_id', '=', project_id).execute()
    await endJob()
    expect(await app.driver.find(made.sandbox!.sandbox_id)).toBeNull()
    const restored = await app.request<Project>('POST', `${at}/restore`)
    expect(restored.body.slug).toBe('left')
    expect((await app.session(made.session_id)).status).toBe('stopped')
  })
})

test.each(['deleted', 'purged'] as const)(
  'answers 404 for a session that is created while its project is %s',
  async (how) => {
    const { project } = await app.managedProject()
    const { project_id } = project
    const begin = {
      deleted: (trx: DbOrTransaction) =>
        markDeleted(trx, project_id, { at: app.deps.now(), by: app.owner.user_id, purgeAt: purgeAtOf(app.deps.now()) }),
      purged: (trx: DbOrTransaction) => trx.deleteFrom('projects').where('project_id', '=', project_id).execute(),
    }
    let created: Promise<TestReply<ErrorBody>> | undefined
    await app.deps.db.transaction().execute(async (trx) => {
      await begin[how](trx)
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx)
      created = app.request('POST', `/v1/projects/${project_id}/sessions`, { body: {} })
      await until('the request waits for this transaction', async () => {
        const waiting =
          await sql`select 1 from pg_stat_activity where ${rows[0]!.pid} = any(pg_blocking_pids(pid))`.execute(
            app.deps.db,
          )
        return waiting.rows.length > 0 ? true : null
      })
    })
    const { status, body } = await created!
    expect([status, body.code]).toEqual([404, 'not_found'])
  },
)

test('six projects of one slug that are restored concurrently get different slugs', async () => {
  const deleted: string[] = []
  for (let n = 0; n < 6; n++) {
    const { body } = await app.request<Project>('POST', '/v1/projects', { body: { name: 'raced' } })
    expect(body.slug).toBe('raced')
    await app.request('DELETE', `/v1/projects/${body.project_id}`)
    deleted.push(body.project_id)
  }
  const restored = await Promise.all(deleted.map((id) => app.request<Project>('POST', `/v1/projects/${id}/restore`)))
  expect(restored.map((reply) => reply.status)).toEqual(deleted.map(() => 200))
  expect(new Set(restored.map(({ body }) => body.slug)).size).toBe(deleted.length)
})

describe('keeping a deleted project', () => {
  const deleted = async (name: string) => {
    const { project } = await app.managedProject()
    await app.request('PATCH', `/v1/projects/${project.project_id}`, { body: { name } })
    await app.request('DELETE', `/v1/projects/${project.project_id}`)
    return project
  }

  test('purges it after thirty days, and nobody can restore it', async () => {
    const project = await deleted('kept')
    const path = `/v1/projects/${project.project_id}`
    const folder = managedDir(app.deps, project.project_id)
    app.clock.now += 30 * dayMs - 1
    await endJob()
    expect(existsSync(folder)).toBeTrue()
    app.clock.now += 1
    expect(await ids('/v1/projects?deleted=true', app.ownerToken)).not.toContain(project.project_id)
    expect(await status('POST', `${path}/restore`)).toBe(404)
    await endJob()
    expect(existsSync(folder)).toBeFalse()
    const { body, status: gone } = await app.request<ErrorBody>('POST', `${path}/restore`)
    expect([gone, body.code]).toEqual([404, 'not_found'])
    const audit = `/v1/accounts/${app.owner.account_id}/audit?action=project.purge`
    const purged = await app.request<{ object_id: string; actor_kind: string; actor_user_id: string }[]>('GET', audit)
    // The time of the projects of other tests is over, too.
    const row = purged.body.find(({ object_id }) => object_id === project.project_id)
    expect(row).toMatchObject({ actor_kind: 'service', actor_user_id: app.owner.user_id })
  })

  test('refuses a purge query other than true', async () => {
    const { project } = await app.managedProject()
    for (const purge of ['', '1', 'yes', 'TRUE', 'true,true', '%00'])
      expect(await status('DELETE', `/v1/projects/${project.project_id}?purge=${purge}`)).toBe(400)
    expect(await status('GET', `/v1/projects/${project.project_id}`)).toBe(200)
  })

  test('purges a deleted project at once, by its id only', async () => {
    const project = await deleted('short')
    expect(await status('DELETE', `/v1/projects/${project.slug}?purge=true`)).toBe(404)
    expect(await status('DELETE', `/v1/projects/${project.project_id}?purge=true`)).toBe(200)
    expect(existsSync(managedDir(app.deps, project.project_id))).toBeFalse()
    expect(await status('POST', `/v1/projects/${project.project_id}/restore`)).toBe(404)
  })

  test('the first of two servers with different clocks purges it, and a restored project stays', async () => {
    const projects: Project[] = []
    for (const name of ['first', 'second']) {
      projects.push(await deleted(name))
      app.clock.now += 1
    }
    const [purged, kept] = projects.map(({ project_id }) => project_id) as [string, string]
    const { session_id } = await app.makeSession(projects[0]!)
    app.clock.now += 30 * dayMs - 1_000
    const fast: Deps = { ...app.deps, now: () => new Date(app.clock.now + 2_000) }
    let job: Promise<unknown> | undefined
    await app.deps.db.transaction().execute(async (trx) => {
      // The purge of the first waits here, with the second on its list.
      await trx.selectFrom('project_sessions').where('session_id', '=', session_id).forUpdate().select('name').execute()
      job = endDeletedProjects(fast, signal)
      await until('the purge began', async () => {
        const row = await getProjectOrDeleted(app.deps.db, purged)
        return row !== null && row.purge_at === row.deleted_at ? row : null
      })
      expect(await status('POST', `/v1/projects/${purged}/restore`)).toBe(404)
      expect(await ids('/v1/projects?deleted=true', app.ownerToken)).not.toContain(purged)
      expect(await status('POST', `/v1/projects/${kept}/restore`)).toBe(200)
    })
    await job
    expect(existsSync(managedDir(app.deps, purged))).toBeFalse()
    expect(await status('POST', `/v1/projects/${purged}/restore`)).toBe(404)
    expect(await status('GET', `/v1/projects/${kept}/branches`)).toBe(200)
  })
})
