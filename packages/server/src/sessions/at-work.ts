import type { Deps } from '../deps.ts'
import { acceptedPrompts } from './prompt-store.ts'
import type { SessionWithSandbox } from './store.ts'

/** Whether the agent works now or is about to: a prompt that waits for delivery begins a turn, and so does the first one. */
export async function isAtWork(deps: Pick<Deps, 'db' | 'keeper'>, session: SessionWithSandbox): Promise<boolean> {
  const begins =
    session.status === 'provisioning' && session.initial_prompt !== null && session.initial_prompt_delivered_at === null
  if (begins || (await acceptedPrompts(deps.db, session.session_id)).length > 0) return true
  // Our own we know before the database does.
  return deps.keeper.daemonOf(session.session_id) === null
    ? session.is_busy
    : deps.keeper.turnOf(session.session_id) === 'busy'
}
