/** SQL on copies of repositories, and on the changes of refs that they follow. */
import { sql } from 'kysely'
import { isRecent } from '../../db/live-instance.ts'
import { deleteRows, findRow, listRows } from '../../db/rows.ts'
import type { DbOrTransaction, Row } from '../../db/schema.ts'

export type ReplicaRow = Row<'project_replicas'>

/** Null: the ref does not exist on that side. */
export interface RefChange {
  ref: string
  old: string | null
  new: string | null
}

export interface Recorded {
  project_id: string
  home: string
  home_epoch: number
  changes: RefChange[]
  /** The server whose copy has the objects. Null: no copy has to. */
  replica: string | null
}

/**
 * Numbers and records changes of refs, provided that this server is still the home and the copy still the current one;
 * otherwise nothing must be committed. The home stays as it is until the transaction ends. A copy that lacks an earlier
 * change, which did not wait for it, stays behind until it got that one.
 */
export async function insertRefChanges(trx: DbOrTransaction, input: Recorded): Promise<'recorded' | 'moved' | 'other'> {
  const { project_id, home, home_epoch, changes, replica } = input
  const count = changes.length
  const column = (of: (change: RefChange) => string | null) => sql`${changes.map(of)}::text[]`
  const { rows } = await sql<{ is_home: boolean; is_held: boolean }>`
    with home as materialized (
      select project_id from projects
      where project_id = ${project_id} and home = ${home} and home_epoch = ${home_epoch}
        and home_state <> 'frozen' for share),
    counted as (
      insert into ref_counters (project_id, seq) select project_id, ${count}::bigint from home
      on conflict (project_id) do update set seq = ref_counters.seq + ${count}::bigint returning seq),
    held as (
      update project_replicas r set acknowledged_seq =
        case when acknowledged_seq = counted.seq - ${count}::bigint then counted.seq else acknowledged_seq end
      from counted where r.project_id = ${project_id} and r.server = ${replica}::text and r.epoch = ${home_epoch} returning 1),
    written as (
      insert into ref_changes (project_id, seq, ref, old_sha, new_sha, epoch)
      select ${project_id}, counted.seq - ${count}::bigint + n, ref, old_sha, new_sha, ${home_epoch}
      from counted, unnest(${column((one) => one.ref)}, ${column((one) => one.old)}, ${column((one) => one.new)})
        with ordinality as given (ref, old_sha, new_sha, n)
      returning 1)
    select exists (select from home) as is_home, exists (select from held) as is_held`.execute(trx)
  const { is_home, is_held } = rows[0]!
  if (!is_home) return 'moved'
  return replica === null || is_held ? 'recorded' : 'other'
}

export function findReplica(db: DbOrTransaction, projectId: string): Promise<ReplicaRow | null> {
  return findRow(db, 'project_replicas', { project_id: projectId })
}

/** Also when the home has changed nothing yet. */
export async function lastSeq(db: DbOrTransaction, projectId: string): Promise<number> {
  return (await findRow(db, 'ref_counters', { project_id: projectId }))?.seq ?? 0
}

/** In their order. */
export function changesAfter(
  db: DbOrTransaction,
  { projectId, after, upTo }: { projectId: string; after: number; upTo?: number },
): Promise<Row<'ref_changes'>[]> {
  const seq = upTo === undefined ? sql`> ${after}` : sql`between ${after + 1} and ${upTo}`
  return listRows(db, 'ref_changes', { project_id: projectId, seq }, 'seq')
}

/** The number of the last change that homes up to this epoch recorded, as far as the log tells. */
export async function seqOfEpoch(
  db: DbOrTransaction,
  { projectId, epoch }: { projectId: string; epoch: number },
): Promise<number> {
  const { rows } = await sql<{ seq: string | number }>`
    select coalesce(max(seq) filter (where epoch <= ${epoch}), min(seq) - 1,
      (select seq from ref_counters where project_id = ${projectId}), 0) as seq
    from ref_changes where project_id = ${projectId}`.execute(db)
  return Number(rows[0]!.seq)
}

/** Whether another server than the home has everything that was acknowledged. */
export async function hasCurrentCopy(db: DbOrTransaction, projectId: string): Promise<boolean> {
  const { rows } = await sql`
    select from projects p join project_replicas r using (project_id) left join ref_counters c using (project_id)
    where p.project_id = ${projectId} and r.server <> p.home and r.epoch = p.home_epoch
      and r.acknowledged_seq >= coalesce(c.seq, 0)`.execute(db)
  return rows.length > 0
}

/** Whether these are all changes between the two. The log forgets those that a copy had followed a week ago. */
export function isWholeLog(changes: Row<'ref_changes'>[], { after, upTo }: { after: number; upTo: number }): boolean {
  return changes.length === upTo - after
}

/** False when a change was recorded after `seq`, or this server is not the home any more. */
export async function setReplica(
  db: DbOrTransaction,
  row: Pick<ReplicaRow, 'project_id' | 'server' | 'epoch'> & { home: string; seq: number; applied: number },
): Promise<boolean> {
  const { project_id, server, epoch, home, seq, applied } = row
  return db.transaction().execute(async (trx) => {
    // A change waits for this row, so none is recorded between the check and the insert.
    await sql`insert into ref_counters (project_id, seq) values (${project_id}, 0)
      on conflict (project_id) do update set seq = ref_counters.seq`.execute(trx)
    const { rows } = await sql`
      insert into project_replicas (project_id, server, epoch, acknowledged_seq, applied_seq)
      select p.project_id, ${server}, p.home_epoch, ${seq}, ${applied} from projects p join ref_counters c using (project_id)
      where p.project_id = ${project_id} and p.home = ${home} and p.home_epoch = ${epoch} and c.seq = ${seq}
      on conflict (project_id) do update set server = excluded.server, epoch = excluded.epoch, filled_at = now(),
        acknowledged_seq = excluded.acknowledged_seq, applied_seq = excluded.applied_seq
      returning 1`.execute(trx)
    if (rows.length > 0) await clearCopyFailure(trx, project_id)
    return rows.length > 0
  })
}

/** Kept for as long as this home stays the home, until the copy is there and takes changes. */
export async function recordCopyFailure(
  db: DbOrTransaction,
  { project_id, home_epoch }: Pick<Row<'projects'>, 'project_id' | 'home_epoch'>,
  error: string,
): Promise<void> {
  await sql`insert into copy_failures (project_id, epoch, error)
    select project_id, home_epoch, ${error} from projects where project_id = ${project_id} and home_epoch = ${home_epoch}
    on conflict (project_id) do update set epoch = excluded.epoch, error = excluded.error`.execute(db)
}

export async function clearCopyFailure(db: DbOrTransaction, projectId: string): Promise<void> {
  await sql`delete from copy_failures where project_id = ${projectId}`.execute(db)
}

/** Nothing expects copies of such a home any more. */
export async function clearFailuresAt(db: DbOrTransaction, home: string): Promise<void> {
  await sql`delete from copy_failures f using projects p where p.project_id = f.project_id and p.home = ${home}`.execute(
    db,
  )
}

/** The copy has the objects of all changes up to `seq`. */
export async function setAcknowledged(
  db: DbOrTransaction,
  { project_id, server, epoch, seq }: Pick<ReplicaRow, 'project_id' | 'server' | 'epoch'> & { seq: number },
): Promise<void> {
  await sql`update project_replicas set acknowledged_seq = greatest(acknowledged_seq, ${seq})
    where project_id = ${project_id} and server = ${server} and epoch = ${epoch}`.execute(db)
}

export async function setApplied(
  db: DbOrTransaction,
  { project_id, server, seq }: Pick<ReplicaRow, 'project_id' | 'server'> & { seq: number },
): Promise<void> {
  await sql`update project_replicas set applied_seq = greatest(applied_seq, ${seq})
    where project_id = ${project_id} and server = ${server}`.execute(db)
}

/** Copies on this server whose refs can follow further. */
export async function replicasBehind(db: DbOrTransaction, server: string, limit: number): Promise<ReplicaRow[]> {
  const behind = { server, applied_seq: sql`< acknowledged_seq` }
  return (await listRows(db, 'project_replicas', behind, 'project_id')).slice(0, limit)
}

export interface Keeper {
  server_name: string
  peer_url: string
  /** Copies go to others, and those it has are made at others. */
  is_draining: boolean
}

const keepers = (deadAfterSeconds: number) => sql`
  select i.server_name, max(i.peer_url) as peer_url, bool_or(s.draining_since is not null) as is_draining,
    bool_or(s.sandboxes_ready is false) as lacks_sandboxes, bool_or(i.disk_low is true) as disk_low
  from server_instances i join servers s using (server_name)
  where i.peer_url is not null and s.keeps_replicas and s.taken_over_at is null and ${isRecent(deadAfterSeconds)}
  group by i.server_name`

/**
 * Running servers that may keep copies, those with the fewest first, without this one. A take-over leaves a project where
 * its copy is, so those whose sandboxes cannot start, whose disk is almost full, and draining ones, come last.
 */
export async function liveKeepers(
  db: DbOrTransaction,
  { serverName, deadAfterSeconds }: { serverName: string; deadAfterSeconds: number },
): Promise<Keeper[]> {
  const { rows } = await sql<Keeper>`
    select k.server_name, k.peer_url, k.is_draining from (${keepers(deadAfterSeconds)}) k where k.server_name <> ${serverName}
    order by k.is_draining, k.disk_low, k.lacks_sandboxes, (select count(*) from project_replicas r where r.server = k.server_name), random()`.execute(
    db,
  )
  return rows
}

/** For a row `s` of `servers`: the others count on its copies, whether it runs or not. */
export const isCountedOn = sql<boolean>`(s.keeps_replicas and s.taken_over_at is null and s.draining_since is null)`

/** Servers other than these that could keep a new copy, running or not, the one that was seen last first. */
export async function knownKeepers(
  db: DbOrTransaction,
  ...but: string[]
): Promise<{ server_name: string; last_seen: string | null }[]> {
  const { rows } = await sql<{ server_name: string; last_seen: string | null }>`
    select s.server_name, greatest(s.last_seen_at, max(i.heartbeat_at)) as last_seen
    from servers s left join server_instances i using (server_name)
    where s.server_name <> all(${but}::text[]) and ${isCountedOn}
    group by s.server_name order by last_seen desc nulls last, s.server_name`.execute(db)
  return rows
}

export async function hasKeepers(db: DbOrTransaction, ...but: string[]): Promise<boolean> {
  return (await knownKeepers(db, ...but)).length > 0
}

export async function isDraining(db: DbOrTransaction, serverName: string): Promise<boolean> {
  return (await findRow(db, 'servers', { server_name: serverName, draining_since: sql`is not null` })) !== null
}

/** For a project `p` with the copy `r`: it is at a draining server, and another one could keep it, running or not. */
export const couldLeave = sql`(
  exists (select from servers d where d.server_name = r.server and d.draining_since is not null)
  and exists (select from servers o where o.server_name <> p.home and o.keeps_replicas
    and o.taken_over_at is null and o.draining_since is null))`

/**
 * Projects of this home without a current copy on a running server, with one that could not be written, or with one on a
 * draining server that a running one could have, deleted ones included until they are purged.
 */
export async function projectsToCopy(
  db: DbOrTransaction,
  { serverName, deadAfterSeconds, limit }: { serverName: string; deadAfterSeconds: number; limit: number },
): Promise<string[]> {
  const { rows } = await sql<{ project_id: string }>`
    with k as (${keepers(deadAfterSeconds)})
    select p.project_id from projects p left join project_replicas r using (project_id)
    where p.home = ${serverName} and (r.project_id is null or r.epoch <> p.home_epoch
      or r.server = p.home or r.server not in (select server_name from k)
      or (r.server in (select server_name from k where is_draining)
        and exists (select from k where not is_draining and server_name <> p.home))
      or exists (select from copy_failures f where f.project_id = p.project_id and f.epoch = p.home_epoch)
      or r.acknowledged_seq < (select seq from ref_counters c where c.project_id = p.project_id))
    order by p.created_at desc limit ${limit}`.execute(db)
  return rows.map((row) => row.project_id)
}

export interface Uncopied {
  project_id: string
  slug: string
  home: string | null
  /** The server with the last copy, if any. */
  replica: string | null
  behind: number | null
  being_made: boolean
  /** It has a current copy on a running server, which could not be written. */
  changes_refused: boolean
  /** Why its home failed to make or write it the last time. */
  error: string | null
}

/**
 * The first copy at the home that a project has got lately, which its home can make, since another server runs and no
 * attempt has failed. One that takes longer than a transfer may is no copy that is being made any more.
 */
const isBeingMade = (deadAfterSeconds: number) => sql`(
  p.home in (select server_name from server_instances where ${isRecent(deadAfterSeconds)})
  and exists (select from (${keepers(deadAfterSeconds)}) k where k.server_name <> p.home) and f.error is null
  and greatest(p.created_at, (select max(ended_at) from project_moves m
    where m.project_id = p.project_id and m.to_server = p.home and m.phase = 'done')) > now() - interval '30 minutes')`

/** For a project `p` with the copy `r`: it is not current, or its server does not run. */
const lacksCopy = (deadAfterSeconds: number) => sql`(r.project_id is null or r.epoch <> p.home_epoch
  or r.server = p.home or r.server not in (select server_name from (${keepers(deadAfterSeconds)}) k)
  or r.acknowledged_seq < coalesce(c.seq, 0))`

/** Those that lack a current copy, and those whose copy could not be written. Why is in these columns. */
export async function uncopiedProjects(
  db: DbOrTransaction,
  { deadAfterSeconds }: { deadAfterSeconds: number },
): Promise<{ count: number; projects: Uncopied[] }> {
  const { rows } = await sql<Uncopied & { total: number }>`
    select p.project_id, p.slug, p.home, r.server as replica, f.error, count(*) over ()::integer as total,
      ${isBeingMade(deadAfterSeconds)} and r.epoch is distinct from p.home_epoch as being_made,
      not ${lacksCopy(deadAfterSeconds)} as changes_refused,
      case when r.epoch = p.home_epoch then coalesce(c.seq, 0) - r.acknowledged_seq end as behind
    from projects p left join project_replicas r using (project_id) left join ref_counters c using (project_id)
      left join copy_failures f on f.project_id = p.project_id and f.epoch = p.home_epoch
    where p.deleted_at is null and p.home is not null and (${lacksCopy(deadAfterSeconds)} or f.error is not null)
    order by p.home, p.slug`.execute(db)
  return {
    count: rows[0]?.total ?? 0,
    projects: rows.map(({ project_id, slug, home, replica, behind, being_made, changes_refused, error }) => ({
      ...{ project_id, slug, home, replica, being_made, changes_refused, error },
      behind: behind === null ? null : Number(behind),
    })),
  }
}

const placedMax = 5_000

/** Where each project is, those that can be restored too. */
export async function placedProjects(db: DbOrTransaction) {
  const { rows } = await sql<{
    project_id: string
    slug: string
    deleted: boolean
    home: string | null
    copy: string | null
  }>`
    select p.project_id, coalesce(p.deleted_slug, p.slug) as slug, p.deleted_at is not null as deleted, p.home,
      nullif(r.server, p.home) as copy
    from projects p left join project_replicas r using (project_id)
    order by p.home nulls first, slug, p.project_id limit ${placedMax}`.execute(db)
  return rows
}

/** Those of these projects whose current copy is on another server. */
export async function copiedElsewhere(db: DbOrTransaction, projectIds: string[], server: string): Promise<string[]> {
  if (projectIds.length === 0) return []
  const { rows } = await sql<{ project_id: string }>`
    select p.project_id from projects p left join project_replicas r using (project_id)
    where p.project_id = any(${projectIds}::uuid[])
      and r.server <> ${server} and r.epoch = p.home_epoch`.execute(db)
  return rows.map((row) => row.project_id)
}

/** The copies that other servers count on. */
export function replicasAt(db: DbOrTransaction, server: string): Promise<ReplicaRow[]> {
  return listRows(db, 'project_replicas', { server })
}

/** Unless its home has made another one meanwhile. */
export async function dropReplica(
  db: DbOrTransaction,
  { project_id, server, epoch, filled_at }: ReplicaRow,
): Promise<void> {
  await deleteRows(db, 'project_replicas', { project_id, server, epoch, filled_at })
}

export async function deleteReplicasOn(db: DbOrTransaction, server: string): Promise<void> {
  await deleteRows(db, 'project_replicas', { server })
}

export async function deleteReplica(db: DbOrTransaction, projectId: string): Promise<void> {
  await deleteRows(db, 'project_replicas', { project_id: projectId })
}

/** For so long, the log has every change. */
export const wholeLog = sql`interval '7 days'`

/** Those that every copy has followed for a week. */
export async function deleteOldRefChanges(db: DbOrTransaction): Promise<void> {
  await sql`delete from ref_changes c where at < now() - ${wholeLog}
    and not exists (select from project_replicas r where r.project_id = c.project_id and r.applied_seq < c.seq)`.execute(
    db,
  )
}

/**
 * Before a server changes refs without recording them: what was recorded says nothing any more, and no copy is current.
 * The skipped number tells an earlier copy that it lacks changes.
 */
export async function endRecords(db: DbOrTransaction, projectId: string): Promise<void> {
  await sql`
    with copies as (delete from project_replicas where project_id = ${projectId} returning 1),
      changes as (delete from ref_changes where project_id = ${projectId} returning 1)
    update ref_counters set seq = seq + 1 where project_id = ${projectId}
      and (exists (select from copies) or exists (select from changes))`.execute(db)
}

/** The newest recorded value of each ref, as far as it is kept. */
export async function lastValues(db: DbOrTransaction, projectId: string): Promise<Row<'ref_changes'>[]> {
  const { rows } = await sql<Row<'ref_changes'>>`
    select distinct on (ref) * from ref_changes where project_id = ${projectId} order by ref, seq desc`.execute(db)
  return rows
}

/** Managed projects at this home, in the order of their last recorded change. */
export async function lastChanged(
  db: DbOrTransaction,
  { home, since = '-infinity', limit }: { home: string; since?: string; limit: number },
): Promise<Pick<Row<'projects'>, 'project_id' | 'home_epoch' | 'slug'>[]> {
  const { rows } = await sql<Pick<Row<'projects'>, 'project_id' | 'home_epoch' | 'slug'>>`
    select p.project_id, p.home_epoch, p.slug from projects p
      join (select project_id, max(at) as last from ref_changes group by project_id) c using (project_id)
    where p.home = ${home} and p.managed and p.deleted_at is null and c.last > ${since}::timestamptz
    order by c.last desc limit ${limit}`.execute(db)
  return rows
}
