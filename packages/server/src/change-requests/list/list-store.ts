/** All SQL of the list of change requests and of its summaries. */
import type { ChangeRequestStatus, LandingState } from '@svc/contract'
import { type RawBuilder, sql } from 'kysely'
import type { DbOrTransaction } from '../../db/schema.ts'
import { cursorOf, invalidCursor, readCursor, readParts } from '../../http/page.ts'
import type { ChangeRequestRow } from '../store.ts'

export type ListSort = 'newest' | 'updated' | 'ready'

export interface ListQuery {
  limit: number
  cursor?: string | undefined
  sort?: ListSort | undefined
  status: ChangeRequestStatus | 'all'
  number?: number | undefined
  head_ref?: string | undefined
  base_ref?: string | undefined
  created_by?: string | undefined
  search?: string | undefined
}

/** Ready ones, then those that may become ready, then what needs work, then drafts and what is merged or closed. */
const ranks = {
  ready: 0,
  collides: 1,
  confirm: 1,
  checking: 2,
  unreachable: 3,
  base_merged: 4,
  empty: 4,
  failing: 5,
  manifest_invalid: 6,
  conflicts: 6,
  branch_deleted: 6,
} satisfies Record<LandingState, number>
const lastRank = 7

/**
 * The base of the change request `c` was merged into another branch and has no newer commits, and no open change request
 * takes it further.
 */
export const isBaseMerged = (defaultBranch: RawBuilder<unknown>) => sql<boolean>`(c.base_ref <> ${defaultBranch}
  and exists (select from change_requests o where o.project_id = c.project_id and o.head_ref = c.base_ref
    and o.status = 'merged' and o.head_commit_sha = c.base_commit_sha and o.base_ref not in (c.base_ref, c.head_ref))
  and not exists (select from change_requests o where o.project_id = c.project_id and o.head_ref = c.base_ref
    and o.status = 'open' and o.base_ref not in (c.base_ref, c.head_ref)))`

/** Another open change request conflicts once the change request `c` has landed, or the other way round. */
export const isColliding = sql<boolean>`exists (select from change_request_collisions x
  join change_requests o on o.cr_id = x.other_id and o.status = 'open'
  where x.cr_id = c.cr_id and x.files <> '{}'
    and x.commits = c.base_commit_sha || ' ' || c.head_commit_sha || ' ' || o.head_commit_sha)`

/** The state of a change request `c`, beside its joins in `stateJoins`. */
const stateOf = sql<LandingState | null>`case
  when c.status <> 'open' or c.metadata->>'draft' = 'true' then null
  when c.missing_ref is not null then 'branch_deleted'
  when k.can_merge is null then case when w.tried_at >= w.wanted_at then 'unreachable' else 'checking' end
  when not k.can_merge then 'conflicts'
  when coalesce(f.is_up_to_date, false) then 'empty'
  when m.is_gated and f.manifest_invalid then 'manifest_invalid'
  when r.failures > 0 then 'failing'
  when d.defined > 0 and (t.cr_id is null or r.passed < d.defined) then 'checking'
  when f.confirm_count > 0 then 'confirm'
  when ${isBaseMerged(sql`m.default_branch`)} then 'base_merged'
  when ${isColliding} then 'collides'
  else 'ready' end`

/** Results of a check count only as svc.toml of the default branch defines it. */
const stateJoins = sql`
  left join change_request_checks k on k.cr_id = c.cr_id and k.base_sha = c.base_commit_sha and k.head_sha = c.head_commit_sha
  left join change_request_facts f on f.cr_id = c.cr_id and f.pair = c.base_commit_sha || ' ' || c.head_commit_sha
  left join wanted_change_request_facts w on w.cr_id = c.cr_id
  left join change_request_trees t on t.cr_id = c.cr_id and t.kind = 'tree'
    and t.base_sha = c.base_commit_sha and t.head_sha = c.head_commit_sha
  cross join lateral (select
      (select p.default_branch from projects p where p.project_id = of.id) as default_branch,
      coalesce((select b.manifest->'checks' from default_branches b where b.project_id = of.id), '[]'::jsonb) as checks,
      exists (select from projects p where p.project_id = of.id and p.settings->>'manifest_gate' = 'on') as is_gated) m
  cross join lateral (select jsonb_array_length(m.checks) as defined) d
  left join lateral (select
      count(*) filter (where u.status = 'passed') as passed,
      count(*) filter (where u.status in ('failed', 'error')) as failures,
      count(*) filter (where u.status in ('queued', 'running')) as running,
      coalesce(jsonb_agg(u.name order by u.name) filter (where u.status in ('failed', 'error')), '[]'::jsonb) as failed
    from check_runs u where u.project_id = c.project_id and u.tree_sha = t.tree_sha
      and m.checks @> jsonb_build_array(jsonb_build_object('name', u.name, 'command', u.command))) r on t.cr_id is not null`

/** Numbers only rise, so a number is cursor enough for the newest; readCursor expects a time before it. */
export async function listChangeRequests(db: DbOrTransaction, projectId: string, query: ListQuery) {
  const { sort = 'newest', limit } = query
  const rows = sort === 'ready' ? await readyFirst(db, projectId, query) : await listed(db, projectId, query, sort)
  if (rows.length <= limit) return { rows: rows.map(({ row }) => row), next: null }
  const page = rows.slice(0, limit)
  const { row, at } = page.at(-1)!
  return { rows: page.map((each) => each.row), next: cursorOf([at ?? row.created_at, String(row.number)]) }
}

interface Listed {
  row: ChangeRequestRow
  /** What its place depends on beside the number, where it is no field of the row that the caller gets. */
  at: string | number | null
}

async function listed(db: DbOrTransaction, projectId: string, query: ListQuery, sort: 'newest' | 'updated') {
  const after = readCursor(query.cursor)
  const number = after === null ? null : numberIn(after[1])
  let found = db
    .selectFrom('change_requests as c')
    .selectAll()
    .where('project_id', '=', projectId)
    .where(matches(query))
    .limit(query.limit + 1)
  if (sort === 'newest') {
    found = found.orderBy('number', 'desc')
    if (number !== null) found = found.where('number', '<', number)
  } else {
    found = found.orderBy('updated_at', 'desc').orderBy('number', 'desc')
    if (after !== null)
      found = found.where(sql<boolean>`(c.updated_at, c.number) < (${after[0]}::timestamptz, ${number}::integer)`)
  }
  const rows = await found.execute()
  return rows.map((row): Listed => ({ row, at: sort === 'updated' ? row.updated_at : null }))
}

async function readyFirst(db: DbOrTransaction, projectId: string, query: ListQuery): Promise<Listed[]> {
  const after = placeIn(query.cursor)
  const rank = sql`case ${sql.join(
    Object.entries(ranks).map(([state, at]) => sql`when s.state = ${sql.lit(state)} then ${sql.lit(at)}`),
    sql` `,
  )} else ${sql.lit(lastRank)} end`
  const { rows } = await sql<{ cr_id: string; rank: number }>`
    select cr_id, rank from (
      select s.*, ${rank} as rank from (
        select c.cr_id, c.number, ${stateOf} as state from (select ${projectId}::uuid as id) of
        join change_requests c on c.project_id = of.id ${stateJoins}
        where ${matches(query)}) s) ranked
    where ${after === null ? sql`true` : sql`(rank, -number) > (${after.rank}::integer, ${-after.number}::integer)`}
    order by rank, number desc limit ${query.limit + 1}`.execute(db)
  const ids = rows.map(({ cr_id }) => cr_id)
  const found =
    ids.length === 0 ? [] : await db.selectFrom('change_requests').selectAll().where('cr_id', 'in', ids).execute()
  const byId = new Map(found.map((row) => [row.cr_id, row]))
  return rows.flatMap(({ cr_id, rank: at }) => {
    const row = byId.get(cr_id)
    return row === undefined ? [] : [{ row, at }]
  })
}

function placeIn(cursor: string | undefined): { rank: number; number: number } | null {
  if (cursor === undefined) return null
  const [rank, number] = readParts(cursor, 2)
  if (typeof rank !== 'number' || !Number.isInteger(rank) || rank < 0 || rank > lastRank) throw invalidCursor()
  return { rank, number: numberIn(number) }
}

function numberIn(text: unknown): number {
  if (typeof text !== 'string' || !/^[1-9]\d{0,8}$/.test(text)) throw invalidCursor()
  return Number(text)
}

/** The filters of a list on the change requests `c`. */
function matches({ status, number, head_ref, base_ref, created_by, search = '' }: ListQuery): RawBuilder<boolean> {
  const parts = [sql`true`]
  if (status !== 'all') parts.push(sql`c.status = ${status}`)
  if (number !== undefined) parts.push(sql`c.number = ${number}`)
  if (head_ref !== undefined) parts.push(sql`c.head_ref = ${head_ref}`)
  if (base_ref !== undefined) parts.push(sql`c.base_ref = ${base_ref}`)
  if (created_by !== undefined) parts.push(sql`c.created_by = ${created_by}`)
  if (search !== '') {
    const holds = (column: string) => sql`strpos(lower(${sql.ref(column)}), lower(${search}::text)) > 0`
    const named = /^#?([1-9]\d{0,8})$/.exec(search)?.[1]
    parts.push(sql`(${holds('c.title')} or ${holds('c.head_ref')} or ${holds('c.base_ref')}
      or c.origin_session_id in (select s.session_id from project_sessions s where s.project_id = c.project_id and ${holds('s.name')})
      or ${named === undefined ? sql`false` : sql`c.number = ${Number(named)}`})`)
  }
  return sql<boolean>`(${sql.join(parts, sql` and `)})`
}

/** The others that are named. */
const sameBranchesMax = 3

/** Selects the numbers of open change requests that share their project and both branches with one of these. The service allows several. */
export const withSameBranches = (crIds: string[]) => sql`
  select o.project_id, o.head_ref, o.base_ref, (array_agg(o.number order by o.number))[1:${sql.lit(sameBranchesMax + 1)}] as numbers
  from change_requests o
  where o.status = 'open' and (o.project_id, o.head_ref, o.base_ref) in
    (select i.project_id, i.head_ref, i.base_ref from change_requests i where i.cr_id = any(${crIds}::uuid[]))
  group by o.project_id, o.head_ref, o.base_ref having count(*) > 1`

/** The first conflicting files of a summary. */
const conflictsShown = 3

export interface FoundSummary {
  cr_id: string
  state: LandingState | null
  session: { session_id: string; name: string; agent_name: string } | null
  author: string | null
  /** Null: there are none. */
  same_branches: number[] | null
  /** Null: its merge was not lost. */
  merge_lost_at: string | null
  merge_lost_server: string | null
  conflicts: string[]
  conflict_count: number | null
  confirm_count: number | null
  checks: { defined: number; passed: number; failed: string[]; running: number } | null
  additions: number | null
  deletions: number | null
  files: number | null
  paths: string[]
  /** Whether facts of the current commits are stored, and compared with other change requests. */
  is_compared: boolean | null
  collisions: { number: number; title: string; files: string[] }[]
  reviews: number
  comments: number
}

/** One statement for a page of the list. */
export async function summariesOf(db: DbOrTransaction, projectId: string, crIds: string[]): Promise<FoundSummary[]> {
  if (crIds.length === 0) return []
  const { rows } = await sql<FoundSummary>`
    select c.cr_id, ${stateOf} as state, u.name as author,
      case when s.session_id is not null then
        jsonb_build_object('session_id', s.session_id, 'name', s.name, 'agent_name', s.agent_name) end as session,
      case when c.status = 'open' then array_remove(b.numbers, c.number) end as same_branches,
      c.merge_lost_at, c.merge_lost_server,
      coalesce(f.conflicts[1:${sql.lit(conflictsShown)}], '{}') as conflicts, f.conflict_count, f.confirm_count,
      case when t.cr_id is not null and d.defined > 0 then jsonb_build_object(
        'defined', d.defined, 'passed', r.passed, 'failed', r.failed, 'running', r.running) end as checks,
      f.additions, f.deletions, f.path_count as files, coalesce(f.paths, '{}') as paths, f.is_compared,
      coalesce((select jsonb_agg(jsonb_build_object('number', o.number, 'title', o.title, 'files', x.files) order by o.number)
        from change_request_collisions x join change_requests o on o.cr_id = x.other_id and o.status = 'open'
        where x.cr_id = c.cr_id and x.files <> '{}' and x.commits = f.pair || ' ' || o.head_commit_sha), '[]'::jsonb) as collisions,
      v.reviews, v.comments
    from (select ${projectId}::uuid as id) of
    join change_requests c on c.project_id = of.id and c.cr_id = any(${crIds}::uuid[]) ${stateJoins}
    left join (${withSameBranches(crIds)}) b on b.head_ref = c.head_ref and b.base_ref = c.base_ref
    left join project_sessions s on s.session_id = c.origin_session_id
    left join users u on u.user_id = c.created_by
    cross join lateral (select count(*)::integer as reviews, coalesce(sum(jsonb_array_length(g.comments)), 0)::integer as comments
      from change_request_reviews g where g.cr_id = c.cr_id) v`.execute(db)
  return rows
}
