import { cronIntervalMsMin, slotsAfter } from '@svc/contract'

export interface Schedule {
  cron: string | null
  run_at: string | null
  timezone: string
}

export interface DueSlots {
  /** In the order they were due. */
  slots: { dueAt: Date; fate: 'fire' | 'catch-up' | 'missed' }[]
  /** When to look again; null when nothing is to come. */
  nextDueAt: Date | null
}

/** Later than this it is not the slot that fires, but the catching up of it. */
export const onTimeMs = 60_000
/** What is looked at in one go, so that a year of missed minutes holds up nobody. */
export const slotsAtOnce = 500

/**
 * What became due from `nextDueAt` until `now`. Of several only the newest fires: a service that was down for a day owes
 * one session and not a thousand. Slots of a clock that jumped ahead are taken as missed alike; one that jumped back
 * finds nothing due, since `nextDueAt` never goes back.
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

/** A schedule is in force from `appearedAt` on: the slot of that very moment is not its own yet. */
export function firstDueAt(schedule: Schedule, appearedAt: Date): Date | null {
  return slotsAfter(schedule, appearedAt, 1)[0] ?? null
}

/** Slots that come closer together only on some days: the validator looks at a sample alone. */
export function isTooSoon(dueAt: Date, previousDueAt: Date | null): boolean {
  return previousDueAt !== null && dueAt.getTime() - previousDueAt.getTime() < cronIntervalMsMin
}
