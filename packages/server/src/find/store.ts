/** All SQL of the finder. Each kind is one statement, which stops at its limit. */
import type { FoundChangeRequest, FoundSession } from '@svc/contract'
import { foundMax } from '@svc/contract'
import { type RawBuilder, sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'

export interface Wanted {
  userId: string
  /** In lower case. All of them have to be there. */
  words: string[]
  /** Its results come first. */
  projectId: string | null
}

const projectsOf = ({ userId, projectId }: Wanted) => sql`
  select p.project_id, p.project_id is not distinct from ${projectId}::uuid as is_first, m.role <> 'viewer' as may_write,
    jsonb_build_object('project_id', p.project_id, 'slug', p.slug, 'name', p.name) as project
  from account_members m join projects p on p.account_id = m.account_id and p.deleted_at is null
  where m.user_id = ${userId}`

const holds = (words: string[], text: RawBuilder<unknown>) =>
  sql.join(
    words.map((word) => sql<boolean>`strpos(lower(${text}), ${word}::text) > 0`),
    sql` and `,
  )

/** A viewer may read no change requests. */
export async function findChangeRequests(db: DbOrTransaction, wanted: Wanted): Promise<FoundChangeRequest[]> {
  const { rows } = await sql<FoundChangeRequest>`
    with of_user as materialized (${projectsOf(wanted)})
    select c.cr_id, c.number, c.title, c.status, u.project
    from of_user u join change_requests c on c.project_id = u.project_id
    where u.may_write and ${holds(wanted.words, sql`c.title || ' ' || c.head_ref || ' #' || c.number`)}
    order by u.is_first desc, '#' || c.number = any(${wanted.words.map(numberOf)}::text[]) desc, c.status = 'open' desc,
      c.created_at desc, c.cr_id
    limit ${foundMax}`.execute(db)
  return rows
}

/** The whole number before others that contain it. */
const numberOf = (word: string) => (word.startsWith('#') ? word : `#${word}`)

export async function findSessions(db: DbOrTransaction, wanted: Wanted): Promise<FoundSession[]> {
  const { rows } = await sql<FoundSession>`
    with of_user as materialized (${projectsOf(wanted)})
    select s.session_id, s.name, s.status, u.project
    from of_user u join project_sessions s on s.project_id = u.project_id
    where ${holds(wanted.words, sql`s.name`)}
    order by u.is_first desc, s.status in ('provisioning', 'running') desc, s.created_at desc, s.session_id
    limit ${foundMax}`.execute(db)
  return rows
}
