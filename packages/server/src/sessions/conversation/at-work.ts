import type { Deps } from '../../deps.ts'
import { acceptedPrompts } from './prompt-store.ts'
import type { SessionWithSandbox } from '../store.ts'

export async function isAtWork(deps: Pick<Deps, 'db' | 'sessions'>, session: SessionWithSandbox): Promise<boolean> {
  const begins =
    session.status === 'provisioning' && session.initial_prompt !== null && session.initial_prompt_delivered_at === null
  if (begins || (await acceptedPrompts(deps.db, session.session_id)).length > 0) return true
  // This server knows the state of its own sandboxes before the database does.
  return deps.sessions.daemonOf(session.session_id) === null
    ? session.is_busy
    : deps.sessions.turnOf(session.session_id) === 'busy'
}
