/** Sessions that agents start: their parents, and the limits of depth, count and rate. */
import { projectSettings, ServiceError } from '@svc/contract'
import { sql } from 'kysely'
import { findRow } from '../db/rows.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import { liveStatuses, type SessionRow } from './store.ts'

export type Parentage = Pick<SessionRow, 'parent_session_id' | 'ancestors'>

interface OfProject {
  project_id: string
  settings: object
}

/**
 * The parent and ancestors of a session that `parentId` starts; null for a person. Throws beyond the depth limit. Locks
 * the parent, which must happen before the lock of the account, in the same order as a restart.
 */
export async function parentageOf(db: DbOrTransaction, { project_id, settings }: OfProject, parentId: string | null) {
  if (parentId === null) return { parent_session_id: null, ancestors: [] }
  const parent = await db
    .selectFrom('project_sessions')
    .select(['session_id', 'ancestors', 'desired'])
    .where((eb) => eb.and({ session_id: parentId, project_id }))
    .forShare()
    .executeTakeFirst()
  // A person stopped the parent after this request was authorized, so it must not start a session.
  if (parent === undefined || parent.desired === 'stopped')
    throw new ServiceError('conflict', 'The session that starts this one was stopped or deleted.')
  const ancestors = [...parent.ancestors, parent.session_id]
  const limit = projectSettings.parse(settings).session_depth_max
  if (ancestors.length <= limit) return { parent_session_id: parent.session_id, ancestors }
  throw new ServiceError(
    'limit_reached',
    `Agents may start sessions up to depth ${limit} here, and this one would be at depth ${ancestors.length}.`,
    {
      hint: 'A person can start it, or an owner or admin can raise session_depth_max.',
      detail: { setting: 'session_depth_max', limit, depth: ancestors.length, retry_after_seconds: 3600 },
    },
  )
}

/** Throws when the root session has as many live descendants as the project allows. Exact while the account is locked. */
export async function refuseTooManyDescendants(
  trx: DbOrTransaction,
  session: Pick<SessionRow, 'session_id' | 'project_id' | 'ancestors'>,
): Promise<void> {
  const [root] = session.ancestors
  if (root === undefined) return
  const { settings } = await trx
    .selectFrom('projects')
    .select('settings')
    .where('project_id', '=', session.project_id)
    .executeTakeFirstOrThrow()
  const limit = projectSettings.parse(settings).session_descendants_max
  const live = await trx
    .selectFrom('project_sessions')
    .select(['session_id', 'name'])
    .where(sql<boolean>`ancestors[1] = ${root}`)
    .where('status', 'in', liveStatuses)
    .where('session_id', '!=', session.session_id)
    .orderBy('created_at')
    .execute()
  if (live.length < limit) return
  throw new ServiceError(
    'limit_reached',
    `${live.length} of ${limit} sessions that agents started from the same root session are live, so no more can start.`,
    {
      hint: 'Stop one with `svc sessions stop <id>`, or ask an owner or admin to raise session_descendants_max.',
      detail: { setting: 'session_descendants_max', limit, active_sessions: live.length, sessions: live },
    },
  )
}

/**
 * Counts a session that an agent starts, and throws beyond the hourly limit of the project. All descendants of one root
 * count, including deleted ones. Hours are fixed windows, so around a boundary a root can start twice the limit.
 */
export async function countAgentStart(
  trx: DbOrTransaction,
  session: Pick<SessionRow, 'project_id' | 'ancestors'> & OfProject,
): Promise<void> {
  const [root] = session.ancestors
  if (root === undefined) return
  const { project_id } = session
  const limit = projectSettings.parse(session.settings).session_starts_per_hour_max
  await sql`delete from agent_session_starts
    where project_id = ${project_id} and began_at <= now() - interval '1 hour'`.execute(trx)
  const { started, seconds } = await trx
    .insertInto('agent_session_starts')
    .values({ root_session_id: root, project_id, started: 1 })
    .onConflict((conflict) =>
      conflict.column('root_session_id').doUpdateSet({ started: sql<number>`agent_session_starts.started + 1` }),
    )
    .returning([
      'started',
      sql<number>`ceil(extract(epoch from began_at + interval '1 hour' - now()))::float8`.as('seconds'),
    ])
    .executeTakeFirstOrThrow()
  if (started <= limit) return
  throw new ServiceError(
    'limit_reached',
    `Agents started ${limit} sessions from the same root session within an hour, which is the limit of this project.`,
    {
      hint: 'Send a prompt to an existing session, or ask an owner or admin to raise session_starts_per_hour_max.',
      detail: { setting: 'session_starts_per_hour_max', limit, retry_after_seconds: Math.max(1, seconds) },
    },
  )
}

/** A session, its root, and every session that agents started from that root, because any of them can control another. */
export async function familyOf(db: DbOrTransaction, projectId: string, sessionId: string) {
  const own = await findRow(db, 'project_sessions', { session_id: sessionId })
  const root = own?.ancestors[0] ?? sessionId
  const rows = await db
    .selectFrom('project_sessions')
    .select(['session_id', 'branch_name'])
    .where('project_id', '=', projectId)
    .where(({ or, eb }) => or([eb('session_id', '=', root), sql<boolean>`ancestors[1] = ${root}`]))
    .execute()
  // Deleted sessions are known from the ancestors of their descendants.
  const known = new Set(rows.map((row) => row.session_id))
  const gone = [sessionId, root, ...(own?.ancestors ?? [])].filter((id) => !known.has(id))
  return [...rows, ...[...new Set(gone)].map((id) => ({ session_id: id, branch_name: id }))]
}
