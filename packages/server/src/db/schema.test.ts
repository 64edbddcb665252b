import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import {
  appDeployStatuses,
  changeRequestStatuses,
  checkStatuses,
  promptStatuses,
  questionKinds,
  questionStatuses,
  roles,
  sandboxStatuses,
  sessionStatuses,
  signInWay,
} from '@svc/contract'
import pg from 'pg'
import { type Column, readColumns, readEnums, tablesSource, target } from '../../generate-tables.ts'
import { migrate } from './migrate.ts'
import { createTestDatabase, type TestDatabase } from './testing-cluster.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createTestDatabase({ name: 'server', prepare: migrate })
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
}, 120_000)
afterAll(async () => {
  await client.end()
  await database.drop()
})

const columns = (): Promise<Column[]> => readColumns(client)
const enums = (): Promise<Map<string, string[]>> => readEnums(client)

describe('the Schema type', () => {
  test('has the tables and columns of the database', async () => {
    expect((await columns()).length).toBeGreaterThan(150)
    // Run `npm run generate` when this fails.
    expect(await Bun.file(target).text()).toBe(await tablesSource(client))
  })

  test('has the values of the contract, in their order', async () => {
    const known = await enums()
    const named: Record<string, readonly string[]> = {
      member_role: roles,
      session_status: sessionStatuses,
      sandbox_status: sandboxStatuses,
      prompt_status: promptStatuses,
      change_request_status: changeRequestStatuses,
      app_deploy_status: appDeployStatuses,
      check_run_status: checkStatuses,
      question_kind: questionKinds,
      question_status: questionStatuses,
      dashboard_session_start: signInWay.options,
    }
    for (const [name, values] of Object.entries(named)) expect([name, known.get(name)]).toEqual([name, [...values]])
  })
})

describe('the schema in spec.md', () => {
  test('has the indexes of change_requests', async () => {
    const { rows } = await client.query<{ indexname: string; indexdef: string }>(
      `select indexname, indexdef from pg_indexes where tablename = 'change_requests'`,
    )
    const found = new Map(rows.map(({ indexname, indexdef }) => [indexname, indexdef]))
    expect(found.get('idx_change_requests_account')).toEndWith('(account_id)')
    expect(found.get('idx_change_requests_project')).toEndWith('(project_id)')
    expect(found.get('idx_change_requests_project_status')).toEndWith('(project_id, status)')
    expect(found.get('idx_change_requests_project_number')).toMatch(/^CREATE UNIQUE INDEX .*\(project_id, number\)$/)
  })

  test('has the values of the enums, in their order', async () => {
    const found = await enums()
    expect(found.get('change_request_status')).toEqual(['open', 'merged', 'closed'])
    expect(found.get('session_status')?.join(' ')).toBe(
      'queued branching provisioning running stopped failed completed',
    )
    expect(found.get('sandbox_status')?.join(' ')).toBe('provisioning active stopped error archived')
    expect(found.get('member_role')).toEqual(['owner', 'admin', 'member', 'viewer'])
  })

  test('has the columns of a change request and whether they can be null', async () => {
    const found = (await columns()).filter(({ table }) => table === 'change_requests')
    const nullable = found.filter((each) => each.nullable).map(({ column }) => column)
    expect(found).toHaveLength(24)
    expect(nullable.toSorted()).toEqual(
      [
        'head_commit_sha base_commit_sha missing_ref origin_session_id merged_at merged_by merge_commit_sha',
        'merge_lost_at merge_lost_server',
        'closed_at closed_by created_by',
      ]
        .join(' ')
        .split(' ')
        .toSorted(),
    )
  })

  test('stores every time with the milliseconds that the API shows', async () => {
    const { rows } = await client.query(
      `select table_name, column_name from information_schema.columns
        where table_schema = 'public' and udt_name like 'timestamp%' and (datetime_precision <> 3 or udt_name <> 'timestamptz')`,
    )
    expect(rows).toEqual([])
  })
})

describe('deleting a project', () => {
  test('deletes everything of the project and keeps the audit log', async () => {
    const [account, user, project, other, session, sandbox, cr] = Array.from({ length: 7 }, () => randomUUID())
    const hash = () => randomBytes(32)
    const run = (text: string, ...values: unknown[]) => client.query(text, values)
    await run(`insert into accounts values ($1, 'a', 'selfhost')`, account)
    await run(`insert into users values ($1, 'u', null)`, user)
    for (const id of [project, other])
      await run(
        `insert into projects (project_id, account_id, slug, name, repo_url, default_branch, managed, data_key)
         values ($1, $2, $3, 'p', '', 'main', true, '\\x00')`,
        ...[id, account, id],
      )
    await run(
      `insert into project_sessions (session_id, account_id, project_id, name, branch_name, base_ref, agent_name, status)
       values ($1, $2, $3, 's', $1::uuid::text, 'main', 'build', 'running')`,
      ...[session, account, project],
    )
    await run(
      `insert into session_sandboxes (sandbox_id, session_id, driver, status, generation, instance_id)
       values ($1, $2, 'fake', 'active', 1, $1)`,
      ...[sandbox, session],
    )
    await run(`insert into session_phases values ($1, 1, 0, 'branch', now(), 1, null, null)`, session)
    await run(`insert into session_prompts (prompt_id, session_id, text) values ($1, $1, 'p')`, session)
    await run(
      `insert into session_messages (session_id, message_id, generation, role, created_at) values ($1, 'm', 1, 'user', now())`,
      session,
    )
    await run(
      `insert into tokens (token_id, sha256, name, user_id, project_id, session_id) values ($1, $2, 't', $3, $4, $5)`,
      ...[randomUUID(), hash(), user, project, session],
    )
    await run(
      `insert into sandbox_credentials (credential_id, kind, sha256, project_id, session_id, sandbox_id, generation, user_id)
       values ($1, 'service', $2, $3, $4, $5, 1, $6)`,
      ...[randomUUID(), hash(), project, session, sandbox, user],
    )
    await run(
      `insert into secrets (project_id, name, version, sealed, value_bytes) values ($1, 'A', 1, '\\x00', 1)`,
      project,
    )
    for (const [id, of] of [
      [cr, project],
      [randomUUID(), other],
    ])
      await run(
        `insert into change_requests (cr_id, account_id, project_id, number, title, base_ref, head_ref, origin_session_id)
         values ($1, $2, $3, 1, 't', 'main', 'h', $4)`,
        ...[id, account, of, session],
      )
    await run(
      `insert into merge_attempts (attempt_id, cr_id, project_id, base_ref, base_sha, head_sha, result_sha, kind, message, commit_date, caller)
       values ($1, $2, $3, 'main', 'a', 'b', 'c', 'merge-commit', 'm', now(), '{}')`,
      ...[randomUUID(), cr, project],
    )
    await run(
      `insert into audit_events (project_id, actor_kind, action, object_type, object_id) values ($1, 'user', 'x', 'y', 'z')`,
      project,
    )

    await run('delete from projects where project_id = $1', project)

    const left: Record<string, number> = {}
    for (const table of new Set((await columns()).map((column) => column.table))) {
      const { rows } = await client.query<{ n: number }>(`select count(*)::int as n from ${table}`)
      if (rows[0]!.n > 0) left[table] = rows[0]!.n
    }
    expect(left).toEqual({
      accounts: 1,
      users: 1,
      project_looks: 1,
      projects: 1,
      change_requests: 1,
      audit_events: 1,
      // Usage stays counted.
      deleted_sandboxes: 1,
    })
    const survivor = await client.query('select origin_session_id from change_requests')
    expect(survivor.rows).toEqual([{ origin_session_id: null }])
  })

  test('every reference to a project or a session cascades or is set to null', async () => {
    const { rows } = await client.query<{ table: string; column: string; on: string; rule: string }>(
      `select c.conrelid::regclass::text as table, a.attname as column, c.confrelid::regclass::text as on, c.confdeltype::text as rule
         from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
        where c.contype = 'f'`,
    )
    expect(rows.length).toBeGreaterThan(25)
    for (const { table, column, on, rule } of rows) {
      // A token of a deleted session must not merely lose its session: it would become an unbound token. A change
      // request, its reviews with their replies, trigger slots, chat threads, child sessions and sessions that continue it outlive the session.
      const outlives =
        ['origin_session_id', 'parent_session_id', 'continues_session_id'].includes(column) ||
        ['change_request_reviews', 'review_replies', 'trigger_slots', 'channel_threads'].includes(table)
      const letsGo = on === 'users' ? !/^(user_id)$/.test(column) : outlives && on === 'project_sessions'
      expect([table, column, rule]).toEqual([table, column, letsGo ? 'n' : 'c'])
    }
  })
})

test('refuses to change or delete audit rows, one by one or all together', async () => {
  await client.query(
    `insert into audit_events (actor_kind, action, object_type, object_id) values ('user', 'x', 'y', 'z')`,
  )
  await expect(client.query(`update audit_events set action = 'w'`)).rejects.toThrow(/append-only/)
  await expect(client.query('delete from audit_events')).rejects.toThrow(/append-only/)
})
