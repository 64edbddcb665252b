import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Session } from '@svc/contract'
import { updateRows } from '../../db/rows.ts'
import { until } from '../../testing-until.ts'
import { makeSessionApp, type SessionApp } from '../testing.ts'

let app: SessionApp
beforeAll(async () => {
  app = await makeSessionApp()
}, 120_000)
afterAll(() => app.close())

describe('reading and renaming', () => {
  test('tells the fields of a session, and whether its agent is at work to who asks for that', async () => {
    const { session_id } = await app.running()
    const fields = `session_id account_id project_id name branch_name base_ref agent_name model status error
      last_turn_error sandbox_url sandbox created_by acts_for parent_session_id continues metadata created_at updated_at last_active_at
      refresh waiting_for asleep_since sandbox_ended transcript_deleted_at branch_deleted_at`.split(/\s+/)
    const asked = '?include=activity'
    for (const path of [app.path(session_id), app.path()]) {
      const one = async (query: string) => {
        const { body } = await app.request<Session | Session[]>('GET', path + query)
        return Array.isArray(body) ? body.find((session) => session.session_id === session_id)! : body
      }
      const found = Object.keys(await one(''))
      expect(found.filter((field) => field !== 'task')).toEqual(fields)
      expect(await one(asked)).toMatchObject({ is_busy: false })
    }
    expect((await app.request('GET', `${app.path(session_id)}?include=all`)).status).toBe(400)
  })

  test('lists are of one project, newest first, by status, in pages', async () => {
    const { project } = await app.managedProject()
    const path = `/v1/projects/${project.project_id}/sessions`
    const made: string[] = []
    for (let n = 0; n < 5; n++)
      made.unshift((await app.request<Session>('POST', path, { body: { name: `n${n}` } })).body.session_id)
    const first = await app.request<Session[]>('GET', `${path}?limit=3`)
    const next = /^<([^>]+)>/.exec(first.headers.get('link')!)![1]!
    const second = await app.request<Session[]>('GET', next)
    expect([...first.body, ...second.body].map((session) => session.session_id)).toEqual(made)
    expect(second.headers.get('link')).toBeNull()
    await app.request('POST', `${path}/${made[0]}/stop`)
    const stopped = await app.request<Session[]>('GET', `${path}?status=stopped`)
    expect(stopped.body.map((session) => session.session_id)).toEqual([made[0]!])
  })

  test('a list has the first line of the first prompt, which other prompts do not change', async () => {
    const taskOf = async (id: string) =>
      (await app.request<Session[]>('GET', app.path())).body.find(({ session_id }) => session_id === id)?.task
    const { session_id } = await app.running({ initial_prompt: '\n  Update the dependencies  \nand their tests' })
    await until('the agent has the prompt', async () => (await taskOf(session_id)) !== null)
    expect(await taskOf(session_id)).toBe('Update the dependencies')
    await app.request('POST', app.path(session_id, 'prompt'), { body: { text: 'Now the docs' } })
    expect(await taskOf(session_id)).toBe('Update the dependencies')
    const long = await app.running({ initial_prompt: 'x'.repeat(500) })
    await until('the agent has the prompt', async () => (await taskOf(long.session_id)) !== null)
    expect(await taskOf(long.session_id)).toBe(`${'x'.repeat(199)}…`)
    expect(await taskOf((await app.running()).session_id)).toBeNull()
  })

  test('a list has no prompt that the agent does not have yet, because it is not redacted', async () => {
    const { session_id } = await app.running({ initial_prompt: 'Use hunter2 for it' })
    const waiting = { initial_prompt: 'Use hunter2 for it', initial_prompt_delivered_at: null }
    await updateRows(app.deps.db, 'project_sessions', { session_id }, waiting)
    await app.deps.db.deleteFrom('session_prompts').where('session_id', '=', session_id).execute()
    for (const path of [app.path(), '/v1/inbox']) {
      const { body } = await app.request('GET', path)
      expect(JSON.stringify(body)).toContain(session_id)
      expect(JSON.stringify(body)).not.toContain('"task":"Use hunter2')
    }
  })

  test('a name and metadata change alone', async () => {
    const { body } = await app.create({ name: 'before', metadata: { a: 1 } })
    const path = app.path(body.session_id)
    expect((await app.request<Session>('PATCH', path, { body: { name: ' after ' } })).body).toMatchObject({
      ...{ name: 'after', metadata: { a: 1 } },
    })
    expect((await app.request<Session>('PATCH', path, { body: { metadata: { b: 2 } } })).body).toMatchObject({
      ...{ name: 'after', metadata: { b: 2 } },
    })
    expect((await app.request<Session>('PATCH', path, { body: { status: 'failed' } })).body.status).not.toBe('failed')
  })

  test('a session of another project is not there', async () => {
    const { project } = await app.managedProject()
    const session = await app.running()
    for (const [method, verb] of [
      ['GET', ''],
      ['GET', '/transcript'],
      ['POST', '/stop'],
      ['DELETE', ''],
    ] as const) {
      const path = `/v1/projects/${project.project_id}/sessions/${session.session_id}${verb}`
      expect((await app.request(method, path)).status).toBe(404)
    }
    expect((await app.session(session.session_id)).status).toBe('running')
  })
})
