/** All SQL on what a list says about an open change request: its size, its conflicts, and what it collides with. */
import { sql } from 'kysely'
import { isAtHome } from '../../db/home.ts'
import { deleteRows, updateRows, upsertRow } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'

/** The first paths that are stored of each list. */
export const pathsKept = 200
const retrySeconds = 60

export const pairOf = (base: string, head: string) => `${base} ${head}`

/** The caller holds the lock of the change request. */
export function recordFacts(trx: DbOrTransaction, facts: NewRow<'change_request_facts'>): Promise<void> {
  return upsertRow(trx, 'change_request_facts', { ...facts, is_compared: false }, 'cr_id')
}

/** Asks the server of their projects to compute the facts of these open change requests. */
export async function wantFacts(db: DbOrTransaction, crIds: string[]): Promise<void> {
  if (crIds.length === 0) return
  await sql`
    insert into wanted_change_request_facts as wanted (cr_id, project_id)
    select cr_id, project_id from change_requests where cr_id = any(${crIds}::uuid[]) and status = 'open'
    order by cr_id
    on conflict (cr_id) do update set wanted_at = now()
      where wanted.tried_at < now() - make_interval(secs => ${retrySeconds}::integer) and wanted.wanted_at < wanted.tried_at`.execute(
    db,
  )
}

/** Those that wait, by project. Each stays until its facts are known, so another run may take it again. */
export async function wantedFacts(db: DbOrTransaction, { limit, home }: { limit: number; home: string | null }) {
  const { rows } = await sql<Pick<Row<'wanted_change_request_facts'>, 'cr_id' | 'project_id'>>`
    select cr_id, project_id from wanted_change_request_facts w
    where (tried_at is null or tried_at < wanted_at) and ${isAtHome(sql.ref('w.project_id'), home)}
    order by wanted_at limit ${limit}`.execute(db)
  return rows
}

export async function factsAreKnown(db: DbOrTransaction, crIds: string[]): Promise<void> {
  await deleteRows(db, 'wanted_change_request_facts', { cr_id: crIds })
}

/** A reader that is shown them asks again, a minute later at the earliest. */
export async function factsFailed(db: DbOrTransaction, crIds: string[]): Promise<void> {
  await updateRows(db, 'wanted_change_request_facts', { cr_id: crIds }, { tried_at: sql<string>`now()` })
}

export interface Neighbor {
  cr_id: string
  head_commit_sha: string
}

/**
 * Open change requests on the same base that merge, change one of the same files, and were not compared with this one at
 * these commits. The newest ones.
 */
export async function uncomparedNeighbors(
  db: DbOrTransaction,
  of: { crId: string; base: string; head: string; limit: number },
): Promise<Neighbor[]> {
  const { rows } = await sql<Neighbor>`
    select other.cr_id, other.head_commit_sha from change_requests cr
    join change_request_facts facts on facts.cr_id = cr.cr_id and facts.pair = ${pairOf(of.base, of.head)}
    join change_requests other on other.project_id = cr.project_id and other.status = 'open'
      and other.base_ref = cr.base_ref and other.cr_id <> cr.cr_id and other.base_commit_sha = ${of.base}
    join change_request_facts theirs on theirs.cr_id = other.cr_id
      and theirs.pair = other.base_commit_sha || ' ' || other.head_commit_sha and theirs.paths && facts.paths
    join change_request_checks k on k.cr_id = other.cr_id and k.can_merge
      and k.base_sha = other.base_commit_sha and k.head_sha = other.head_commit_sha
    left join change_request_collisions known on known.cr_id = cr.cr_id and known.other_id = other.cr_id
      and known.commits = ${pairOf(of.base, of.head)} || ' ' || other.head_commit_sha
    where cr.cr_id = ${of.crId} and known.cr_id is null and not theirs.is_up_to_date
    order by other.number desc limit ${of.limit}`.execute(db)
  return rows
}

/** Both ways: either one may land first. */
export async function recordCollisions(
  db: DbOrTransaction,
  of: { crId: string; base: string; head: string; found: (Neighbor & { files: string[] })[] },
): Promise<void> {
  const rows = of.found.flatMap(({ cr_id, head_commit_sha: head, files }) => [
    { cr_id: of.crId, other_id: cr_id, commits: `${of.base} ${of.head} ${head}`, files },
    { cr_id, other_id: of.crId, commits: `${of.base} ${head} ${of.head}`, files },
  ])
  for (const row of rows.toSorted((a, b) => (a.cr_id + a.other_id < b.cr_id + b.other_id ? -1 : 1)))
    await upsertRow(db, 'change_request_collisions', row, 'cr_id', 'other_id')
  const compared = { cr_id: of.crId, pair: pairOf(of.base, of.head) }
  await updateRows(db, 'change_request_facts', compared, { is_compared: true })
}
