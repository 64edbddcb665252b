import type { Deps } from '../deps.ts'
import { archiveSandboxes, idleSessions, markIdle } from './activity-store.ts'
import { sessionsWithAcceptedPrompts } from './prompt-store.ts'
import { expireLate, sessionsWithAnswers } from './questions/store.ts'
import { unsettledSessions } from './store.ts'

const idleMinutesByDefault = 60
const archivedAfterDays = 30

/** Picks up what a lost kick or a dead server left unsettled. */
export async function settleSessions(deps: Pick<Deps, 'db' | 'keeper' | 'pulse'>): Promise<void> {
  await deps.keeper.endForsaken()
  const staleSeconds = deps.pulse.deadAfterSeconds()
  for (const sessionId of await unsettledSessions(deps.db, staleSeconds)) deps.keeper.kick(sessionId)
}

/** Delivers accepted prompts whose daemon did not take them at once. */
export async function deliverWaitingPrompts(deps: Pick<Deps, 'db' | 'keeper'>): Promise<void> {
  for (const sessionId of await sessionsWithAcceptedPrompts(deps.db)) await deps.keeper.deliverPrompts(sessionId)
}

/** Delivers answers that another server took or that the runtime did not take at once, and ends questions that ran out of time. */
export async function tendQuestions(deps: Pick<Deps, 'db' | 'keeper'>): Promise<void> {
  for (const sessionId of await sessionsWithAnswers(deps.db)) await deps.keeper.deliverAnswers(sessionId)
  await deps.db.transaction().execute((trx) => expireLate(trx))
}

/** Stops sessions that were not used for an hour, or for as long as their project's manifest says. A session in a turn is in use, however quiet it is, until its agent has waited too long for an answer. */
export async function sweepIdleSessions(deps: Pick<Deps, 'db' | 'keeper' | 'config'>): Promise<void> {
  const limits = { idleMinutes: idleMinutesByDefault, waitingMinutes: deps.config.waitingMinutes }
  for (const { session_id: sessionId, ...rest } of await idleSessions(deps.db, limits)) {
    // Our own we know before the database does.
    if (rest.kind === 'idle' && deps.keeper.turnOf(sessionId) === 'busy') continue
    if (await markIdle(deps.db, sessionId, rest)) deps.keeper.kick(sessionId)
  }
}

/** A sandbox that ended that long ago is history: nothing of it can be there any more. */
export async function archiveOldSandboxes(deps: Pick<Deps, 'db' | 'now'>): Promise<void> {
  await archiveSandboxes(deps.db, new Date(deps.now().getTime() - archivedAfterDays * 24 * 60 * 60_000))
}
