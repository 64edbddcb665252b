/** When to poll a repository for moved branches. */
import { sql } from 'kysely'
import { isAtHome } from '../db/home.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import type { ProjectRow } from './store.ts'

/** Schedules a poll at once, after a push. Requests that arrive before it starts share one poll. */
export async function requestPoll(db: DbOrTransaction, projectId: string): Promise<void> {
  await sql`
    insert into project_looks as look (project_id, looked_at, wanted_at)
    select project_id, 'epoch', clock_timestamp() from projects where project_id = ${projectId}
    on conflict (project_id) do update set wanted_at = clock_timestamp() where look.wanted_at <= look.looked_at`.execute(
    db,
  )
}

/** A project to poll, with what is known of its default branch. */
export interface PolledProject extends ProjectRow {
  known_branch: Row<'default_branches'>['branch'] | null
  known_sha: string | null
}

interface PollBatch {
  externalSeconds: number
  limit: number
  home: string | null
}

const known = sql`select p.*, d.branch as known_branch, d.sha as known_sha`

/** Takes requested polls, so that no other server takes them. */
export async function takeRequestedPolls(db: DbOrTransaction, batch: PollBatch): Promise<PolledProject[]> {
  return take(db, sql`wanted_at > looked_at`, sql`wanted_at`, batch)
}

/** Takes the repositories on git hosts whose time has come. */
export async function takeDuePolls(db: DbOrTransaction, batch: PollBatch): Promise<PolledProject[]> {
  return take(db, sql`next_poll_at <= now()`, sql`next_poll_at`, batch)
}

/** Polls of deleted projects are taken too, so that they do not stay in front. */
async function take(
  db: DbOrTransaction,
  isDue: ReturnType<typeof sql>,
  order: ReturnType<typeof sql>,
  { externalSeconds, limit, home }: PollBatch,
) {
  const { rows } = await sql<PolledProject>`
    with due as (
      select project_id from project_looks where ${isDue} and ${isAtHome(sql.ref('project_looks.project_id'), home)}
      order by ${order} limit ${limit} for update skip locked
    ), taken as (
      update project_looks look set looked_at = clock_timestamp(),
        next_poll_at = case when look.next_poll_at is null then null
          else clock_timestamp() + make_interval(secs => ${externalSeconds}) end
      from due where look.project_id = due.project_id returning look.project_id
    )
    ${known} from taken join projects p using (project_id) left join default_branches d using (project_id)
    where p.deleted_at is null`.execute(db)
  return rows
}

/** In how many milliseconds a repository on a git host is due. Null: there is none. */
export async function nextPollInMs(db: DbOrTransaction, home: string | null): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(next_poll_at) - now()) * 1000)::float8 as ms from project_looks
    where next_poll_at is not null and ${isAtHome(sql.ref('project_looks.project_id'), home)}`.execute(db)
  return rows[0]?.ms ?? null
}

/** The next managed repositories in the order of their ids. */
export async function managedAfter(
  db: DbOrTransaction,
  { projectId, limit, home }: { projectId: string; limit: number; home: string | null },
): Promise<PolledProject[]> {
  const { rows } = await sql<PolledProject>`
    ${known} from projects p left join default_branches d using (project_id)
    where p.managed and p.deleted_at is null and p.project_id > ${projectId}
      and ${isAtHome(sql.ref('p.project_id'), home)}
    order by p.project_id limit ${limit}`.execute(db)
  return rows
}
