/** From a claimed slot to a session and a row that says so. May be run twice for one slot: the session's id is allotted with the slot. */
import { errorClass, ServiceError } from '@svc/contract'
import type { Caller } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { getProject } from '../projects/store.ts'
import { createSession } from '../sessions/create.ts'
import { recordFired, recordSkipped, recordWaiting, type SlotRow, takeForsakenSlot } from './store.ts'
import { requireWebhookRoom } from './webhook-limits.ts'

export type FireDeps = Pick<
  Deps,
  'db' | 'config' | 'disk' | 'keyring' | 'redaction' | 'now' | 'newId' | 'instanceId' | 'log' | 'keeper' | 'warm'
>

export type Fired = { kind: 'fired'; sessionId: string } | { kind: 'waits' | 'skipped'; error: ServiceError }

/** A host or a database that is away is waited for so long; a slot much later than its time would surprise. */
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
  deps.keeper.kick(sessionId)
  return { kind: 'fired', sessionId }
}

/** Nobody knows how far it came. The next try finds the session if it is there, and makes it if not. */
async function tryLater(deps: FireDeps, slot: SlotRow, caller: Caller | null, cause: unknown): Promise<Fired> {
  if (caller !== null) throw cause
  deps.log.warn(
    { err: cause, slot_id: slot.slot_id, slug: slot.slug },
    'a trigger could not be fired; it is tried again',
  )
  const error = new ServiceError(
    'unavailable',
    'It could not be fired yet, by a failure of the service; it is tried again.',
    { cause },
  )
  await recordWaiting(deps.db, slot.slot_id, error.message)
  return { kind: 'waits', error }
}

/** Asked for under the id the slot was given; a sandbox that was kept warm brings an id of its own. */
async function makeSession(deps: FireDeps, slot: SlotRow, caller: Caller | null): Promise<string> {
  const { plan, project_id } = slot
  const project = await getProject(deps.db, project_id)
  if (project === null || plan === null) throw new ServiceError('not_found', 'The project of this trigger is gone.')
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
      ? { requireMore: (trx: DbOrTransaction) => requireWebhookRoom(trx, project, slot) }
      : {}),
  })
  return session.session_id
}

/** The job: slots that were claimed and then left, and those that wait for a host. */
export async function fireForsakenSlots(deps: FireDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const slot = await takeForsakenSlot(deps.db, {
      instanceId: deps.instanceId,
      waitSeconds: tryAgainSeconds,
      staleSeconds,
    })
    if (slot === null) return
    await fireSlot(deps, slot)
  }
}
