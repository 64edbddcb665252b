import { sql } from 'kysely'
import { isAtHome } from '../../db/home.ts'
import { isServerDead } from '../../db/live-instance.ts'
import { ofLiveProject } from '../../db/live-project.ts'
import { type Changes, deleteRows, insertRow, listRows, updateRows } from '../../db/rows.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'

export type WarmRow = Row<'warm_sandboxes'>

export async function insertWarm(db: DbOrTransaction, row: NewRow<'warm_sandboxes'>): Promise<void> {
  await insertRow(db, 'warm_sandboxes', row)
}

/** False when the row was deleted, for example with its project. */
export async function updateWarm(db: DbOrTransaction, sandboxId: string, set: Changes<'warm_sandboxes'>) {
  return (await updateRows(db, 'warm_sandboxes', { sandbox_id: sandboxId }, { ...set, updated_at: new Date() })) > 0
}

/** Keeps sessions from claiming a ready sandbox while it is updated. False when a session claimed it already. */
export async function reserveWarmForUpdate(
  db: DbOrTransaction,
  sandboxId: string,
  read: { sha256: Buffer; expiresAt: Date },
): Promise<boolean> {
  const set = { read_sha256: read.sha256, read_expires_at: read.expiresAt, updated_at: new Date() }
  const ready = { sandbox_id: sandboxId, status: 'ready' } as const
  return (await updateRows(db, 'warm_sandboxes', ready, { status: 'filling', ...set })) > 0
}

/** Claims a sandbox by deleting its row, in the transaction that inserts the session, so that only one session gets it. */
export async function takeWarm(
  db: DbOrTransaction,
  wanted: { projectId: string; instanceId: string; fingerprint: string; commit: string },
): Promise<WarmRow | null> {
  // A sandbox at the commit of the session needs no update, so it comes first.
  const { rows } = await sql<WarmRow>`
    delete from warm_sandboxes where sandbox_id = (
      select sandbox_id from warm_sandboxes
      where project_id = ${wanted.projectId} and instance_id = ${wanted.instanceId}
        and fingerprint = ${wanted.fingerprint} and status = 'ready'
      order by commit_sha = ${wanted.commit} desc, created_at limit 1 for update skip locked)
    returning *`.execute(db)
  return rows[0] ?? null
}

export async function deleteWarm(db: DbOrTransaction, sandboxId: string): Promise<boolean> {
  return (await deleteRows(db, 'warm_sandboxes', { sandbox_id: sandboxId })) > 0
}

export async function warmOf(db: DbOrTransaction, instanceId: string): Promise<WarmRow[]> {
  return listRows(db, 'warm_sandboxes', { instance_id: instanceId }, 'created_at')
}

/** The ready ones among these sandboxes that a dead server kept. */
export async function leftWarm(db: DbOrTransaction, sandboxIds: string[], staleSeconds: number): Promise<WarmRow[]> {
  const { rows } = await sql<WarmRow>`
    select * from warm_sandboxes w where w.sandbox_id = any(${sandboxIds}::uuid[]) and w.status = 'ready'
      and w.in_force is not null and ${isServerDead(sql.ref('w.instance_id'), staleSeconds)} order by w.created_at`.execute(
    db,
  )
  return rows
}

/** False when the row was deleted, or another server took it over. */
export async function takeOverWarm(db: DbOrTransaction, { sandbox_id, instance_id }: WarmRow, instanceId: string) {
  const left = { sandbox_id, instance_id, status: 'ready' } as const
  const set = { instance_id: instanceId, updated_at: new Date() }
  return (await updateRows(db, 'warm_sandboxes', left, set)) > 0
}

/** Deletes the rows of dead servers. A sandbox that lives without its row is ended as an orphan. */
export async function deleteOrphanedWarm(
  db: DbOrTransaction,
  { staleSeconds, home }: { staleSeconds: number; home: string | null },
): Promise<void> {
  await sql`delete from warm_sandboxes w where ${isServerDead(sql.ref('w.instance_id'), staleSeconds)}
    and ${isAtHome(sql.ref('w.project_id'), home)}`.execute(db)
}

/**
 * Projects at home here with recent sessions on this server or warm sandboxes of it, the latest first, with the model of
 * the newest session. None while this server is drained.
 */
export async function projectsInUse(
  db: DbOrTransaction,
  input: { instanceId: string; home: string | null; minutes: number; limit: number },
): Promise<{ project_id: string; model: string | null }[]> {
  const { rows } = await sql<{ project_id: string; model: string | null }>`
    select used.project_id, newest.model
    from (
      select project_sessions.project_id, max(greatest(project_sessions.last_active_at, session_sandboxes.created_at)) as at
      from session_sandboxes
      join project_sessions using (session_id)
      where (session_sandboxes.instance_id = ${input.instanceId}
          or exists (select from warm_sandboxes w
            where w.project_id = project_sessions.project_id and w.instance_id = ${input.instanceId}))
        and project_sessions.last_active_at > now() - make_interval(mins => ${input.minutes})
        and ${ofLiveProject(sql.ref('project_sessions.project_id'))}
        and ${isAtHome(sql.ref('project_sessions.project_id'), input.home)}
        and not exists (select from servers where server_name = ${input.home} and draining_since is not null)
      group by project_sessions.project_id
      order by at desc
      limit ${input.limit}
    ) used
    cross join lateral (
      select model from project_sessions
      where project_sessions.project_id = used.project_id
      order by created_at desc, session_id desc
      limit 1
    ) newest
    order by used.at desc`.execute(db)
  return rows
}
