/** The scheduler: enters what is due in the ledger, and fires what it entered. */
import { fillPrompt } from '@svc/contract'
import type { DbOrTransaction, NewRow } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { type FireDeps, fireSlot } from './fire.ts'
import { isTooSoon, planSlots } from './plan-slots.ts'
import { runAs } from './run-as.ts'
import { insertSlots, lastDueAt, lockDueTrigger, setNextDue, type SlotRow, type TriggerRow } from './store.ts'
import { tellSlot } from './tell.ts'

/** The job. Entering is one transaction a trigger; sessions are made outside of it, a few at a time. */
export async function fireDueTriggers(deps: FireDeps, signal: AbortSignal): Promise<void> {
  const worker = async () => {
    while (!signal.aborted) {
      const entered = await enterDueSlots(deps)
      if (entered === null) return
      await failpoint('trigger.after_claim')
      for (const slot of entered) if (slot.status === 'claimed') await fireSlot(deps, slot)
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
}

/** The slots this server entered for one trigger, or null when none is due. */
export async function enterDueSlots(
  deps: Pick<Deps, 'db' | 'now' | 'newId' | 'instanceId'>,
): Promise<SlotRow[] | null> {
  return deps.db.transaction().execute(async (trx) => {
    const now = deps.now()
    const trigger = await lockDueTrigger(trx, now)
    if (trigger === null || trigger.next_due_at === null) return null
    return (await enterSlotsOf(deps, trx, { ...trigger, next_due_at: trigger.next_due_at }, now)).entered
  })
}

/** In the transaction that has the trigger locked: what it is due for by now, and when it is due next. */
export async function enterSlotsOf(
  deps: Pick<Deps, 'newId' | 'instanceId'>,
  trx: DbOrTransaction,
  trigger: TriggerRow & { next_due_at: string },
  now: Date,
): Promise<{ entered: SlotRow[]; nextDueAt: Date | null }> {
  const { slots, nextDueAt } = planSlots(trigger.definition, new Date(trigger.next_due_at), now)
  const rows: NewRow<'trigger_slots'>[] = []
  let previous = await lastDueAt(trx, trigger.project_id, trigger.slug)
  for (const { dueAt, fate } of slots) {
    const missed = fate === 'missed' ? missedReason(slots) : null
    const reason = missed ?? (isTooSoon(dueAt, previous) ? 'less than a minute after the slot before it' : null)
    if (reason === null) previous = dueAt
    rows.push(await slotRow(deps, trx, { trigger, dueAt, now, reason, caughtUp: fate === 'catch-up' }))
  }
  const entered = await insertSlots(trx, rows)
  for (const slot of entered) if (slot.status === 'skipped') await tellSlot(trx, 'trigger.missed', slot)
  await setNextDue(trx, trigger, nextDueAt)
  return { entered, nextDueAt }
}

function missedReason(slots: { dueAt: Date; fate: string }[]): string {
  const later = slots.findLast(({ fate }) => fate === 'catch-up')
  const instead = later === undefined ? 'a later slot' : `the slot of ${later.dueAt.toISOString()}`
  return `missed: the service was not there in time, and ${instead} catches up`
}

async function slotRow(
  deps: Pick<Deps, 'newId' | 'instanceId'>,
  trx: DbOrTransaction,
  input: { trigger: TriggerRow; dueAt: Date; now: Date; reason: string | null; caughtUp: boolean },
): Promise<NewRow<'trigger_slots'>> {
  const { trigger, dueAt } = input
  const userId = input.reason === null ? await runAs(trx, trigger) : null
  const reason = input.reason ?? (userId === null ? 'nobody in the account may start sessions' : null)
  const { definition } = trigger
  const plan =
    userId === null
      ? null
      : {
          prompt: fillPrompt(definition.prompt, {
            slug: trigger.slug,
            due_at: dueAt.toISOString(),
            fired_at: input.now.toISOString(),
            message: null,
            payload: undefined,
            headers: {},
          }),
          agent: definition.agent,
          model: definition.model,
          user_id: userId,
          depth: 1,
        }
  return {
    slot_id: deps.newId(),
    project_id: trigger.project_id,
    slug: trigger.slug,
    kind: 'cron',
    slot_key: dueAt.toISOString(),
    due_at: dueAt,
    status: reason === null ? 'claimed' : 'skipped',
    reason,
    caught_up: input.caughtUp,
    planned_session_id: deps.newId(),
    session_id: null,
    fired_at: null,
    plan: plan === null || reason !== null ? null : JSON.stringify(plan),
    instance_id: deps.instanceId,
  }
}
