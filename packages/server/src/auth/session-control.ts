/** Which sessions an actor controls. The token of a sandbox controls its own session and those it started, directly or through them; every other actor controls what its role allows. */
import { ServiceError } from '@svc/contract'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import { type Actor, boundSession } from './actor.ts'

/** What the judgement needs to know of a session. */
export type Lineage = Pick<Row<'project_sessions'>, 'session_id' | 'ancestors'>

export function controls(actor: Actor, session: Lineage): boolean {
  const own = boundSession(actor)
  return own === null || session.session_id === own || session.ancestors.includes(own)
}

export function refuseOtherSession(actor: Actor, session: Lineage): void {
  if (controls(actor, session)) return
  throw new ServiceError('forbidden', 'This token belongs to another session.', {
    hint: 'An agent controls its own session and those it started: `svc sessions new`. A person controls the others.',
  })
}

/** The same for an id. An id that no session of the project has passes: its handler answers 404. */
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
    .where('session_id', '=', sessionId)
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  if (session !== undefined) refuseOtherSession(actor, session)
}

/** Those of the ids the actor controls, for rows that name a session. A deleted session is controlled by people only. */
export async function controlledOf(
  db: DbOrTransaction,
  actor: Actor,
  sessionIds: (string | null)[],
): Promise<(sessionId: string | null) => boolean> {
  const own = boundSession(actor)
  if (own === null) return () => true
  const asked = [...new Set(sessionIds)].filter((id) => id !== null && id !== own) as string[]
  const rows =
    asked.length === 0
      ? []
      : await db
          .selectFrom('project_sessions')
          .select(['session_id', 'ancestors'])
          .where('session_id', 'in', asked)
          .execute()
  const controlled = new Set([own, ...rows.filter((row) => controls(actor, row)).map((row) => row.session_id)])
  return (sessionId) => sessionId !== null && controlled.has(sessionId)
}
