import type { Deps } from '../deps.ts'
import { idleSessions, markIdle, sessionsWithAcceptedPrompts, unsettledSessions } from './store.ts'

/** A server that did not write its heartbeat for this long is dead. */
export const staleSeconds = 20
const idleMinutes = 60

/** Picks up what a lost kick or a dead server left unsettled. */
export async function settleSessions(deps: Pick<Deps, 'db' | 'keeper'>): Promise<void> {
  await deps.keeper.endForsaken()
  for (const sessionId of await unsettledSessions(deps.db, staleSeconds)) deps.keeper.kick(sessionId)
}

/** Delivers accepted prompts whose daemon did not take them at once. */
export async function deliverWaitingPrompts(deps: Pick<Deps, 'db' | 'keeper'>): Promise<void> {
  for (const sessionId of await sessionsWithAcceptedPrompts(deps.db)) await deps.keeper.deliverPrompts(sessionId)
}

/** Stops sessions nobody used for an hour. A session in a turn is in use, however quiet it is. */
export async function sweepIdleSessions(deps: Pick<Deps, 'db' | 'keeper'>): Promise<void> {
  for (const sessionId of await idleSessions(deps.db, idleMinutes)) {
    if (deps.keeper.turnOf(sessionId) === 'busy') continue
    if (await markIdle(deps.db, sessionId, idleMinutes)) deps.keeper.kick(sessionId)
  }
}
