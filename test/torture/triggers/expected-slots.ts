/**
 * When a trigger is due, worked out anew: minute by minute from the offsets of its timezone, without the library that the
 * product asks. What is shared is the table of timezones alone.
 */

export interface Schedule {
  /** Five fields, or six with the second first: numbers, lists, ranges, `*` and steps of `*`. */
  cron: string
  timezone: string
}

interface Stretch {
  from: number
  until: number
  /** Of the timezone to UTC, all through it. */
  offsetMs: number
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Every time it is due after `after`, up to and with `until`. */
export function expectedSlots(schedule: Schedule, after: number, until: number): number[] {
  const wanted = parse(schedule.cron)
  // Two days more: what is skipped or repeated is known by what lies around it.
  const stretches = stretchesOf(schedule.timezone, after - 2 * dayMs, until + 2 * dayMs)
  const found = wanted.isFixed ? fixed(wanted, stretches) : passing(wanted, stretches)
  return [...new Set(found)].filter((time) => time > after && time <= until).sort((a, b) => a - b)
}

/** Comes whenever the clock on the wall shows such a time: twice in an hour that is repeated, not at all in one that is skipped. */
function passing(wanted: Wanted, stretches: Stretch[]): number[] {
  const found: number[] = []
  for (const { from, until, offsetMs } of stretches)
    for (let minute = floor(from, minuteMs); minute < until; minute += minuteMs)
      for (const second of wanted.seconds) {
        const time = minute + second * 1000
        if (time >= from && time < until && matches(wanted, time + offsetMs)) found.push(time)
      }
  return found
}

/** Comes once for every date: the first time that its clock shows it, or the moment after the hour in which it would have been. */
function fixed(wanted: Wanted, stretches: Stretch[]): number[] {
  const found: number[] = []
  const last = stretches.at(-1)!
  for (let day = floor(stretches[0]!.from, dayMs); day < last.until; day += dayMs)
    for (const hour of wanted.hours)
      for (const minute of wanted.minutes)
        for (const second of wanted.seconds) {
          const wall = day + hour * hourMs + minute * minuteMs + second * 1000
          if (!matches(wanted, wall)) continue
          const on = stretches.find(({ from, until, offsetMs }) => wall - offsetMs >= from && wall - offsetMs < until)
          const after = stretches.find(({ from, offsetMs }) => wall < from + offsetMs)
          if (on !== undefined) found.push(wall - on.offsetMs)
          else if (after !== undefined) found.push(after.from)
        }
  return found
}

interface Wanted {
  seconds: number[]
  minutes: number[]
  hours: number[]
  daysOfMonth: Set<number>
  months: Set<number>
  weekdays: Set<number>
  isEitherDay: boolean
  /** It names its times, and does not come at an interval. */
  isFixed: boolean
}

/** `wall` is a time of the clock, written as if it were one of UTC. */
function matches(wanted: Wanted, wall: number): boolean {
  const time = new Date(wall)
  const isDay = wanted.daysOfMonth.has(time.getUTCDate())
  const isWeekday = wanted.weekdays.has(time.getUTCDay())
  return (
    wanted.hours.includes(time.getUTCHours()) &&
    wanted.minutes.includes(time.getUTCMinutes()) &&
    wanted.months.has(time.getUTCMonth() + 1) &&
    (wanted.isEitherDay ? isDay || isWeekday : isDay && isWeekday)
  )
}

function parse(cron: string): Wanted {
  const fields = cron.split(' ')
  const [second = '', minute = '', hour = '', day = '', month = '', weekday = ''] =
    fields.length === 5 ? ['0', ...fields] : fields
  return {
    seconds: values(second, 0, 59),
    minutes: values(minute, 0, 59),
    hours: values(hour, 0, 23),
    daysOfMonth: new Set(values(day, 1, 31)),
    months: new Set(values(month, 1, 12)),
    weekdays: new Set(values(weekday, 0, 7).map((number) => number % 7)),
    isEitherDay: day !== '*' && weekday !== '*',
    isFixed: ![second, minute, hour].some((field) => field.includes('*') || field.includes('/')),
  }
}

function values(field: string, min: number, max: number): number[] {
  const all = Array.from({ length: max - min + 1 }, (_, index) => min + index)
  const found = new Set<number>()
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/')
    const [low = min, high = max] = range === '*' ? [min, max] : range.split('-').map(Number)
    const top = range === '*' || range.includes('-') ? high : low
    for (const value of all) if (value >= low && value <= top && (value - low) % Number(step) === 0) found.add(value)
  }
  return [...found].sort((a, b) => a - b)
}

/** The stretches of one offset each, with borders to the second. */
export function stretchesOf(timezone: string, from: number, until: number): Stretch[] {
  const offsetAt = offsetReader(timezone)
  const stretches: Stretch[] = []
  let begin = from
  for (let at = from; at < until; at += 6 * hourMs) {
    const next = Math.min(at + 6 * hourMs, until)
    if (offsetAt(at) === offsetAt(next)) continue
    let [low, high] = [at, next]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (offsetAt(middle) === offsetAt(low)) low = middle
      else high = middle
    }
    stretches.push({ from: begin, until: high, offsetMs: offsetAt(low) })
    begin = high
  }
  return [...stretches, { from: begin, until, offsetMs: offsetAt(begin) }]
}

function offsetReader(timezone: string): (at: number) => number {
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric' } as const
  const clock = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const
  const format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, ...numeric, ...clock })
  return (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0
    const wall = Date.UTC(
      ...([part('year'), part('month') - 1, part('day')] as const),
      ...([part('hour'), part('minute'), part('second')] as const),
    )
    return wall - floor(at, 1000)
  }
}

const floor = (value: number, to: number) => Math.floor(value / to) * to
