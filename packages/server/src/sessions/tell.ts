import type { ProjectEvent } from '@svc/contract'
import type { Actor } from '../auth/actor.ts'
import type { DbOrTransaction, Row } from '../db/schema.ts'
import { recordEvent, shortened } from '../events/record.ts'

type SessionEvents = Extract<ProjectEvent, { type: `session.${string}` }>
type SessionEventType = SessionEvents['type']
type SessionData = SessionEvents['data']
type Told = Pick<
  Row<'project_sessions'>,
  'project_id' | 'session_id' | 'name' | 'agent_name' | 'branch_name' | 'generation'
>

/** Tells the project's events what became of a session, in the transaction in which it did. */
export async function tellSession(
  trx: DbOrTransaction,
  type: SessionEventType,
  session: Told,
  reason: string | null,
  actor: Actor | null = null,
  question?: SessionData['question'],
): Promise<void> {
  const { project_id, session_id, name, agent_name, branch_name, generation } = session
  const about = question === undefined ? {} : { question }
  const data = { session_id, name: shortened(name), agent_name, branch_name, generation, ...about }
  const cut = reason === null ? null : shortened(reason)
  await recordEvent(trx, { project_id, type, data: { ...data, reason: cut } }, actor)
}
