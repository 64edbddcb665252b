/** The sessions that agents start: which session started which, how deep they go, and how many of one root live at once. */
import { projectSettings, ServiceError } from '@svc/contract'
import { sql } from 'kysely'
import type { DbOrTransaction } from '../db/schema.ts'
import { liveStatuses, type SessionRow } from './store.ts'

export type Parentage = Pick<SessionRow, 'parent_session_id' | 'ancestors'>

interface OfProject {
  project_id: string
  settings: object
}

/**
 * Where a session stands that `parentId` starts; null is a person. Refuses what goes deeper than the project allows.
 * Locks the parent: inside a transaction this comes before the lock of the account, as a restart takes them.
 */
export async function parentageOf(
  db: DbOrTransaction,
  { project_id, settings }: OfProject,
  parentId: string | null,
): Promise<Parentage> {
  if (parentId === null) return { parent_session_id: null, ancestors: [] }
  const parent = await db
    .selectFrom('project_sessions')
    .select(['session_id', 'ancestors', 'desired'])
    .where('session_id', '=', parentId)
    .where('project_id', '=', project_id)
    .forShare()
    .executeTakeFirst()
  // A person ended it after this request was let in: what it asked for must not outlive that.
  if (parent === undefined || parent.desired === 'stopped')
    throw new ServiceError('conflict', 'The session that starts this one was stopped or deleted.')
  const ancestors = [...parent.ancestors, parent.session_id]
  const limit = projectSettings.parse(settings).session_depth_max
  if (ancestors.length <= limit) return { parent_session_id: parent.session_id, ancestors }
  throw new ServiceError(
    'limit_reached',
    `Agents start sessions ${limit} deep here, and this one would be at depth ${ancestors.length}.`,
    {
      hint: 'A person can start it, or an owner or admin raises session_depth_max.',
      detail: { setting: 'session_depth_max', limit, depth: ancestors.length, retry_after_seconds: 3600 },
    },
  )
}

/** Refuses when the root of a session has as many living descendants as the project allows. With the account locked, so that the count is exact under a race. */
export async function requireRoomBelowRoot(
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
  const living = await trx
    .selectFrom('project_sessions')
    .select(['session_id', 'name'])
    .where(sql<boolean>`ancestors[1] = ${root}`)
    .where('status', 'in', liveStatuses)
    .where('session_id', '!=', session.session_id)
    .orderBy('created_at')
    .execute()
  if (living.length < limit) return
  throw new ServiceError(
    'limit_reached',
    `${living.length} of ${limit} sessions that agents started from the same first session are live, so no more can start now.`,
    {
      hint: 'Stop one with `svc sessions stop <id>`, or an owner or admin raises session_descendants_max.',
      detail: { setting: 'session_descendants_max', limit, active_sessions: living.length, sessions: living },
    },
  )
}

/**
 * Counts a session that an agent starts, and refuses past the project's number of an hour. All descendants of one root
 * count together, those that were deleted included. Without a row of their hour a new hour begins, so around its end a root can start twice the number.
 */
export async function countStart(
  trx: DbOrTransaction,
  session: Pick<SessionRow, 'project_id' | 'ancestors'> & OfProject,
): Promise<void> {
  const [root] = session.ancestors
  if (root === undefined) return
  const { project_id } = session
  const limit = projectSettings.parse(session.settings).session_starts_per_hour_max
  await trx
    .deleteFrom('agent_session_starts')
    .where('project_id', '=', project_id)
    .where('began_at', '<=', sql<string>`now() - interval '1 hour'`)
    .execute()
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
    `Agents started ${limit} sessions from the same first session within an hour, the most that this project allows.`,
    {
      hint: 'Send a prompt to a session that is there, or an owner or admin raises session_starts_per_hour_max.',
      detail: { setting: 'session_starts_per_hour_max', limit, retry_after_seconds: Math.max(1, seconds) },
    },
  )
}

/** A session, its root, and every session that agents started from that root: what one of them controls, another can have been made to do. */
export async function familyOf(
  db: DbOrTransaction,
  projectId: string,
  sessionId: string,
): Promise<Pick<SessionRow, 'session_id' | 'branch_name'>[]> {
  const own = await db
    .selectFrom('project_sessions')
    .select('ancestors')
    .where('session_id', '=', sessionId)
    .executeTakeFirst()
  const root = own?.ancestors[0] ?? sessionId
  const rows = await db
    .selectFrom('project_sessions')
    .select(['session_id', 'branch_name'])
    .where('project_id', '=', projectId)
    .where(({ or, eb }) => or([eb('session_id', '=', root), sql<boolean>`ancestors[1] = ${root}`]))
    .execute()
  // Those that were deleted are known by the ids that their descendants keep.
  const known = new Set(rows.map((row) => row.session_id))
  const gone = [sessionId, root, ...(own?.ancestors ?? [])].filter((id) => !known.has(id))
  return [...rows, ...[...new Set(gone)].map((id) => ({ session_id: id, branch_name: id }))]
}
