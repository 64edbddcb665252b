/** When a trigger is due, in local time of its timezone. croner handles daylight saving time. */
import { Cron } from 'croner'
import { shortened } from '../manifest/fields.ts'

/** The shortest interval: each slot starts a sandbox. */
export const cronIntervalMsMin = 60_000

/** How many of its next times a schedule is shown with. */
export const nextTimesShown = 3

/** Slots sampled for the shortest interval. Closer slots on rare days are caught when they are due. */
const sampledSlots = 60

export function refuseCron(expression: string): string | null {
  // "?" means the time of parsing, which would give each server another schedule.
  if (expression.includes('?')) return `is not a cron expression: ${shortened(expression)} holds a "?"`
  const fields = expression.trim().split(/\s+/).length
  if (fields !== 5 && fields !== 6 && !expression.startsWith('@'))
    return `is not a cron expression: ${shortened(expression)} has ${fields === 1 ? 'one field' : `${fields} fields`}, and five are minute, hour, day, month, weekday; six begin with the second`
  let slots: Date[]
  try {
    slots = openCron(expression, 'UTC').nextRuns(sampledSlots, new Date('2026-01-01T00:00:00Z'))
  } catch (error) {
    return `is not a cron expression: ${reason(error)}`
  }
  if (slots.length === 0) return 'never occurs: no date matches'
  const isTooOften = slots.some(
    (slot, index) => index > 0 && slot.getTime() - slots[index - 1]!.getTime() < cronIntervalMsMin,
  )
  return isTooOften ? 'occurs more often than once a minute' : null
}

export function refuseTimezone(timezone: string): string | null {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions()
    return null
  } catch {
    return `is not a timezone such as Europe/Berlin: ${shortened(timezone)}`
  }
}

const timePattern = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})?$/

/** A time with an offset, or a local time without one. */
export function refuseTime(time: string): string | null {
  if (!timePattern.test(time) || Number.isNaN(Date.parse(time.replace(' ', 'T'))))
    return `is not a time such as 2027-01-31T09:00:00: ${shortened(time)}`
  return null
}

/** The instant of a `run_at`. Without an offset it is a local time in `timezone`. */
export function runAtTime(time: string, timezone: string): Date {
  const written = time.replace(' ', 'T').toUpperCase()
  if (/(?:Z|[+-]\d{2}:\d{2})$/.test(written)) return new Date(written)
  const [whole = ''] = written.split('.')
  const withSeconds = /T\d{2}:\d{2}$/.test(whole) ? `${whole}:00` : whole
  return new Cron(withSeconds, { paused: true, timezone }).nextRun(new Date(0)) ?? new Date(NaN)
}

export function slotsAfter(
  schedule: { cron: string | null; run_at: string | null; timezone: string },
  after: Date,
  count: number,
): Date[] {
  if (schedule.cron !== null) return openCron(schedule.cron, schedule.timezone).nextRuns(count, after)
  if (schedule.run_at === null) return []
  const at = runAtTime(schedule.run_at, schedule.timezone)
  return at.getTime() > after.getTime() ? [at] : []
}

function openCron(expression: string, timezone: string): Cron {
  // 02:30 and 14:30 are local times, as 02:30 alone is. Without this option croner treats a list as an interval.
  const options = { paused: true, timezone, mode: '5-or-6-parts', fixedTimeRule: 'no-wildcard' } as const
  return new Cron(expression.trim(), options)
}

function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message
    .replace(/^\w+: /, '')
    .split('\n')[0]!
    .slice(0, 200)
}
