import type { Session } from '@svc/contract'
import type { Actor } from '../auth/actor.ts'
import { controls } from '../auth/session-control.ts'
import type { Config } from '../config.ts'
import { presentSession, type SessionWithSandbox } from './store.ts'

/** A session in a list. A reader that does not control it sees that it is there, and nothing that leads into it. */
export function presentInList(
  config: Pick<Config, 'publicUrl'>,
  actor: Actor,
  row: SessionWithSandbox,
  include?: 'activity',
): Session {
  const shown = presentSession(config, row, include)
  return controls(actor, row)
    ? shown
    : { ...shown, sandbox_url: null, error: null, last_turn_error: null, metadata: {} }
}
