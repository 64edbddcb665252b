import type { Deps, SessionRunner } from '../deps.ts'
import { idleSessions, markIdle } from './activity-store.ts'
import { archiveSandboxes } from '../sandboxes/store.ts'
import { sessionsWithAcceptedPrompts } from './conversation/prompt-store.ts'
import { expireLate, nextExpiryInMs, sessionsWithAnswers } from './questions/store.ts'
import { sessionsToReconcile } from './store.ts'

const idleMinutesByDefault = 60
const archivedAfterDays = 30

/** Reconciled at once. Each asks its sandbox and the database. */
const reconciledMax = 500

/**
 * Reconciles sessions that a lost event, an error or a dead server left in the wrong state. `again` when there may be more,
 * as after the start of a server with thousands of sessions.
 */
export async function reconcileSessions(
  deps: Pick<Deps, 'db' | 'home' | 'heartbeat' | 'instanceId'> & {
    sessions: Pick<SessionRunner, 'endOrphans' | 'enqueue' | 'inHand'>
  },
): Promise<'again' | null> {
  const { home, instanceId, sessions } = deps
  await sessions.endOrphans()
  const of = { staleSeconds: deps.heartbeat.deadAfterSeconds(), home, instanceId, inHand: await sessions.inHand() }
  const left = await sessionsToReconcile(deps.db, { ...of, limit: reconciledMax })
  for (const sessionId of left) sessions.enqueue(sessionId)
  return left.length < reconciledMax ? null : 'again'
}

/** At the start. A database that is away for a moment must not end a server that answers requests: the job tries again. */
export async function beginSessions(deps: Parameters<typeof reconcileSessions>[0] & Pick<Deps, 'log'>): Promise<void> {
  const retried = (error: unknown) => deps.log.error({ err: error }, 'reconciling sessions failed; retrying')
  await reconcileSessions(deps).catch(retried)
}

/** Delivers accepted prompts that a daemon could not take at once. `again` while there are any. */
export async function deliverWaitingPrompts(deps: Pick<Deps, 'db' | 'home' | 'sessions'>): Promise<'again' | null> {
  const waiting = await sessionsWithAcceptedPrompts(deps.db, deps.home)
  for (const sessionId of waiting) await deps.sessions.deliverPrompts(sessionId)
  return waiting.length > 0 ? 'again' : null
}

/**
 * Delivers answers that another server received or that the runtime could not take at once, and expires late questions.
 * Returns in how many milliseconds the next question expires.
 */
export async function tendQuestions(deps: Pick<Deps, 'db' | 'home' | 'sessions'>): Promise<'again' | number | null> {
  const answered = await sessionsWithAnswers(deps.db, deps.home)
  for (const sessionId of answered) await deps.sessions.deliverAnswers(sessionId)
  await deps.db.transaction().execute((trx) => expireLate(trx))
  return answered.length > 0 ? 'again' : nextExpiryInMs(deps.db)
}

/** Stops sessions that were idle for an hour, or for the time in the manifest. A session in a turn is in use until its agent has waited too long for an answer. */
export async function sweepIdleSessions(deps: Pick<Deps, 'db' | 'home' | 'sessions' | 'config'>): Promise<void> {
  const limits = { idleMinutes: idleMinutesByDefault, waitingMinutes: deps.config.waitingMinutes, home: deps.home }
  for (const { session_id: sessionId, ...rest } of await idleSessions(deps.db, limits)) {
    // This server knows the state of its own sandboxes before the database does.
    if (rest.kind === 'idle' && deps.sessions.turnOf(sessionId) === 'busy') continue
    if (await markIdle(deps.db, sessionId, rest)) deps.sessions.enqueue(sessionId)
  }
}

export async function archiveOldSandboxes(deps: Pick<Deps, 'db' | 'now'>): Promise<void> {
  await archiveSandboxes(deps.db, new Date(deps.now().getTime() - archivedAfterDays * 24 * 60 * 60_000))
}
