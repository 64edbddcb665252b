/** What only looks back is deleted when it is as old as the settings say, and its rows and space come back. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RetentionKind, retentionKinds } from '@svc/contract'
import { sql } from 'kysely'
import { parseConfig } from '../config.ts'
import { makeSessionApp, type SessionApp, until } from '../sessions/testing.ts'
import { retentionJobs } from './delete-old.ts'
import { DeletionClock } from './deletion-clock.ts'

interface Storage {
  disk: { total_bytes: number; free_bytes: number; min_free_bytes: number }
  database_bytes: number
  folders: { kind: string; path: string; bytes: number }[]
  kept: { kind: RetentionKind; keep_days: number | null; rows: number; bytes: number; oldest_at: string | null }[]
  projects: { project_id: string; repository_bytes: number | null; transcript_bytes: number; deleted: boolean }[]
}

const oldRows = 2_000
const keepDays = {
  ...{ events: 10, deliveries: 10, checks: 10, deploys: 10, firings: 10, transcripts: 10, audit: 10 },
  // Branches are in change-requests/branches/delete-merged.test.ts.
  branches: null,
}
const kinds = retentionKinds.filter((kind) => kind !== 'branches')

let app: SessionApp

beforeAll(async () => {
  app = await makeSessionApp({ configure: { keepDays } })
}, 120_000)
afterAll(() => app.close())

const storage = async () => (await app.request<Storage>('GET', '/v1/storage')).body

async function runJobs(): Promise<void> {
  for (const job of retentionJobs(app.deps, new DeletionClock(app.deps)))
    await job.run(new AbortController().signal, new Set())
}

/** Rows of each kind, first young ones and then old ones: space at the end of a table returns to the disk. */
async function fill(restingSession: string): Promise<void> {
  const { project_id: project, account_id: account } = app.project
  const { db, instanceId } = app.deps
  const of = (days: number, count: number) => [
    sql`insert into project_events (project_id, number, type, data, created_at)
      select ${project}, null, 'default_branch.moved', jsonb_build_object('filler', repeat('x', 500)),
        now() - make_interval(days => ${days}) from generate_series(1, ${count}::int)`,
    sql`insert into webhook_deliveries (delivery_id, webhook_id, event_type, status, answer, created_at)
      select gen_random_uuid(), (select webhook_id from webhooks limit 1), 'x', 'delivered', repeat('x', 500),
        now() - make_interval(days => ${days}) from generate_series(1, ${count}::int)`,
    sql`with runs as (
        insert into check_runs (run_id, account_id, project_id, tree_sha, definition_hash, name, command, status, ended_at)
        select gen_random_uuid(), ${account}, ${project}, md5(${days} || 't' || n), md5(${days} || 'd' || n), 'test', 'true',
          'passed', now() - make_interval(days => ${days}) from generate_series(1, ${count}::int) n returning run_id)
      insert into check_log_chunks (run_id, lines, bytes) select run_id, '[]', 2 from runs`,
    sql`insert into app_deploys (deploy_id, project_id, slug, number, status, hash, commit_sha, definition, cause, created_at, ended_at)
      select gen_random_uuid(), ${project}, 'web', 500000 - ${days} * 10000 - n, 'replaced', 'h', 'c', '{}', 'request', now() - make_interval(days => ${days}),
        now() - make_interval(days => ${days}) from generate_series(1, ${count}::int) n`,
    sql`insert into trigger_slots (slot_id, project_id, slug, kind, slot_key, due_at, status, planned_session_id, instance_id, created_at)
      select gen_random_uuid(), ${project}, 'nightly', 'cron', ${days} || ' ' || n, now(), 'fired', gen_random_uuid(),
        ${instanceId}, now() - make_interval(days => ${days}) from generate_series(1, ${count}::int) n`,
    sql`insert into audit_events (actor_kind, action, object_type, object_id, at)
      select 'user', 'x', 'y', repeat('z', 500), now() - make_interval(days => ${days})
      from generate_series(1, ${count}::int)`,
  ]
  await sql`insert into webhooks (webhook_id, project_id, url, events, secret, cursor)
    values (gen_random_uuid(), ${project}, 'https://example.com', '[]', '', 0)`.execute(db)
  await sql`insert into apps (project_id, slug, position, definition, enabled, host)
    values (${project}, 'web', 0, '{}', false, 'web')`.execute(db)
  // The audit log is deleted from its beginning on.
  for (const insert of [...of(20, oldRows).slice(-1), ...of(1, 3), ...of(20, oldRows).slice(0, -1)])
    await insert.execute(db)
  // An event has the time at which it got its number.
  await sql`update project_events set created_at = now() - interval '20 days'
    where data ? 'filler' and number not in (select max(number) from project_events)`.execute(db)
  await sql`insert into session_messages (session_id, message_id, generation, role, created_at, parts)
    select ${restingSession}, 'msg_' || n, 1, 'assistant', now() - interval '20 days',
      jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('x', 500))) from generate_series(1, ${oldRows}::int) n`.execute(
    db,
  )
}

const tables = {
  events: ['project_events', 'created_at'],
  deliveries: ['webhook_deliveries', 'created_at'],
  checks: ['check_runs', 'ended_at'],
  firings: ['trigger_slots', 'created_at'],
  audit: ['audit_events', 'at'],
} as const

const countOld = async (table: string, age: string) =>
  (
    await sql<{ n: number }>`select count(*)::int as n from ${sql.table(table)}
      where ${sql.ref(age)} < now() - interval '10 days'`.execute(app.deps.db)
  ).rows[0]!.n

const vacuum = () => sql`vacuum analyze`.execute(app.deps.db)

test('old rows of each kind are deleted and young ones stay, which the operator sees with their size and age', async () => {
  const resting = await app.running({ initial_prompt: 'Say who you are.' })
  const young = await app.running()
  await app.request('POST', app.path(resting.session_id, 'prompt'), { body: { text: 'Say hello.' } })
  for (const { session_id } of [resting, young]) {
    await app.request('POST', app.path(session_id, 'stop'))
    await app.reaches(session_id, 'stopped')
  }
  await fill(resting.session_id)
  await sql`update project_sessions set last_active_at = now() - interval '20 days'
    where session_id = ${resting.session_id}`.execute(app.deps.db)
  await vacuum()
  const before = await storage()
  const isOld = (at: string | null) => at !== null && Date.parse(at) < Date.now() - 10 * 86_400_000
  expect(before.kept.map(({ kind, keep_days, oldest_at }) => [kind, keep_days, isOld(oldest_at)])).toEqual(
    retentionKinds.map((kind) => [kind, keepDays[kind], kind !== 'branches']),
  )
  expect(before.projects[0]!.transcript_bytes).toBeGreaterThan(0)

  await runJobs()
  for (const [table, age] of Object.values(tables)) expect([table, await countOld(table, age)]).toEqual([table, 0])
  const deploys = await sql<{ number: number }>`select number from app_deploys order by number desc`.execute(
    app.deps.db,
  )
  // The three young ones, and as many old ones as make five to go back to.
  expect(deploys.rows.map(({ number }) => number)).toEqual([489_999, 489_998, 489_997, 299_999, 299_998])

  const sizes = (found: Storage) => Object.fromEntries(found.kept.map(({ kind, bytes }) => [kind, bytes]))
  // The old rows of the audit log are at its beginning, so their space is only used again.
  const smaller = kinds.filter((kind) => kind !== 'audit')
  const after = await until(
    'the space to come back, which a vacuum leaves to the next one beside a reader',
    async () => {
      await vacuum()
      const found = await storage()
      return smaller.every((kind) => sizes(found)[kind]! < sizes(before)[kind]!) ? found : null
    },
  )
  for (const kind of kinds) {
    expect(after.kept.find((each) => each.kind === kind)!.rows).toBeLessThan(oldRows)
  }
  expect(after.database_bytes).toBeLessThan(before.database_bytes)
}, 120_000)

test('a session whose transcript is deleted says so, and is otherwise whole', async () => {
  const [resting] = (
    await sql<{ session_id: string }>`select session_id from project_sessions
    where transcript_deleted_at is not null`.execute(app.deps.db)
  ).rows
  const session = await app.session(resting!.session_id)
  expect(session).toMatchObject({ status: 'stopped', branch_name: expect.any(String) })
  expect(Date.parse(session.transcript_deleted_at!)).toBeGreaterThan(Date.now() - 60_000)
  expect((await app.request('GET', app.path(session.session_id, 'transcript'))).body).toEqual({ messages: [] })
  expect((await app.request('GET', app.path(session.session_id, 'prompts'))).body).toEqual({ prompts: [] })
  const restarted = await app.request('POST', app.path(session.session_id, 'restart'))
  expect(restarted.status).toBeLessThan(300)
  await app.reaches(session.session_id, 'running')
})

test('the prompt of a session that failed before its agent got it goes, too', async () => {
  const failed = await app.running({ initial_prompt: 'Say who you are.' })
  await app.request('POST', app.path(failed.session_id, 'stop'))
  await app.reaches(failed.session_id, 'stopped')
  await sql`update project_sessions set status = 'failed', initial_prompt = 'Say who you are.',
    initial_prompt_delivered_at = null, last_active_at = now() - interval '20 days'
    where session_id = ${failed.session_id}`.execute(app.deps.db)
  await sql`update session_prompts set status = 'accepted' where session_id = ${failed.session_id}`.execute(app.deps.db)
  await runJobs()
  const { rows } = await sql`select initial_prompt, transcript_deleted_at is not null as deleted,
    exists(select from session_prompts p where p.session_id = s.session_id) as prompted
    from project_sessions s where session_id = ${failed.session_id}`.execute(app.deps.db)
  expect(rows).toEqual([{ initial_prompt: null, deleted: true, prompted: false }])
})

test('nothing is deleted for ever, and a setting that is no such time is refused with the reason', () => {
  const forever = Object.fromEntries(retentionKinds.map((kind) => [`SVC_KEEP_${kind.toUpperCase()}`, 'forever']))
  expect(
    retentionJobs(
      { ...app.deps, config: { ...app.deps.config, ...parseConfig(forever) } },
      new DeletionClock(app.deps),
    ),
  ).toEqual([])
  expect(parseConfig({}).keepDays).toMatchObject({ audit: null, branches: null })
  expect(parseConfig({ SVC_KEEP_EVENTS: '26w' }).keepDays).toMatchObject({ events: 182, transcripts: 365, audit: null })
  for (const text of ['0', '3d', '36h', 'never', '90', '36501d', '999999w'])
    expect(() => parseConfig({ SVC_KEEP_AUDIT: text })).toThrow(
      'SVC_KEEP_AUDIT must be days or weeks such as 90d or 26w, from 7d to 36500d, or forever',
    )
})

test('only an owner of the instance sees what uses the disk', async () => {
  const other = await app.makeUser('owner', 'own')
  expect(await app.request('GET', '/v1/storage', { token: other.token })).toMatchObject({ status: 403 })
})

test('names left-over databases, logs and backups on the disk of the data, and marks deleted projects', async () => {
  const { config } = app.deps
  const place = `${config.dataDir}-backups`
  config.backups = { place, everyMs: 1, keep: null, keyFile: null }
  const folders = [
    ['unused_database', join(config.dataDir, 'postgres')],
    ['unused_database', join(config.dataDir, 'postgres-left-2026-11-26-0a1b2c3d')],
    ['backups', place],
    ['logs', join(config.dataDir, 'log')],
  ] as const
  try {
    for (const [at, [, path]] of folders.entries()) {
      await mkdir(join(path, 'deep'), { recursive: true })
      await writeFile(join(path, 'deep/file'), new Uint8Array((4 - at) * 65_536).fill(1))
    }
    const found = await storage()
    expect(found.folders.map(({ kind, path }) => [kind, path])).toEqual(folders.map((each) => [...each]))
    for (const { bytes } of found.folders) expect(bytes).toBeGreaterThanOrEqual(65_536)
    const isDeleted = async () =>
      (await storage()).projects.find((each) => each.project_id === app.project.project_id)?.deleted
    expect(await isDeleted()).toBe(false)
    await app.request('DELETE', `/v1/projects/${app.project.project_id}`)
    expect(await isDeleted()).toBe(true)
  } finally {
    config.backups = null
    await rm(place, { recursive: true, force: true })
  }
})
