/** All SQL on warm sandboxes. */
import { sql } from 'kysely'
import { ofLiveProject } from '../../db/live-project.ts'
import type { DbOrTransaction, NewRow, Row } from '../../db/schema.ts'

export type WarmRow = Row<'warm_sandboxes'>

export async function insertWarm(db: DbOrTransaction, row: NewRow<'warm_sandboxes'>): Promise<void> {
  await db.insertInto('warm_sandboxes').values(row).execute()
}

/** False when the row was deleted, for example with its project. */
export async function updateWarm(
  db: DbOrTransaction,
  sandboxId: string,
  set: Partial<
    Pick<
      NewRow<'warm_sandboxes'>,
      'external_id' | 'endpoint' | 'status' | 'commit_sha' | 'read_sha256' | 'read_expires_at'
    >
  >,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('warm_sandboxes')
    .set({ ...set, updated_at: new Date() })
    .where('sandbox_id', '=', sandboxId)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Keeps sessions from claiming a ready sandbox while it is updated. False when a session claimed it already. */
export async function reserveWarmForUpdate(
  db: DbOrTransaction,
  sandboxId: string,
  read: { sha256: Buffer; expiresAt: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('warm_sandboxes')
    .set({ status: 'filling', read_sha256: read.sha256, read_expires_at: read.expiresAt, updated_at: new Date() })
    .where((eb) => eb.and({ sandbox_id: sandboxId, status: 'ready' }))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Claims a sandbox by deleting its row, in the transaction that inserts the session, so that only one session gets it. */
export async function takeWarm(
  db: DbOrTransaction,
  wanted: { projectId: string; instanceId: string; fingerprint: string; commit: string },
): Promise<WarmRow | null> {
  const row = await db
    .deleteFrom('warm_sandboxes')
    .where('sandbox_id', '=', ({ selectFrom }) =>
      selectFrom('warm_sandboxes')
        .select('sandbox_id')
        .where('project_id', '=', wanted.projectId)
        .where('instance_id', '=', wanted.instanceId)
        .where('fingerprint', '=', wanted.fingerprint)
        .where('status', '=', 'ready')
        // A sandbox at the commit of the session needs no update.
        .orderBy(sql`commit_sha = ${wanted.commit}`, 'desc')
        .orderBy('created_at')
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returningAll()
    .executeTakeFirst()
  return row ?? null
}

export async function deleteWarm(db: DbOrTransaction, sandboxId: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('warm_sandboxes')
    .where('sandbox_id', '=', sandboxId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

export async function warmOf(db: DbOrTransaction, instanceId: string): Promise<WarmRow[]> {
  return db
    .selectFrom('warm_sandboxes')
    .selectAll()
    .where('instance_id', '=', instanceId)
    .orderBy('created_at')
    .execute()
}

/** Deletes the rows of dead servers, whose sandboxes ended with them. */
export async function deleteOrphanedWarm(db: DbOrTransaction, staleSeconds: number): Promise<void> {
  await db
    .deleteFrom('warm_sandboxes')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('server_instances')
            .select('instance_id')
            .whereRef('server_instances.instance_id', '=', 'warm_sandboxes.instance_id')
            .where('heartbeat_at', '>', sql<string>`now() - make_interval(secs => ${staleSeconds})`),
        ),
      ),
    )
    .execute()
}

/** Projects with recent sessions on this server, the latest first, with the model of the newest session. */
export async function projectsInUse(
  db: DbOrTransaction,
  input: { instanceId: string; minutes: number; limit: number },
): Promise<{ project_id: string; model: string | null }[]> {
  const { rows } = await sql<{ project_id: string; model: string | null }>`
    select used.project_id, newest.model
    from (
      select project_sessions.project_id, max(greatest(project_sessions.last_active_at, session_sandboxes.created_at)) as at
      from session_sandboxes
      join project_sessions using (session_id)
      where session_sandboxes.instance_id = ${input.instanceId}
        and project_sessions.last_active_at > now() - make_interval(mins => ${input.minutes})
        and ${ofLiveProject(sql.ref('project_sessions.project_id'))}
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
