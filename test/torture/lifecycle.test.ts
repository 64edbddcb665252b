/** A project and a session from start to end, with the server killed once at every step. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Project, Session } from '@svc/contract'
import pg from 'pg'
import { until } from '../e2e/harness.ts'
import { sharedTortureProgram } from './program.ts'
import { commitEach } from './repositories.ts'
import { pointsOf, scenarios } from './scenarios.ts'
import { TortureServer } from './server.ts'
import { World } from './world.ts'

let world: World
let database: pg.Client
beforeAll(async () => {
  world = await World.make(await TortureServer.make(await sharedTortureProgram()))
}, 120_000)
afterAll(() => world.close(), 120_000)

/** Runs the story against a server that dies at `point`, and continues with the next server. */
async function diesAt(point: string, story: () => Promise<void>): Promise<void> {
  const { server } = world
  const sandboxes = scenarios[point]!.sandboxes === true
  if (server.isRunning) await server.kill()
  await server.start({ failpoints: `${point}=kill@1`, sandboxes })
  let died = false
  const again = server.exited.then(() => {
    died = true
    return server.start()
  })
  await story()
  if (!died) await server.kill()
  await again
  expect(died).toBe(true)
  database = new pg.Client({ connectionString: await server.databaseUrl() })
  await database.connect()
}

const countOf = async (statement: string, ...values: string[]) =>
  Number((await database.query<{ n: string }>(`select count(*) as n from ${statement}`, values)).rows[0]!.n)

const insist = <Body>(method: string, path: string, body: object | null, key: string) =>
  world.insist<Body>(method, path, body, key)

test.each(pointsOf('projects'))(
  'a kill at %s leaves a project created once, deleted, restored, and purged with its files',
  async (point) => {
    const name = point.replaceAll(/[._]/g, '-')
    let id = ''
    await diesAt(point, async () => {
      const made = await insist<Project>('POST', '/v1/projects', { name }, `make-${name}`)
      expect(made.status).toBe(201)
      id = made.body.project_id
      const path = `/v1/projects/${id}`
      expect((await insist('DELETE', path, null, `delete-${name}`)).status).toBe(200)
      expect((await insist('GET', path, null, `get-${name}`)).status).toBe(404)
      // 409: a request whose response was lost has restored it.
      expect([200, 409]).toContain((await insist('POST', `${path}/restore`, null, `restore-${name}`)).status)
      expect((await insist<Project>('GET', path, null, `again-${name}`)).body.slug).toBe(name)
      expect([200, 404]).toContain((await insist('DELETE', `${path}?purge=true`, null, `purge-${name}`)).status)
    })
    await until('its row to be gone', async () => (await countOf('projects where name = $1', name)) === 0)
    const times = { create: 1, delete: 2, restore: 1, purge: 1 }
    for (const [action, count] of Object.entries(times))
      expect(await countOf('audit_events where object_id = $1 and action = $2', id, `project.${action}`)).toBe(count)
    await database.end()
    await until(
      'its folder to be gone',
      async () => !existsSync(join(world.server.dataDir, 'repositories', `${id}.git`)),
    )
  },
  240_000,
)

test.each(pointsOf('sessions'))(
  'a kill at %s leaves a session created once, ended with a reason, and deleted',
  async (point) => {
    const name = point.replaceAll(/[._]/g, '-')
    let id = ''
    let projectId = ''
    await diesAt(point, async () => {
      const project = await insist<Project>('POST', '/v1/projects', { name }, `make-${name}`)
      projectId = project.body.project_id
      const dir = join(world.server.dataDir, 'repositories', `${projectId}.git`)
      await commitEach(dir, [{ branch: 'main', file: 'README.md', from: null }])
      const sessions = `/v1/projects/${projectId}/sessions`
      const ended = () =>
        until('the session to end', async () => {
          const { status, body } = await insist<{ session?: Session } & Session>(
            'GET',
            `${sessions}/${id}`,
            null,
            'look',
          )
          const session = body.session ?? body
          if (status !== 200 || !['stopped', 'failed'].includes(session.status)) return null
          return session
        })

      const made = await insist<Session>('POST', sessions, { name }, `new-${name}`)
      expect(made.status).toBe(201)
      id = made.body.session_id
      expect((await ended()).error).not.toBeNull()
      // The status shows whether the previous server died after the restart began.
      const restarted = await insist('POST', `${sessions}/${id}/restart`, null, `restart-${name}`)
      expect([202, 409]).toContain(restarted.status)
      await ended()
      expect((await insist('POST', `${sessions}/${id}/stop`, null, `stop-${name}`)).status).toBe(200)
      expect([200, 404]).toContain((await insist('DELETE', `${sessions}/${id}`, null, `end-${name}`)).status)
      expect((await insist('GET', `${sessions}/${id}`, null, 'look')).status).toBe(404)
    })
    expect(await countOf('project_sessions where project_id = $1', projectId)).toBe(0)
    for (const action of ['session.create', 'session.delete'])
      expect(await countOf('audit_events where object_id = $1 and action = $2', id, action)).toBe(1)
    expect(await countOf('session_sandboxes where session_id = $1', id)).toBe(0)
    await database.end()
  },
  240_000,
)
