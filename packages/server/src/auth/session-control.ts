/** The sessions an actor controls. A sandbox's token controls its own session and its descendants; other actors control whatever their role allows. */
import { ServiceError } from '@svc/contract'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import { type Actor, boundSession } from './actor.ts'

/** The columns that decide control. */
export type Lineage = Pick<Row<'project_sessions'>, 'session_id' | 'ancestors'>

export function controls(actor: Actor, session: Lineage): boolean {
  const own = boundSession(actor)
  return own === null || session.session_id === own || session.ancestors.includes(own)
}

export function refuseOtherSession(actor: Actor, session: Lineage): void {
  if (controls(actor, session)) return
  throw new ServiceError('forbidden', 'This token belongs to another session.', {
    hint: 'An agent controls its own session and those it started: `svc sessions new`. Users control the others.',
  })
}

/** Checks a session id. An id of no session in the project passes, because the handler then responds with 404. */
export async function requireControl(
  db: DbOrTransaction,
  actor: Actor,
  { projectId, sessionId }: { projectId: string; sessionId: string },
): Promise<void> {
  const own = boundSession(actor)
  if (own === null || own === sessionId.toLowerCase()) return
  const session = await db
    .selectFrom('project_sessions')
    .select(['session_id', 'ancestors'])
    .where((eb) => eb.and({ session_id: sessionId, project_id: projectId }))
    .executeTakeFirst()
  if (session !== undefined) refuseOtherSession(actor, session)
}

/** A test for which of these sessions the actor controls. Only users control deleted sessions. */
export async function controlledOf(
  db: DbOrTransaction,
  actor: Actor,
  sessionIds: (string | null)[],
): Promise<(sessionId: string | null) => boolean> {
  const own = boundSession(actor)
  if (own === null) return () => true
  const others = [...new Set(sessionIds)].filter((id) => id !== null && id !== own) as string[]
  const rows =
    others.length === 0
      ? []
      : await db
          .selectFrom('project_sessions')
          .select(['session_id', 'ancestors'])
          .where('session_id', 'in', others)
          .execute()
  const controlled = new Set([own, ...rows.filter((row) => controls(actor, row)).map((row) => row.session_id)])
  return (sessionId) => sessionId !== null && controlled.has(sessionId)
}
