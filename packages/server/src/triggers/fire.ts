/** Starts the session of a claimed slot and records it. May run twice for one slot, whose session id is planned in advance. */
import { errorClass, ServiceError } from '@svc/contract'
import type { Caller } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import '../failpoint.ts'
import { getProject } from '../projects/store.ts'
import { createSession, type CreateSessionDeps } from '../sessions/create/create.ts'
import { recordFired, recordSkipped, recordWaiting, type SlotRow, takeOrphanedSlot } from './store.ts'
import { refuseTooManyWebhookSessions } from './webhook/limit-store.ts'

export type FireDeps = CreateSessionDeps

export type Fired = { kind: 'fired'; sessionId: string } | { kind: 'waits' | 'skipped'; error: ServiceError }

/** How long a slot waits for an unavailable host. A slot that fires much later would surprise its users. */
const patienceMs = 10 * 60_000
const tryAgainSeconds = 15
const staleSeconds = 20

export async function fireSlot(deps: FireDeps, slot: SlotRow, caller: Caller | null = null): Promise<Fired> {
  let sessionId: string
  try {
    sessionId = await makeSession(deps, slot, caller)
  } catch (error) {
    if (!(error instanceof ServiceError)) return tryLater(deps, slot, caller, error)
    const isAway = errorClass(error.code) === 'unavailable'
    const age = deps.now().getTime() - Date.parse(slot.created_at)
    if (isAway && age < patienceMs && caller === null) {
      await recordWaiting(deps.db, slot.slot_id, error.message)
      return { kind: 'waits', error }
    }
    const reason = `${error.code}: ${error.message}`
    await deps.db.transaction().execute((trx) => recordSkipped(trx, slot.slot_id, reason))
    return { kind: 'skipped', error }
  }
  await failpoint('trigger.after_session')
  await deps.db.transaction().execute((trx) => recordFired(trx, slot, { sessionId, at: deps.now() }))
  await failpoint('trigger.after_fired')
  deps.sessions.enqueue(sessionId)
  return { kind: 'fired', sessionId }
}

/** The failure may have come after the session was created. The next try finds it or creates it. */
async function tryLater(deps: FireDeps, slot: SlotRow, caller: Caller | null, cause: unknown): Promise<Fired> {
  if (caller !== null) throw cause
  deps.log.warn({ err: cause, slot_id: slot.slot_id, slug: slot.slug }, 'firing a trigger failed; retrying')
  const error = new ServiceError('unavailable', 'Firing failed because of an internal error; the server retries.', {
    cause,
  })
  await recordWaiting(deps.db, slot.slot_id, error.message)
  return { kind: 'waits', error }
}

/** Creates the session under the planned id. A warm sandbox has its own session id. */
async function makeSession(deps: FireDeps, slot: SlotRow, caller: Caller | null): Promise<string> {
  const { plan, project_id } = slot
  const project = await getProject(deps.db, project_id)
  if (project === null || plan === null) throw new ServiceError('not_found', 'The project of this trigger was deleted.')
  const itself: Caller = {
    actor: { kind: 'service', user_id: plan.user_id, project_id, session_id: null },
    requestId: `trigger ${slot.slot_id}`,
    address: 'service',
  }
  const session = await createSession(deps, {
    project,
    caller: caller ?? itself,
    sessionId: slot.planned_session_id,
    name: `${slot.slug} · ${slot.due_at.slice(0, 16).replace('T', ' ')}`,
    initial_prompt: plan.prompt,
    agent_name: plan.agent ?? undefined,
    model: plan.model ?? undefined,
    metadata: { trigger: { slug: slot.slug, kind: slot.kind, slot_id: slot.slot_id, depth: plan.depth } },
    parentSessionId: plan.parent_session_id ?? null,
    ...(slot.kind === 'webhook'
      ? { requireMore: (trx: DbOrTransaction) => refuseTooManyWebhookSessions(trx, project, slot) }
      : {}),
  })
  return session.session_id
}

/** The job: fires slots of dead servers and slots that wait for a host. */
export async function fireOrphanedSlots(deps: FireDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const slot = await takeOrphanedSlot(deps.db, {
      instanceId: deps.instanceId,
      home: deps.home,
      waitSeconds: tryAgainSeconds,
      staleSeconds,
    })
    if (slot === null) return
    await fireSlot(deps, slot)
  }
}
