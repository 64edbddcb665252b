/** Reads what the rows of one page of the inbox say: one statement for each kind of item. */
import { sql } from 'kysely'
import { withSameBranches } from '../change-requests/list/list-store.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import { firstPrompt } from '../sessions/store.ts'

interface OfSession {
  session_id: string | null
  session_name: string | null
  agent_name: string | null
}

export interface ChangeRequestDetail extends OfSession {
  cr_id: string
  number: number
  title: string
  base_ref: string
  /** Of its project. */
  default_branch: string
  /** The branch that no longer exists. */
  missing_ref: string | null
  author: string | null
  /** Other open ones of the same two branches. */
  same_branches: number[] | null
  /** Whether facts of the current commits are stored, and compared with other change requests. */
  is_compared: boolean | null
  conflicts: string[] | null
  conflict_count: number | null
  confirm_count: number | null
  additions: number | null
  deletions: number | null
  paths: string[] | null
  path_count: number | null
  /** The numbers and files of those it collides with. */
  collisions: { number: number; files: string[] }[]
}

export async function changeRequestDetails(db: DbOrTransaction, ids: string[]): Promise<ChangeRequestDetail[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<ChangeRequestDetail>`
    select c.cr_id, c.number, c.title, c.base_ref, c.missing_ref, p.default_branch, s.session_id, s.name as session_name,
      s.agent_name, u.name as author, array_remove(b.numbers, c.number) as same_branches,
      f.is_compared, f.conflicts, f.conflict_count, f.confirm_count, f.additions, f.deletions, f.paths, f.path_count,
      coalesce((select jsonb_agg(jsonb_build_object('number', o.number, 'files', x.files) order by o.number)
        from change_request_collisions x join change_requests o on o.cr_id = x.other_id and o.status = 'open'
        where x.cr_id = c.cr_id and x.files <> '{}'
          and x.commits = f.pair || ' ' || o.head_commit_sha), '[]'::jsonb) as collisions
    from change_requests c
    join projects p on p.project_id = c.project_id
    left join change_request_facts f on f.cr_id = c.cr_id and f.pair = c.base_commit_sha || ' ' || c.head_commit_sha
    left join (${withSameBranches(ids)}) b on b.project_id = c.project_id and b.head_ref = c.head_ref and b.base_ref = c.base_ref
    left join project_sessions s on s.session_id = c.origin_session_id
    left join users u on u.user_id = c.created_by
    where c.cr_id = any(${ids}::uuid[])`.execute(db)
  return rows
}

export type SessionDetail = Pick<
  Row<'project_sessions'>,
  'session_id' | 'name' | 'agent_name' | 'error' | 'unkept_work' | 'last_turn_error' | 'branch_name' | 'base_ref'
> & { task: string | null; author: string | null }

export async function sessionDetails(db: DbOrTransaction, ids: string[]): Promise<SessionDetail[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<SessionDetail>`
    select s.session_id, s.name, s.agent_name, s.error, s.unkept_work, s.last_turn_error, s.branch_name, s.base_ref,
      ${firstPrompt('s')} as task, u.name as author
    from project_sessions s left join users u on u.user_id = s.created_by
    where s.session_id = any(${ids}::uuid[])`.execute(db)
  return rows
}

export interface QuestionDetail extends OfSession {
  id: string
  title: string
  detail: string
  author: string | null
}

export async function questionDetails(db: DbOrTransaction, ids: string[]): Promise<QuestionDetail[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<QuestionDetail>`
    select q.question_id as id, q.title, left(q.detail, 1000) as detail, s.session_id, s.name as session_name, s.agent_name, u.name as author
    from session_questions q join project_sessions s on s.session_id = q.session_id
    left join users u on u.user_id = s.created_by
    where q.question_id = any(${ids}::uuid[])
    union all
    select a.approval_id, a.slug || ' ' || a.tool, '', null, null, null, u.name
    from connector_approvals a left join users u on u.user_id = a.requested_by
    where a.approval_id = any(${ids}::uuid[]) and a.session_id is null`.execute(db)
  return rows
}
