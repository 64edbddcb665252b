import type { Deps } from '../deps.ts'
import { idleSessions, markIdle } from './activity-store.ts'
import { archiveSandboxes } from '../sandboxes/store.ts'
import { sessionsWithAcceptedPrompts } from './conversation/prompt-store.ts'
import { expireLate, sessionsWithAnswers } from './questions/store.ts'
import { sessionsToReconcile } from './store.ts'

const idleMinutesByDefault = 60
const archivedAfterDays = 30

/** Reconciles sessions that a lost event or a dead server left in the wrong state. */
export async function reconcileSessions(deps: Pick<Deps, 'db' | 'sessions' | 'heartbeat'>): Promise<void> {
  await deps.sessions.endOrphans()
  const staleSeconds = deps.heartbeat.deadAfterSeconds()
  for (const sessionId of await sessionsToReconcile(deps.db, staleSeconds)) deps.sessions.enqueue(sessionId)
}

/** Delivers accepted prompts that a daemon could not take at once. */
export async function deliverWaitingPrompts(deps: Pick<Deps, 'db' | 'sessions'>): Promise<void> {
  for (const sessionId of await sessionsWithAcceptedPrompts(deps.db)) await deps.sessions.deliverPrompts(sessionId)
}

/** Delivers answers that another server received or that the runtime could not take at once, and expires late questions. */
export async function tendQuestions(deps: Pick<Deps, 'db' | 'sessions'>): Promise<void> {
  for (const sessionId of await sessionsWithAnswers(deps.db)) await deps.sessions.deliverAnswers(sessionId)
  await deps.db.transaction().execute((trx) => expireLate(trx))
}

/** Stops sessions that were idle for an hour, or for the time in the manifest. A session in a turn is in use until its agent has waited too long for an answer. */
export async function sweepIdleSessions(deps: Pick<Deps, 'db' | 'sessions' | 'config'>): Promise<void> {
  const limits = { idleMinutes: idleMinutesByDefault, waitingMinutes: deps.config.waitingMinutes }
  for (const { session_id: sessionId, ...rest } of await idleSessions(deps.db, limits)) {
    // This server knows the state of its own sandboxes before the database does.
    if (rest.kind === 'idle' && deps.sessions.turnOf(sessionId) === 'busy') continue
    if (await markIdle(deps.db, sessionId, rest)) deps.sessions.enqueue(sessionId)
  }
}

export async function archiveOldSandboxes(deps: Pick<Deps, 'db' | 'now'>): Promise<void> {
  await archiveSandboxes(deps.db, new Date(deps.now().getTime() - archivedAfterDays * 24 * 60 * 60_000))
}
