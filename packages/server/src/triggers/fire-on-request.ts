/** Fires triggers on request of a person, an agent or the sender of a webhook. */
import { type ErrorCode, errorClass, firesPerMinuteMax, ServiceError } from '@svc/contract'
import { type Caller, boundSession } from '../auth/actor.ts'
import { notFound } from '../auth/allow.ts'
import type { ProjectRow } from '../projects/store.ts'
import { type Parentage, parentageOf } from '../sessions/descendant-store.ts'
import { type FireDeps, fireSlot } from './fire.ts'
import { promptOf } from './prompt.ts'
import {
  claimSkipped,
  countRecent,
  getSlot,
  getTrigger,
  insertSlots,
  runAs,
  type SlotRow,
  type TriggerRow,
} from './store.ts'
import { requireWebhookRate, refuseTooManyWebhookSessions } from './webhook/limit-store.ts'

export async function fireByHand(
  deps: FireDeps,
  input: { project: ProjectRow; slug: string; caller: Caller; requestKey: string; message: string | null },
): Promise<string> {
  const { project, caller } = input
  const trigger = await getTrigger(deps.db, project.project_id, input.slug)
  if (trigger === null) throw notFound('trigger')
  // Checked before the slot is inserted, so that a refused request leaves no row in the ledger.
  const parentage = await parentageOf(deps.db, project, boundSession(caller.actor))
  const recent = await countRecent(deps.db, { projectId: project.project_id, kind: 'manual', seconds: 60 })
  if (recent >= firesPerMinuteMax)
    throw new ServiceError('limit_reached', `${firesPerMinuteMax} triggers were fired by hand within a minute.`, {
      hint: 'No session was started. Try again in a minute.',
      detail: { retry_after_seconds: 60 },
    })
  const prompt = promptOf(trigger, { ...slotOfNow(deps), message: input.message })
  const fire = { kind: 'manual' as const, key: input.requestKey, prompt, userId: caller.actor.user_id, parentage }
  const sessionId = await fireNow(deps, trigger, fire, caller)
  if (sessionId === null) throw new ServiceError('conflict', 'The session of this request was deleted.')
  return sessionId
}

/** A repeated delivery returns the session of the first one. */
export async function fireByWebhook(
  deps: FireDeps,
  trigger: TriggerRow,
  input: {
    project: ProjectRow
    deliveryKey: string
    payload: unknown
    headers: Record<string, string>
    fromSession: string | null
  },
): Promise<string | null> {
  const { project } = input
  const parentage = await parentageOf(deps.db, project, input.fromSession)
  const known = await getSlot(deps.db, { ...trigger, kind: 'webhook', slot_key: input.deliveryKey })
  if (known === null) {
    await requireWebhookRate(deps.db, project, trigger)
    await refuseTooManyWebhookSessions(deps.db, project, trigger)
  }
  const userId = await runAs(deps.db, trigger)
  if (userId === null)
    throw new ServiceError('forbidden', 'No member of the account of this project may start sessions.')
  const prompt = promptOf(trigger, { ...slotOfNow(deps), payload: input.payload, headers: input.headers })
  return fireNow(deps, trigger, { kind: 'webhook', key: input.deliveryKey, prompt, userId, parentage }, null)
}

async function fireNow(
  deps: FireDeps,
  trigger: TriggerRow,
  fire: { kind: 'manual' | 'webhook'; key: string; prompt: string; userId: string; parentage: Parentage },
  caller: Caller | null,
): Promise<string | null> {
  const { agent, model } = trigger.definition
  const { parent_session_id, ancestors } = fire.parentage
  const { prompt, userId: user_id } = fire
  const plan = { prompt, agent, model, user_id, depth: ancestors.length + 1, parent_session_id }
  const place = { project_id: trigger.project_id, slug: trigger.slug, kind: fire.kind, slot_key: fire.key }
  const claim = {
    due_at: deps.now(),
    planned_session_id: deps.newId(),
    plan: JSON.stringify(plan),
    instance_id: deps.instanceId,
  }
  const [entered] = await insertSlots(deps.db, [{ ...place, ...claim, slot_id: deps.newId(), status: 'claimed' }])
  const known = entered ?? (await getSlot(deps.db, place))
  const again = known?.status === 'skipped' && mayComeAgain(known)
  const slot = again ? ((await claimSkipped(deps.db, known.slot_id, claim)) ?? (await getSlot(deps.db, place))) : known
  if (slot === null) throw notFound('trigger')
  if (slot.status !== 'claimed') return sessionOf(slot)
  const outcome = await fireSlot(deps, slot, caller)
  if (outcome.kind === 'fired') return outcome.sessionId
  // A waiting slot fires once the git host is available; the sender need not retry.
  if (outcome.kind === 'waits') return null
  throw outcome.error
}

/** Its sender was told to try again later. */
function mayComeAgain({ reason }: SlotRow): boolean {
  const [code = ''] = (reason ?? '').split(':')
  return ['limit_reached', 'unavailable'].includes(errorClass(code as ErrorCode))
}

function sessionOf(slot: SlotRow): string | null {
  if (slot.status === 'fired') return slot.session_id
  throw new ServiceError('conflict', `This delivery was skipped before: ${slot.reason ?? 'the reason is not known.'}`, {
    hint: 'Send it again with a new delivery id.',
  })
}

function slotOfNow(deps: Pick<FireDeps, 'now'>): { dueAt: Date; firedAt: Date } {
  const now = deps.now()
  return { dueAt: now, firedAt: now }
}
