/** Finds what needs a person in all their projects with one statement, however many projects and change requests there are. */
import type { InboxGroup, InboxState, InboxView, OpenWork } from '@svc/contract'
import { inboxGroups, openWorkMax } from '@svc/contract'
import { type RawBuilder, sql } from 'kysely'
import { isBaseMerged, isColliding } from '../change-requests/list/list-store.ts'
import type { Db } from '../db/schema.ts'

export interface FoundItem {
  key: string
  kind: 'question' | 'approval' | 'change_request' | 'session'
  id: string
  group: InboxGroup
  state: InboxState
  version: string
  /** What failed, so that the item comes back when something new fails. */
  failure: string | null
  project: { project_id: string; slug: string; name: string }
  checks: FoundChecks | null
  updated_at: string
  snoozed_until: string | null
}

export interface FoundChecks {
  defined: number
  passed: number
  failed: string[]
}

/** Whose items, in which projects. */
interface Scope {
  userId: string
  accountId?: string | undefined
  projectId?: string | undefined
  now: Date
}

export interface ItemQuery extends Scope {
  view: InboxView
  group?: InboxGroup | undefined
  key?: string | undefined
  /** Of each group, or of all together. */
  limit: { each: number } | { all: number }
  after: { group: InboxGroup; updated_at: string; key: string } | null
}

export interface FoundItems {
  items: FoundItem[]
  counts: Record<InboxGroup, number>
  snoozed: number
  done: number
}

/** A viewer may read no change requests, and can answer nothing. */
const ofUser = ({ userId, accountId, projectId }: Scope) => sql`
  select p.project_id, p.slug, p.name, p.created_at, p.default_branch, m.role <> 'viewer' as may_write,
    coalesce(d.manifest->'checks', '[]'::jsonb) as checks, coalesce(p.settings->>'manifest_gate' = 'on', false) as is_gated
  from account_members m
  join projects p on p.account_id = m.account_id and p.deleted_at is null
  left join default_branches d on d.project_id = p.project_id
  where m.user_id = ${userId}
    and ${accountId === undefined ? sql`true` : sql`p.account_id = ${accountId}::uuid`}
    and ${projectId === undefined ? sql`true` : sql`p.project_id = ${projectId}::uuid`}`

/** The checks of the default branch on each merge result of a project. */
const checkResults = sql`
  select r.project_id, r.tree_sha, count(*) filter (where r.status = 'passed') as passed,
    count(*) filter (where r.status in ('failed', 'error')) as failures,
    coalesce(jsonb_agg(r.name order by r.name) filter (where r.status in ('failed', 'error')), '[]'::jsonb) as failed
  from of_user u join check_runs r on r.project_id = u.project_id
  where u.may_write and u.checks @> jsonb_build_array(jsonb_build_object('name', r.name, 'command', r.command))
  group by r.project_id, r.tree_sha`

/** The last review of the caller on each change request. */
const lastReviews = (userId: string) => sql`
  select distinct on (v.cr_id) v.cr_id, v.head_sha, v.session_id
  from change_request_reviews v where v.created_by = ${userId} order by v.cr_id, v.created_at desc`

/** What is known of each open change request. A moved base leaves what was known of the same head until it is checked again. */
const openChangeRequests = sql`
  select c.cr_id, c.project_id, c.head_commit_sha, c.missing_ref, u.checks <> '[]'::jsonb as has_checks,
    k.can_merge, coalesce(k.base_sha = c.base_commit_sha, false) as is_known,
    coalesce(f.is_up_to_date, false) as is_up_to_date, coalesce(f.confirm_count, 0) as confirm_count,
    u.is_gated and coalesce(f.manifest_invalid and not f.is_up_to_date, false) as is_invalid,
    w.tried_at >= w.wanted_at as is_unreachable,
    case when t.cr_id is not null then jsonb_array_length(u.checks) end as defined,
    coalesce(r.passed, 0) as passed, coalesce(r.failed, '[]'::jsonb) as failed, coalesce(r.failures, 0) as failures,
    coalesce(mine.head_sha <> c.head_commit_sha, false) as is_answered,
    coalesce(mine.head_sha = c.head_commit_sha and mine.session_id is not null
      and s.status in ('provisioning', 'running') and s.is_busy, false) as is_with_agent,
    ${isColliding} as collides, ${isBaseMerged(sql`u.default_branch`)} as is_base_merged,
    coalesce(h.seen_at, c.created_at) as at
  from of_user u
  join change_requests c on c.project_id = u.project_id and c.status = 'open'
  left join change_request_checks k on k.cr_id = c.cr_id and k.head_sha = c.head_commit_sha
  left join change_request_facts f on f.cr_id = c.cr_id and f.pair = c.base_commit_sha || ' ' || c.head_commit_sha
  left join wanted_change_request_facts w on w.cr_id = c.cr_id
  left join change_request_trees t on t.cr_id = c.cr_id and t.kind = 'tree' and u.checks <> '[]'::jsonb
    and t.base_sha = c.base_commit_sha and t.head_sha = c.head_commit_sha
  left join check_results r on r.project_id = t.project_id and r.tree_sha = t.tree_sha
  left join project_sessions s on s.session_id = c.origin_session_id
  left join last_reviews mine on mine.cr_id = c.cr_id
  left join change_request_heads h on h.cr_id = c.cr_id and h.head_sha = c.head_commit_sha
  where u.may_write and coalesce(c.metadata->>'draft', '') <> 'true'`

const ofChangeRequests = sql`
  select 'change_request' as kind, cr_id as id, project_id,
    case when missing_ref is not null or can_merge = false or is_invalid or failures > 0 then 'unblock' else 'review' end as "group",
    case
      when missing_ref is not null then 'branch_deleted'
      when can_merge is null or not is_known then case when is_unreachable then 'unreachable' else 'checking' end
      when not can_merge then 'conflicts'
      when is_up_to_date then 'empty'
      when is_invalid then 'manifest_invalid'
      when failures > 0 then 'failing'
      when is_answered then 'answered'
      when has_checks and (defined is null or passed < defined) then 'checking'
      when confirm_count > 0 then 'confirm'
      when is_base_merged then 'base_merged'
      when collides then 'collides'
      else 'ready' end as state,
    coalesce(head_commit_sha, '') as version,
    case when missing_ref is not null then 'branch_deleted' when can_merge = false then 'conflicts'
      when is_invalid then 'manifest_invalid' when failures > 0 then 'failing' end as failure,
    case when defined is not null then jsonb_build_object('defined', defined, 'passed', passed, 'failed', failed) end as checks,
    at
  from open_change_requests where not is_with_agent`

const isOpenQuestion = (now: Date) =>
  sql`q.status = 'open' and q.answer is null and (q.expires_at is null or q.expires_at > ${now})`

const ofQuestions = (now: Date) => sql`
  select 'question', q.question_id, s.project_id, 'answer', q.kind::text, q.question_id::text, null, null::jsonb, q.asked_at
  from of_user u
  join project_sessions s on s.project_id = u.project_id and s.status in ('provisioning', 'running')
  join session_questions q on q.session_id = s.session_id and ${isOpenQuestion(now)}
  where u.may_write
  union all
  select 'approval', a.approval_id, a.project_id, 'answer', 'connector', a.approval_id::text, null, null, a.created_at
  from of_user u
  join connector_approvals a on a.project_id = u.project_id and a.session_id is null
    and a.status = 'pending' and a.expires_at > ${now}
  where u.may_write`

/** A session with an open question is in the inbox by its question. */
const ofSessions = (now: Date) => sql`
  select 'session', s.session_id, s.project_id,
    case when s.status = 'failed' or is_cut then 'unblock' else 'running' end,
    case when s.status = 'failed' then 'failed' when is_cut then 'turn_failed' when s.status <> 'running' then 'starting'
      when s.is_busy then 'working' else 'idle' end,
    s.generation::text,
    case when s.status = 'failed' then 'failed' when is_cut then s.last_turn_error->>'at' end,
    null, case when s.status = 'failed' then s.updated_at when is_cut then (s.last_turn_error->>'at')::timestamptz(3) else s.created_at end
  from of_user u
  join project_sessions s on s.project_id = u.project_id and s.status not in ('stopped', 'completed')
  cross join lateral (select s.status = 'running' and not s.is_busy and s.last_turn_error is not null as is_cut) t
  where s.status = 'failed' or not u.may_write
    or not exists (select from session_questions q where q.session_id = s.session_id and ${isOpenQuestion(now)})`

const rank = (group: RawBuilder<unknown>) => sql`array_position(${[...inboxGroups]}::text[], ${group})`
const isoTime = (column: string) => sql`to_char(${sql.ref(column)} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Each item with its view: `open` unless the person put away what is there now. */
const itemsOf = (query: Scope) => sql`
  select i.key, i.kind, i.id, i.project_id, i."group", i.state, i.version, i.failure, i.checks, i.at,
    ${rank(sql`i."group"`)} as rank,
    case when i.is_hidden then i.snoozed_until end as snoozed_until,
    case when i.is_hidden is not true then 'open' when i.snoozed_until is null then 'done' else 'snoozed' end as view
  from (
    select f.*, m.snoozed_until, m.version = f.version and (f.failure is null or f.failure is not distinct from m.failure)
      and (m.snoozed_until is null or m.snoozed_until > ${query.now}) as is_hidden
    from (select kind || '.' || id as key, found.* from found) f
    left join inbox_marks m on m.item_key = f.key and m.user_id = ${query.userId}
  ) i`

/** The tables `of_user`, the projects of a user, and `items` of a statement. */
const withItems = (scope: Scope) => sql`
    with of_user as materialized (${ofUser(scope)}), check_results as materialized (${checkResults}),
    last_reviews as materialized (${lastReviews(scope.userId)}),
    open_change_requests as (${openChangeRequests}),
    found as (${ofChangeRequests} union all ${ofQuestions(scope.now)} union all ${ofSessions(scope.now)}),
    items as materialized (${itemsOf(scope)})`

export async function findItems(db: Db, query: ItemQuery): Promise<FoundItems> {
  const { after, limit } = query
  const isAfter =
    after === null
      ? sql`true`
      : sql`(i.rank, -extract(epoch from i.at), i.key) > (${rank(sql`${after.group}::text`)},
          -extract(epoch from ${after.updated_at}::timestamptz(3)), ${after.key}::text)`
  const { rows } = await sql<{ items: FoundItem[]; counts: { view: InboxView; group: InboxGroup; n: number }[] }>`
    ${withItems(query)},
    counts as (select view, "group", count(*) as n from items group by view, "group"),
    placed as (
      select i.*, row_number() over (partition by i."group" order by i.at desc, i.key) as place from items i
      where (i.view = ${query.view} or ${query.key ?? null}::text is not null)
        and (${query.group ?? null}::text is null or i."group" = ${query.group ?? null})
        and (${query.key ?? null}::text is null or i.key = ${query.key ?? null}) and ${isAfter}),
    page as (
      select * from placed where ${'each' in limit ? sql`place <= ${limit.each}` : sql`true`}
      order by rank, at desc, key limit ${'all' in limit ? limit.all : null})
    select (select coalesce(jsonb_agg(to_jsonb(c)), '[]') from counts c) as counts,
      (select coalesce(jsonb_agg(jsonb_build_object('key', p.key, 'kind', p.kind, 'id', p.id, 'group', p."group",
        'state', p.state, 'version', p.version, 'failure', p.failure, 'checks', p.checks, 'updated_at', ${isoTime('p.at')},
        'snoozed_until', ${isoTime('p.snoozed_until')},
        'project', jsonb_build_object('project_id', u.project_id, 'slug', u.slug, 'name', u.name)
      ) order by p.rank, p.at desc, p.key), '[]') from page p join of_user u using (project_id)) as items`.execute(db)
  const { items, counts } = rows[0]!
  const sum = (view: InboxView, group?: InboxGroup) =>
    counts.reduce((n, each) => (each.view === view && (group ?? each.group) === each.group ? n + each.n : n), 0)
  const byGroup = inboxGroups.map((group) => [group, sum(query.view, group)])
  return { items, counts: Object.fromEntries(byGroup), snoozed: sum('snoozed'), done: sum('done') }
}

/** Projects in which nothing is open are left out. */
export async function countOpenWork(db: Db, scope: Scope): Promise<OpenWork[]> {
  const { rows } = await sql<OpenWork>`
    ${withItems(scope)},
    needs as (
      select project_id, count(*)::int as n from items where view = 'open' and "group" <> 'running' group by project_id),
    proposed as (
      select c.project_id, count(*)::int as n from of_user u
      join change_requests c on c.project_id = u.project_id and c.status = 'open' group by c.project_id),
    live as (
      select s.project_id, count(*)::int as n from of_user u
      join project_sessions s on s.project_id = u.project_id and s.status not in ('stopped', 'failed', 'completed')
      group by s.project_id)
    select u.project_id, case when u.may_write then coalesce(p.n, 0) end as change_requests,
      coalesce(l.n, 0) as sessions, coalesce(i.n, 0) as needs_you
    from of_user u left join needs i using (project_id) left join proposed p using (project_id)
    left join live l using (project_id)
    where i.n > 0 or l.n > 0 or (u.may_write and p.n > 0)
    order by u.created_at desc, u.project_id desc limit ${openWorkMax}`.execute(db)
  return rows
}
