/** The scheduler: inserts pending slots into the ledger and fires them. */
import type { DbOrTransaction, NewRow } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import '../failpoint.ts'
import { workOff } from '../work-off.ts'
import { restoredAt } from '../projects/store.ts'
import { type FireDeps, fireSlot } from './fire.ts'
import { type DueSlots, firstDueAt, isTooSoon, planSlots } from './plan-slots.ts'
import { promptOf } from './prompt.ts'
import {
  insertSlots,
  lastDueAt,
  lockDueTrigger,
  nextDueAt,
  recordSlotEvent,
  runAs,
  setNextDue,
  type SlotRow,
  type TriggerRow,
} from './store.ts'

const atOnce = 4

/**
 * The job: inserts slots in one transaction per trigger and creates sessions outside of it, a few at a time. Returns in how
 * many milliseconds a trigger is due next.
 */
export async function fireDueTriggers(deps: FireDeps, signal: AbortSignal): Promise<number | null> {
  await workOff({
    atOnce,
    signal,
    take: () => insertDueSlots(deps),
    async work(entered) {
      await failpoint('trigger.after_claim')
      for (const slot of entered) if (slot.status === 'claimed') await fireSlot(deps, slot)
    },
  })
  const next = await nextDueAt(deps.db, deps.home)
  return next === null ? null : Date.parse(next) - deps.now().getTime()
}

/** The inserted slots of one trigger; null when no trigger is due. */
export async function insertDueSlots(
  deps: Pick<Deps, 'db' | 'home' | 'now' | 'newId' | 'instanceId'>,
): Promise<SlotRow[] | null> {
  return deps.db.transaction().execute(async (trx) => {
    const now = deps.now()
    const trigger = await lockDueTrigger(trx, { now, home: deps.home })
    if (trigger === null || trigger.next_due_at === null) return null
    return (await insertSlotsOf(deps, trx, { ...trigger, next_due_at: trigger.next_due_at }, now)).entered
  })
}

/** Inserts the due slots of a trigger, which the transaction holds locked, and returns when it is due next. */
export async function insertSlotsOf(
  deps: Pick<Deps, 'newId' | 'instanceId'>,
  trx: DbOrTransaction,
  trigger: TriggerRow & { next_due_at: string },
  now: Date,
): Promise<{ entered: SlotRow[]; nextDueAt: Date | null }> {
  const restored = await restoredAt(trx, trigger.project_id)
  const wasDeleted = restored !== null && Date.parse(trigger.next_due_at) < restored.getTime()
  const { slots, nextDueAt } = wasDeleted
    ? slotsAfterRestore(trigger, restored)
    : planSlots(trigger.definition, new Date(trigger.next_due_at), now)
  const rows: NewRow<'trigger_slots'>[] = []
  let previous = await lastDueAt(trx, trigger.project_id, trigger.slug)
  for (const { dueAt, fate } of slots) {
    const missed = wasDeleted ? deletedReason : fate === 'missed' ? missedReason(slots) : null
    const reason = missed ?? (isTooSoon(dueAt, previous) ? 'less than a minute after the previous slot' : null)
    if (reason === null) previous = dueAt
    rows.push(await slotRow(deps, trx, { trigger, dueAt, now, reason, caughtUp: fate === 'catch-up' }))
  }
  const entered = await insertSlots(trx, rows)
  for (const slot of entered) if (slot.status === 'skipped') await recordSlotEvent(trx, 'trigger.missed', slot)
  await setNextDue(trx, trigger, nextDueAt)
  return { entered, nextDueAt }
}

const deletedReason = 'missed: the project was deleted at that time'

/** Slots that were due while the project was deleted do not fire. The first is recorded as missed, and the schedule restarts. */
function slotsAfterRestore(trigger: TriggerRow & { next_due_at: string }, restored: Date): DueSlots {
  const slots = [{ dueAt: new Date(trigger.next_due_at), fate: 'missed' as const }]
  return { slots, nextDueAt: firstDueAt(trigger.definition, restored) }
}

function missedReason(slots: { dueAt: Date; fate: string }[]): string {
  const later = slots.findLast(({ fate }) => fate === 'catch-up')
  const instead = later === undefined ? 'a later slot' : `the slot of ${later.dueAt.toISOString()}`
  return `missed: the service was not running at that time; ${instead} catches up`
}

async function slotRow(
  deps: Pick<Deps, 'newId' | 'instanceId'>,
  trx: DbOrTransaction,
  input: { trigger: TriggerRow; dueAt: Date; now: Date; reason: string | null; caughtUp: boolean },
): Promise<NewRow<'trigger_slots'>> {
  const { trigger, dueAt } = input
  const userId = input.reason === null ? await runAs(trx, trigger) : null
  const reason = input.reason ?? (userId === null ? 'no member of the account may start sessions' : null)
  const { definition } = trigger
  const plan =
    userId === null
      ? null
      : {
          prompt: promptOf(trigger, { dueAt, firedAt: input.now }),
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
    plan: plan === null || reason !== null ? null : JSON.stringify(plan),
    instance_id: deps.instanceId,
  }
}
