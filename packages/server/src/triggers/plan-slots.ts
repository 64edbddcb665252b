import { cronIntervalMsMin, slotsAfter } from '@svc/contract'

export interface Schedule {
  cron: string | null
  run_at: string | null
  timezone: string
}

export interface DueSlots {
  slots: { dueAt: Date; fate: 'fire' | 'catch-up' | 'missed' }[]
  /** The next due time; null when the schedule has ended. */
  nextDueAt: Date | null
}

/** A slot that fires later than this counts as catching up. */
const onTimeMs = 60_000
/** Limits one pass, so that a year of missed slots does not block other triggers. */
const slotsAtOnce = 500

/**
 * The slots from `nextDueAt` until `now`. Only the newest fires, so that a service that was down for a day starts one
 * session and not a thousand. A clock that jumps back finds no slot due, since `nextDueAt` never decreases.
 */
export function planSlots(schedule: Schedule, nextDueAt: Date, now: Date): DueSlots {
  if (nextDueAt.getTime() > now.getTime()) return { slots: [], nextDueAt }
  const coming = slotsAfter(schedule, new Date(nextDueAt.getTime() - 1), slotsAtOnce + 1)
  const due = coming.slice(0, slotsAtOnce).filter((slot) => slot.getTime() <= now.getTime())
  const next = coming[due.length] ?? null
  const isLast = next === null || next.getTime() > now.getTime()
  const slots = due.map((dueAt, index) => {
    if (index < due.length - 1 || !isLast) return { dueAt, fate: 'missed' as const }
    const isLate = due.length > 1 || now.getTime() - dueAt.getTime() > onTimeMs
    return { dueAt, fate: isLate ? ('catch-up' as const) : ('fire' as const) }
  })
  return { slots, nextDueAt: next }
}

/** The first slot after `appearedAt`, excluding that moment. */
export function firstDueAt(schedule: Schedule, appearedAt: Date): Date | null {
  return slotsAfter(schedule, appearedAt, 1)[0] ?? null
}

/** The validator checks a sample of slots only, so two slots may still be too close on some days. */
export function isTooSoon(dueAt: Date, previousDueAt: Date | null): boolean {
  return previousDueAt !== null && dueAt.getTime() - previousDueAt.getTime() < cronIntervalMsMin
}
