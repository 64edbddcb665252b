import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Usage } from '@svc/contract'
import { sql } from 'kysely'
import { makeTestApp, type TestApp } from '../../testing.ts'

let app: TestApp
beforeAll(async () => {
  app = await makeTestApp({})
})
afterAll(() => app.close())

test('the totals count what the lists leave out', async () => {
  const { project } = await app.managedProject()
  const { account_id, project_id } = project
  await sql`
    with ran as (
      insert into project_sessions (session_id, account_id, project_id, name, branch_name, base_ref, agent_name, status,
        desired, created_by)
      select gen_random_uuid(), ${account_id}, ${project_id}, 'Ended', 'work', 'main', 'build', 'stopped', 'stopped', null
      from generate_series(1, 1200) returning session_id),
    rested as (
      insert into session_sandboxes (sandbox_id, session_id, driver, status, generation, instance_id, created_at, updated_at)
      select gen_random_uuid(), session_id, 'local', 'stopped', 1, gen_random_uuid(), now() - interval '20 seconds', now() - interval '10 seconds'
      from ran)
    insert into model_usage (account_id, project_id, session_id, day, model, calls, tokens_in, tokens_out)
    select ${account_id}, ${project_id}, session_id, (now() at time zone 'UTC')::date, 'model-' || n, 1, 3, 2
    from ran cross join generate_series(1, 5) n`.execute(app.deps.db)
  const { body } = await app.request<Usage>('GET', `/v1/projects/${project_id}/usage`)
  expect([body.sandboxes.length, body.models.length]).toEqual([1000, 5])
  expect(body.totals).toEqual({ calls: 6_000, tokens_in: 18_000, tokens_out: 12_000, sandbox_seconds: 12_000 })
})
