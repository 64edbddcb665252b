import type { ProjectEvent } from '@svc/contract'
import type { Actor } from '../auth/actor.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import { recordEvent, shortened } from '../events/record.ts'

type SessionEvents = Extract<ProjectEvent, { type: `session.${string}` }>
type SessionEventType = SessionEvents['type']
type SessionData = SessionEvents['data']
type EventSession = Pick<
  Row<'project_sessions'>,
  'project_id' | 'session_id' | 'name' | 'agent_name' | 'branch_name' | 'generation'
>

/** Records a change of a session as a project event, in the same transaction. */
export async function recordSessionEvent(
  trx: DbOrTransaction,
  type: SessionEventType,
  session: EventSession,
  reason: string | null,
  actor: Actor | null = null,
  about: Pick<SessionData, 'question' | 'refresh'> = {},
): Promise<void> {
  const { project_id, session_id, name, agent_name, branch_name, generation } = session
  const data = { session_id, name: shortened(name), agent_name, branch_name, generation, ...about }
  const cut = reason === null ? null : shortened(reason)
  await recordEvent(trx, { project_id, type, data: { ...data, reason: cut } }, actor)
}
