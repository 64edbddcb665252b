/** Firing because somebody asked: a person, an agent or a webhook's sender. */
import { firesPerMinuteMax, fillPrompt, ServiceError } from '@svc/contract'
import { type Caller, boundSession } from '../auth/actor.ts'
import { notFound } from '../auth/allow.ts'
import type { ProjectRow } from '../projects/store.ts'
import { type Parentage, parentageOf } from '../sessions/descendants.ts'
import { type FireDeps, fireSlot } from './fire.ts'
import { runAs } from './run-as.ts'
import { countRecent, getSlot, getTrigger, insertSlots, type SlotRow, type TriggerRow } from './store.ts'
import { refuseFlood, requireWebhookRoom } from './webhook-limits.ts'

export async function fireByHand(
  deps: FireDeps,
  input: { project: ProjectRow; slug: string; caller: Caller; requestKey: string; message: string | null },
): Promise<string> {
  const { project, caller } = input
  const trigger = await getTrigger(deps.db, project.project_id, input.slug)
  if (trigger === null) throw notFound('trigger')
  // Before the slot is entered: what is refused here leaves no row in the ledger.
  const parentage = await parentageOf(deps.db, project, boundSession(caller.actor))
  const already = await countRecent(deps.db, { projectId: project.project_id, kind: 'manual', seconds: 60 })
  if (already >= firesPerMinuteMax) throw tooOften(`${firesPerMinuteMax} triggers were fired by hand within a minute.`)
  const prompt = promptOf(deps, trigger, { message: input.message, payload: undefined, headers: {} })
  const asked = { kind: 'manual' as const, key: input.requestKey, prompt, userId: caller.actor.user_id, parentage }
  const sessionId = await fireAsked(deps, trigger, asked, caller)
  if (sessionId === null) throw new ServiceError('conflict', 'The session of this request is gone.')
  return sessionId
}

/** A delivery that came before is answered as it was then. */
export async function fireByWebhook(
  deps: FireDeps,
  trigger: TriggerRow,
  input: {
    project: ProjectRow
    deliveryKey: string
    payload: unknown
    headers: Record<string, string>
    /** The session whose agent called, when its token came along. */
    fromSession: string | null
  },
): Promise<string | null> {
  const { project } = input
  const parentage = await parentageOf(deps.db, project, input.fromSession)
  const known = await getSlot(deps.db, { ...trigger, kind: 'webhook', slot_key: input.deliveryKey })
  if (known === null) {
    await refuseFlood(deps.db, project, trigger)
    await requireWebhookRoom(deps.db, project, trigger)
  }
  const userId = await runAs(deps.db, trigger)
  if (userId === null) throw new ServiceError('forbidden', 'Nobody in the account of this project may start sessions.')
  const prompt = promptOf(deps, trigger, { message: null, payload: input.payload, headers: input.headers })
  return fireAsked(deps, trigger, { kind: 'webhook', key: input.deliveryKey, prompt, userId, parentage }, null)
}

async function fireAsked(
  deps: FireDeps,
  trigger: TriggerRow,
  asked: { kind: 'manual' | 'webhook'; key: string; prompt: string; userId: string; parentage: Parentage },
  caller: Caller | null,
): Promise<string | null> {
  const { agent, model } = trigger.definition
  const { parent_session_id, ancestors } = asked.parentage
  const plan = {
    ...{ prompt: asked.prompt, agent, model, user_id: asked.userId },
    ...{ depth: ancestors.length + 1, parent_session_id },
  }
  const place = { project_id: trigger.project_id, slug: trigger.slug, kind: asked.kind, slot_key: asked.key }
  const [entered] = await insertSlots(deps.db, [
    {
      ...place,
      slot_id: deps.newId(),
      due_at: deps.now(),
      status: 'claimed',
      reason: null,
      planned_session_id: deps.newId(),
      session_id: null,
      fired_at: null,
      plan: JSON.stringify(plan),
      instance_id: deps.instanceId,
    },
  ])
  const slot = entered ?? (await getSlot(deps.db, place))
  if (slot === null) throw notFound('trigger')
  if (slot.status !== 'claimed') return sessionOf(slot)
  const outcome = await fireSlot(deps, slot, caller)
  if (outcome.kind === 'fired') return outcome.sessionId
  // What waits is fired as soon as the host is back; the sender need not send it again.
  if (outcome.kind === 'waits') return null
  throw outcome.error
}

function sessionOf(slot: SlotRow): string | null {
  if (slot.status === 'fired') return slot.session_id
  throw new ServiceError('conflict', `This delivery did not fire before: ${slot.reason ?? 'nobody knows why'}.`, {
    hint: 'Send it again under another delivery id.',
  })
}

function promptOf(
  deps: Pick<FireDeps, 'now'>,
  trigger: TriggerRow,
  given: { message: string | null; payload: unknown; headers: Record<string, string> },
): string {
  const at = deps.now().toISOString()
  return fillPrompt(trigger.definition.prompt, { slug: trigger.slug, due_at: at, fired_at: at, ...given })
}

function tooOften(message: string): ServiceError {
  return new ServiceError('limit_reached', message, {
    hint: 'Nothing was started. Try again in a minute.',
    detail: { retry_after_seconds: 60 },
  })
}
