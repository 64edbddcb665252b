/** When a trigger is due. Times of the clock in its timezone; what is an hour too many or too few in DST is croner's to know. */
import { Cron } from 'croner'
import { shortened } from './manifest-fields.ts'

/** A cron of seconds is refused: each slot starts a sandbox. */
export const cronIntervalMsMin = 60_000

/** Slots looked at to find the shortest pause. What comes closer together only on some days is caught when it is due. */
const sampledSlots = 60

/** What is wrong with a cron expression of five or six fields, or null. */
export function refuseCron(expression: string): string | null {
  // "?" would stand for the moment of reading, so that each server had another schedule.
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
  if (slots.length === 0) return 'never comes: no date fits'
  const isTooOften = slots.some(
    (slot, index) => index > 0 && slot.getTime() - slots[index - 1]!.getTime() < cronIntervalMsMin,
  )
  return isTooOften ? 'comes more often than once a minute' : null
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

/** A moment with its offset, or a time of the clock without one. */
export function refuseTime(time: string): string | null {
  if (!timePattern.test(time) || Number.isNaN(Date.parse(time.replace(' ', 'T'))))
    return `is not a time such as 2027-01-31T09:00:00: ${shortened(time)}`
  return null
}

/** The moment of a `run_at`; one without an offset is a time of the clock in `timezone`. */
export function runAtTime(time: string, timezone: string): Date {
  const written = time.replace(' ', 'T').toUpperCase()
  if (/(?:Z|[+-]\d{2}:\d{2})$/.test(written)) return new Date(written)
  const [whole = ''] = written.split('.')
  const withSeconds = /T\d{2}:\d{2}$/.test(whole) ? `${whole}:00` : whole
  return new Cron(withSeconds, { paused: true, timezone }).nextRun(new Date(0)) ?? new Date(NaN)
}

/** The next slots after `after`, at most `count`. */
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
  // 02:30 and 14:30 are times of the clock, as 02:30 alone is: without this a list would be taken for an interval.
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
