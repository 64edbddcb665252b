/** All SQL of the search: one statement for each kind of result. It reads the tables of others and changes none. */
import { examinedMax, type Found, foundMax } from '@svc/contract'
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'

export interface Search {
  text: string
  userId: string
  /** The project whose results come first. */
  firstProjectId: string | undefined
}

/** More words than this are no name that a person types. */
const wordsMax = 8

const wordsOf = (text: string) => text.toLowerCase().split(/\s+/).slice(0, wordsMax)

/** Whether `n.haystack` has every word. A word is no pattern. */
const hasWords = (text: string) =>
  sql`(${sql.join(
    wordsOf(text).map((word) => sql`strpos(n.haystack, lower(${word}::text)) > 0`),
    sql` and `,
  )})`

/** The projects of the caller: the first one, then the newest. A viewer may read no change requests. */
const projectsOf = ({ userId, firstProjectId = undefined }: Search) => sql`
  select p.project_id, p.slug, p.name, p.default_branch, p.created_at, m.role <> 'viewer' as may_write,
    ${firstProjectId === undefined ? sql`false` : sql`p.project_id = ${firstProjectId}::uuid`} as is_first
  from account_members m
  join projects p on p.account_id = m.account_id and p.deleted_at is null
  where m.user_id = ${userId}
  order by is_first desc, p.created_at desc`

const project = sql`jsonb_build_object('project_id', p.project_id, 'slug', p.slug, 'name', p.name)`

/**
 * The limit of `n` bounds a search that finds little: PostgreSQL walks one project after the other, and stops. In each it
 * reads a range of numbers, because an order with a limit is a sort of all of them where it expects few. The number has an
 * index, so it is found among all.
 */
export async function findChangeRequests(db: DbOrTransaction, search: Search): Promise<Found['change_requests']> {
  const named = /^#?([1-9]\d{0,8})$/.exec(search.text)?.[1]
  const number = named === undefined ? sql`null::integer` : sql`${Number(named)}::integer`
  const { rows } = await sql<Found['change_requests'][number] & { base_ref: string | null }>`
    with of_user as materialized (${projectsOf(search)}),
    numbered as (
      select c.cr_id, c.project_id from of_user u
      join change_requests c on c.project_id = u.project_id and c.number = ${number}
      where u.may_write
      order by u.is_first desc, c.created_at desc limit ${sql.lit(foundMax)}),
    worded as (
      select n.cr_id, n.project_id from (
        select u.is_first, c.* from (select * from of_user where may_write) u
        cross join lateral (
          select o.cr_id, o.project_id, o.created_at, o.status = 'open' as is_open,
            lower(o.title || ' ' || o.head_ref) as haystack
          from change_requests o where o.project_id = u.project_id and o.number > ${sql.lit(-examinedMax)} +
            (select max(l.number) from change_requests l where l.project_id = u.project_id)) c
        limit ${sql.lit(examinedMax)}) n
      where ${hasWords(search.text)}
      order by n.is_first desc, n.is_open desc, n.created_at desc limit ${sql.lit(foundMax)})
    select c.cr_id, c.number, c.title, c.head_ref, nullif(c.base_ref, p.default_branch) as base_ref, c.status, ${project} as project
    from (select * from numbered union select * from worded) found
    join change_requests c on c.cr_id = found.cr_id
    join of_user p on p.project_id = found.project_id
    order by coalesce(c.number = ${number}, false) desc, p.is_first desc, c.status = 'open' desc,
      c.created_at desc, c.cr_id
    limit ${sql.lit(foundMax)}`.execute(db)
  return rows.map(({ base_ref, ...row }) => (base_ref === null ? row : { ...row, base_ref }))
}

export async function findSessions(db: DbOrTransaction, search: Search): Promise<Found['sessions']> {
  const { rows } = await sql<Found['sessions'][number]>`
    with of_user as materialized (${projectsOf(search)}),
    named as (
      select n.session_id, n.project_id, n.is_first, n.is_live, n.created_at from (
        select u.is_first, s.* from of_user u
        cross join lateral (
          select o.session_id, o.project_id, o.created_at, lower(o.name) as haystack,
            o.status in ('queued', 'branching', 'provisioning', 'running') as is_live
          from project_sessions o where o.project_id = u.project_id
          order by o.created_at desc, o.session_id desc limit ${sql.lit(examinedMax)}) s
        limit ${sql.lit(examinedMax)}) n
      where ${hasWords(search.text)}
      order by n.is_first desc, n.is_live desc, n.created_at desc limit ${sql.lit(foundMax)})
    select s.session_id, s.name, s.agent_name, s.status, ${project} as project
    from named n
    join project_sessions s on s.session_id = n.session_id
    join of_user p on p.project_id = n.project_id
    order by n.is_first desc, n.is_live desc, n.created_at desc, n.session_id`.execute(db)
  return rows
}
