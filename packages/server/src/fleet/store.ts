/** SQL on the servers of a database, and on what leads from a request to its project. */
import { type RawBuilder, sql } from 'kysely'
import { serverNamePattern } from '../config/fleet.ts'
import { hasFreeLock, isRecent } from '../db/live-instance.ts'
import { couldLeave, isCountedOn, wholeLog } from '../projects/replicas/store.ts'
import { findRow, firstRow, updateRows } from '../db/rows.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import { ageMsMax } from './peer-header.ts'

export interface Peer {
  server_name: string
  peer_url: string
}

export async function findServer(
  db: DbOrTransaction,
  where: Partial<Pick<Row<'servers'>, 'server_name' | 'data_folder'>>,
) {
  // PostgreSQL refuses some texts that no server can be called.
  if (where.server_name !== undefined && !serverNamePattern.test(where.server_name)) return null
  return findRow(db, 'servers', where)
}

/** Held until the end of the transaction: of servers that start together, one looks at the names after the other. */
export async function lockNames(trx: DbOrTransaction): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('svc server names', 0))`.execute(trx)
}

/**
 * The heartbeat of another process on a data folder with this id: of an earlier one that did not end properly, or of the
 * original, when the folder is a copy. Null: there is none that may live.
 */
export function livesOnFolder(
  db: DbOrTransaction,
  { folderId, deadAfterSeconds }: { folderId: string; deadAfterSeconds: number },
): Promise<{ server_name: string | null; heartbeat_at: string } | null> {
  return firstRow(
    db
      .selectFrom('server_instances')
      .select(['server_name', 'heartbeat_at'])
      .where('data_folder', '=', folderId)
      .where(isRecent(deadAfterSeconds))
      .where(sql<boolean>`not ${hasFreeLock}`)
      .orderBy('heartbeat_at', 'desc'),
  )
}

export async function recordServer(
  db: DbOrTransaction,
  row: Pick<Row<'servers'>, 'server_name' | 'data_folder' | 'peer_url' | 'keeps_replicas' | 'instance_id' | 'settings'>,
): Promise<void> {
  const { server_name, ...rest } = row
  const facts = { ...rest, settings: JSON.stringify(rest.settings) }
  await db
    .insertInto('servers')
    .values({ server_name, ...facts })
    .onConflict((conflict) =>
      conflict.column('server_name').doUpdateSet({ ...facts, taken_over_at: null, started_at: sql<string>`now()` }),
    )
    .execute()
}

/** By the clock of the database, which all servers share. */
export async function databaseTime(db: DbOrTransaction): Promise<string> {
  const { rows } = await sql<{ at: string }>`select to_jsonb(clock_timestamp()) #>> '{}' as at`.execute(db)
  return rows[0]!.at
}

/** Returns the mark before. Undefined: the row is not that of this process any more. */
export async function setStartMark(
  db: DbOrTransaction,
  { server_name, instance_id, mark }: { server_name: string; instance_id: string; mark: string },
): Promise<string | null | undefined> {
  const { rows } = await sql<{ before: string | null }>`with own as (
      select server_name, settings ->> 'start_mark' as before from servers
      where server_name = ${server_name} and instance_id = ${instance_id} for update)
    update servers s set settings = s.settings || jsonb_build_object('start_mark', ${mark}::text)
    from own where s.server_name = own.server_name returning own.before`.execute(db)
  return rows[0]?.before
}

export interface RecordedServer {
  server_name: string
  data_folder: string
  /** Null: of an earlier version. */
  host: string | null
  data_dir: string | null
  projects: number
  is_taken_over: boolean
  /** The real path of its repositories. Null: of an earlier version. */
  repositories: string | null
  /** The mark that it left last. Null: of an earlier version. */
  start_mark: string | null
}

/**
 * Whether the log has each change of a ref that this server has acknowledged since then, and another server may have the
 * copies from which its projects can be taken over. `records_since`: of the first start from which on it recorded them.
 */
export async function hasRecordedSince(
  db: DbOrTransaction,
  { serverName, at }: { serverName: string; at: string },
): Promise<boolean> {
  const { rows } = await sql`select from servers own where server_name = ${serverName}
    and (settings ->> 'records_since')::timestamptz <= ${at}::timestamptz
    and ${at}::timestamptz > now() - ${wholeLog}
    and exists (select from servers s where s.server_name <> own.server_name and ${isCountedOn})`.execute(db)
  return rows.length > 0
}

/** Every server that used the database, wherever it is now. Empty for the tables of a version without servers. */
export async function recordedServers(db: DbOrTransaction): Promise<RecordedServer[]> {
  const { rows: found } = await sql<{ found: string | null }>`select to_regclass('servers') as found`.execute(db)
  if (found[0]?.found == null) return []
  // As JSON, since the tables of an earlier version may lack a column.
  const { rows } = await sql<RecordedServer>`
    select server_name, data_folder, to_jsonb(s) -> 'settings' ->> 'host' as host,
      to_jsonb(s) -> 'settings' ->> 'data_dir' as data_dir, to_jsonb(s) -> 'settings' ->> 'start_mark' as start_mark,
      to_jsonb(s) -> 'settings' ->> 'repositories' as repositories,
      to_jsonb(s) ->> 'taken_over_at' is not null as is_taken_over,
      (select count(*)::integer from projects p where p.home = s.server_name and p.deleted_at is null) as projects
    from servers s order by server_name`.execute(db)
  return rows
}

/** The other servers at which some of these projects have their home. */
export async function serversOfProjects(
  db: DbOrTransaction,
  { except, projects }: { except: string; projects: string[] },
): Promise<RecordedServer[]> {
  const { rows } = await sql<{ home: string }>`select distinct home from projects
    where home <> ${except} and project_id::text = any(${projects}::text[])`.execute(db)
  const homes = new Set(rows.map(({ home }) => home))
  return (await recordedServers(db)).filter(({ server_name }) => homes.has(server_name))
}

export async function hasOtherServers(db: DbOrTransaction, serverName: string): Promise<boolean> {
  return (await findRow(db, 'servers', { server_name: sql`<> ${serverName}` })) !== null
}

/** Live servers of other data folders, as they were started. One of a version without names has none. */
export async function liveOthers(db: DbOrTransaction, input: { folderId: string; deadAfterSeconds: number }) {
  return db
    .selectFrom('server_instances')
    .leftJoin('servers', 'servers.server_name', 'server_instances.server_name')
    .select(['server_instances.server_name', 'servers.peer_url', 'heartbeat_at'])
    .where('server_instances.data_folder', '<>', input.folderId)
    .where(isRecent(input.deadAfterSeconds))
    .orderBy('heartbeat_at', 'desc')
    .execute()
}

/** Null while that server does not run, or cannot be reached. */
export function livePeer(
  db: DbOrTransaction,
  input: { serverName: string; deadAfterSeconds: number; anyRole?: boolean },
): Promise<Peer | null> {
  const { serverName, deadAfterSeconds, anyRole = false } = input
  return firstRow(
    db
      .selectFrom('server_instances')
      .select(['server_name', 'peer_url'])
      .where('server_name', '=', serverName)
      .where((eb) => (anyRole ? eb.lit(true) : eb('peer_url', 'is not', null)))
      .where(isRecent(deadAfterSeconds))
      .orderBy('started_at', 'desc')
      .$narrowType<Peer>(),
  )
}

/** The other servers that run, with the version of svc that each recorded at its start. */
export async function runningVersions(
  db: DbOrTransaction,
  { serverName, deadAfterSeconds }: { serverName: string; deadAfterSeconds: number },
): Promise<{ name: string; version: string | null }[]> {
  // As JSON, since the tables of an earlier version may lack the column.
  const { rows } = await sql<{ name: string; version: string | null }>`
    select distinct s.server_name as name, to_jsonb(s) -> 'settings' ->> 'svc_version' as version
    from servers s join server_instances i using (server_name)
    where s.server_name <> ${serverName} and ${isRecent(deadAfterSeconds)}
    order by name`.execute(db)
  return rows
}

/** Whether the clock of a row of `server_instances` differs so much from the database's that other servers refuse it. */
export const hasOtherClock = sql<boolean>`coalesce(abs(clock_ahead_seconds) > ${ageMsMax / 1000}, false)`

/**
 * The live servers that may keep projects, from the fewest projects on; this one first where several have as few. Those
 * with another clock come last, since the others refuse their requests, before them those whose disk is almost full,
 * which accept no new work, and before these those whose sandboxes cannot start: sessions would fail there.
 */
export async function emptiestPeers(
  db: DbOrTransaction,
  input: { serverName: string; deadAfterSeconds: number },
): Promise<Peer[]> {
  const { rows } = await sql<Peer>`
    select server_name, max(i.peer_url) as peer_url from server_instances i join servers using (server_name)
    where i.peer_url is not null and draining_since is null and ${isRecent(input.deadAfterSeconds)}
    group by server_name
    order by bool_or(${hasOtherClock}), bool_or(disk_low is true), bool_or(sandboxes_ready is false), (select count(*) from projects p where p.home = i.server_name and p.deleted_at is null),
      server_name = ${input.serverName} desc, random()`.execute(db)
  return rows
}

/** By how many seconds the clock of one server is ahead of that of the other. Null: not known, as while one does not run. */
export async function clockBetween(
  db: DbOrTransaction,
  { of, than, deadAfterSeconds }: { of: string; than: string; deadAfterSeconds: number },
): Promise<number | null> {
  const clockOf = (name: string) => sql`max(clock_ahead_seconds) filter (where server_name = ${name})`
  const { rows } = await sql<{ seconds: number | null }>`
    select ${clockOf(of)} - ${clockOf(than)} as seconds from server_instances where ${isRecent(deadAfterSeconds)}`.execute(
    db,
  )
  return rows[0]!.seconds
}

/** From then on its name is known as that of a server without projects, until it lives again. False: it lives. */
export async function markTakenOver(db: DbOrTransaction, serverName: string, deadAfterSeconds: number) {
  const { rows } = await sql`
    update servers set taken_over_at = now(), keeps_replicas = false where server_name = ${serverName}
      and not exists (select from server_instances i where i.server_name = ${serverName} and ${isRecent(deadAfterSeconds)})
    returning server_name`.execute(db)
  return rows.length > 0
}

/** A server that was taken over while it was paused is one like any other again: others count on its copies. True: this ended that. */
export async function liveAgain(db: DbOrTransaction, serverName: string, keepsReplicas: boolean): Promise<boolean> {
  const { rows } = await sql`update servers set taken_over_at = null, keeps_replicas = ${keepsReplicas}
    where server_name = ${serverName} and taken_over_at is not null returning server_name`.execute(db)
  return rows.length > 0
}

/** Of processes, by a query for their `instance_id`: a paused one keeps its connections, and their locks, and may wake. */
async function endConnectionsOf(db: DbOrTransaction, instances: RawBuilder<unknown>): Promise<void> {
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name in (select 'svc ' || instance_id::text from (${instances}) as found)
      and pid <> pg_backend_pid() and datname = current_database()`.execute(db)
}

/**
 * Ends the connections of a server that does not run: a paused process, or a machine that is gone without closing them,
 * keeps its locks.
 */
export function endConnections(db: DbOrTransaction, serverName: string): Promise<void> {
  return endConnectionsOf(db, sql`select instance_id from server_instances where server_name = ${serverName}`)
}

/** Ends the connections of the process that had the name before, wherever it is. */
export function endEarlier(db: DbOrTransaction, instanceId: string): Promise<void> {
  return endConnectionsOf(db, sql`select ${instanceId}::uuid as instance_id`)
}

/** Ends those of servers that ran alone and do not seem to run: one that wakes sees that it is not alone any more. */
export function endLonely(db: DbOrTransaction, input: { serverName: string; deadAfterSeconds: number }): Promise<void> {
  return endConnectionsOf(
    db,
    sql`select instance_id from servers s where peer_url is null and server_name <> ${input.serverName}
      and not exists (select from server_instances i where i.server_name = s.server_name
        and ${isRecent(input.deadAfterSeconds)})`,
  )
}

/** When that server was last seen. Null: it never ran. */
export async function lastSeen(db: DbOrTransaction, serverName: string): Promise<string | null> {
  const { rows } = await sql<{ at: string | null }>`
    select greatest(s.last_seen_at, max(i.heartbeat_at)) as at
    from servers s left join server_instances i using (server_name)
    where server_name = ${serverName} group by s.server_name`.execute(db)
  return rows[0]?.at ?? null
}

/** The project of a session, or of a sandbox that exists or is about to. */
export async function projectOfSandbox(db: DbOrTransaction, id: string): Promise<string | null> {
  const { rows } = await sql<{ project_id: string }>`
    select project_id from project_sessions where session_id = ${id}::uuid or next_sandbox_id = ${id}::uuid
    union all select project_id from session_sandboxes join project_sessions using (session_id) where sandbox_id = ${id}::uuid
    limit 1`.execute(db)
  return rows[0]?.project_id ?? null
}

/** The project of a token, a model key or another credential of a sandbox. */
export async function projectOfCredential(db: DbOrTransaction, hash: Buffer): Promise<string | null> {
  const { rows } = await sql<{ project_id: string }>`
    select project_id from tokens where sha256 = ${hash} and project_id is not null
    union all select project_id from sandbox_credentials where sha256 = ${hash}
    union all select project_id from warm_sandboxes where model_sha256 = ${hash} or token_sha256 = ${hash} or read_sha256 = ${hash}
    limit 1`.execute(db)
  return rows[0]?.project_id ?? null
}

export interface ServerWithProjects {
  server_name: string
  peer_url: string | null
  running: boolean
  keeps_projects: boolean
  draining: boolean
  settings: Record<string, string> | null
  /** Null: not known. */
  sandboxes_ready: boolean | null
  sandbox_problem: string | null
  /** By how much its clock is ahead of the database's. Null: by no more than requests of servers may differ, or not known. */
  clock_ahead_seconds: number | null
  /** Whether its disk is almost full. */
  disk_low: boolean
  projects: number
  copies: number
  copies_to_move: number
  last_seen: string | null
}

/**
 * Servers that run, have projects or copies of projects, or on whose copies the others count. One that was taken away for
 * good is none of these.
 */
export async function serversWithProjects(
  db: DbOrTransaction,
  deadAfterSeconds: number,
): Promise<ServerWithProjects[]> {
  const { rows } = await sql<ServerWithProjects>`
    select * from (
      select s.server_name, s.peer_url, s.draining_since is not null as draining, s.settings,
        s.sandboxes_ready, s.sandbox_problem,
        max(clock_ahead_seconds) filter (where ${isRecent(deadAfterSeconds)} and ${hasOtherClock}) as clock_ahead_seconds,
        coalesce(bool_or(disk_low and ${isRecent(deadAfterSeconds)}), false) as disk_low,
        coalesce(bool_or(${isRecent(deadAfterSeconds)}), false) as running,
        ${isCountedOn} as counted_on,
        coalesce(bool_or(i.peer_url is not null and ${isRecent(deadAfterSeconds)}), false) as keeps_projects,
        (select count(*)::integer from projects p where p.home = s.server_name) as projects,
        (select count(*)::integer from project_replicas r where r.server = s.server_name) as copies,
        (select count(*)::integer from project_replicas r join projects p using (project_id)
          where r.server = s.server_name and ${couldLeave}) as copies_to_move,
        greatest(s.last_seen_at, max(i.heartbeat_at)) as last_seen
      from servers s left join server_instances i on i.server_name = s.server_name
      group by s.server_name) found
    where running or projects > 0 or counted_on
      or exists (select from project_replicas r where r.server = found.server_name) order by server_name`.execute(db)
  return rows
}

/** `problem`: why sandboxes cannot start on that server, or null. */
export async function recordSandboxes(db: DbOrTransaction, serverName: string, problem: string | null): Promise<void> {
  const isReady = problem === null
  await sql`update servers set sandboxes_ready = ${isReady}, sandbox_problem = ${problem} where server_name = ${serverName}
    and (sandboxes_ready is distinct from ${isReady} or sandbox_problem is distinct from ${problem})`.execute(db)
}

export async function setDraining(trx: DbOrTransaction, serverName: string, isDraining: boolean): Promise<void> {
  const since = isDraining ? sql<string>`coalesce(draining_since, now())` : null
  await updateRows(trx, 'servers', { server_name: serverName }, { draining_since: since })
}
