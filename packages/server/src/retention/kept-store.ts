/** SQL on how much is kept of each kind, and since when. */
import { invariant, type KeptRows, type RetentionKind, retentionKinds } from '@svc/contract'
import { sql } from 'kysely'
import { type KeepDays, retentionSetting } from '../config/retention.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { rowBytes } from '../sessions/conversation/message-store.ts'

/** The first table has the rows that count; the oldest is found by its column. */
const tables: Record<RetentionKind, { names: [string, ...string[]]; age: string }> = {
  events: { names: ['project_events'], age: 'created_at' },
  deliveries: { names: ['webhook_deliveries'], age: 'created_at' },
  checks: { names: ['check_runs', 'check_log_chunks'], age: 'ended_at' },
  deploys: { names: ['app_deploys', 'app_log_chunks'], age: 'created_at' },
  firings: { names: ['trigger_slots'], age: 'created_at' },
  transcripts: { names: ['session_messages', 'session_attachments', 'session_prompts'], age: 'created_at' },
  branches: { names: ['session_branches'], age: 'made_at' },
  audit: { names: ['audit_events'], age: 'at' },
}

/** More are as PostgreSQL last counted them. */
const countedMax = 10_000

export function keptRows(db: DbOrTransaction, keepDays: KeepDays): Promise<KeptRows[]> {
  return Promise.all(
    retentionKinds.map(async (kind) => {
      const { names, age } = tables[kind]
      const [table] = names
      const { rows } = await sql<Pick<KeptRows, 'rows' | 'bytes' | 'oldest_at'>>`
        select (select sum(pg_total_relation_size(name::regclass))::float8 from unnest(${names}::text[]) name) as bytes,
          (select case when n <= ${countedMax} then n else greatest(n, reltuples::bigint) end
            from pg_class, (select count(*) as n from (select from ${sql.table(table)} limit ${countedMax + 1}) first) counted
            where oid = ${table}::regclass) as rows,
          (select min(${sql.ref(age)}) from ${sql.table(table)}) as oldest_at`.execute(db)
      const [found] = rows
      invariant(found !== undefined, 'a select without a table has one row')
      return { kind, setting: retentionSetting(kind), keep_days: keepDays[kind], ...found }
    }),
  )
}

export async function databaseBytes(db: DbOrTransaction): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select pg_database_size(current_database())::float8 as bytes`.execute(db)
  return rows[0]?.bytes ?? 0
}

export interface ProjectRows {
  project_id: string
  slug: string
  home: string | null
  deleted: boolean
  transcripts: number
  unfinished: number
  check_logs: number
}

/** The bytes of each project in the database. Unfinished work is on the disk of its home. */
export async function bytesOfProjects(db: DbOrTransaction): Promise<ProjectRows[]> {
  const { rows } = await sql<ProjectRows>`
    with messages as (
      select s.project_id, sum(${rowBytes})::float8 as bytes from session_messages m
      join project_sessions s using (session_id) group by s.project_id
    ), attachments as (
      select s.project_id, sum(a.bytes)::float8 as bytes from session_attachments a
      join project_sessions s using (session_id) group by s.project_id
    ), unfinished as (
      select project_id, sum(bytes)::float8 as bytes from session_snapshots group by project_id
    ), logs as (
      select r.project_id, sum(l.bytes)::float8 as bytes from check_log_chunks l
      join check_runs r using (run_id) group by r.project_id
    )
    select p.project_id, coalesce(p.deleted_slug, p.slug) as slug, p.home, p.deleted_at is not null as deleted,
      coalesce(m.bytes, 0) + coalesce(a.bytes, 0) as transcripts,
      coalesce(u.bytes, 0) as unfinished, coalesce(l.bytes, 0) as check_logs
    from projects p left join messages m using (project_id) left join attachments a using (project_id)
      left join unfinished u using (project_id) left join logs l using (project_id)`.execute(db)
  return rows
}
