/**
 * Computes independently when a trigger is due: minute by minute from the timezone's offsets, without the product's cron
 * library. Both share only the timezone table.
 */

export interface Schedule {
  /** Five fields, or six with the second first: numbers, lists, ranges, `*` and steps of `*`. */
  cron: string
  timezone: string
}

interface Stretch {
  from: number
  until: number
  /** The timezone's offset to UTC, constant in this stretch. */
  offsetMs: number
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Every due time after `after`, up to and including `until`. */
export function expectedSlots(schedule: Schedule, after: number, until: number): number[] {
  const wanted = parse(schedule.cron)
  // Two more days: the days around a skipped or repeated time decide about it.
  const stretches = stretchesOf(schedule.timezone, after - 2 * dayMs, until + 2 * dayMs)
  const found = wanted.isFixed ? fixed(wanted, stretches) : passing(wanted, stretches)
  return [...new Set(found)].filter((time) => time > after && time <= until).sort((a, b) => a - b)
}

/** Due whenever the local clock shows this time: twice in a repeated hour, never in a skipped one. */
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

/** Due once per date: the first time the local clock shows it, or right after the skipped hour that contains it. */
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
  /** Names its times instead of an interval. */
  isFixed: boolean
}

/** `wall` is a local time written as if it were UTC. */
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

/** The stretches of constant offset, with borders to the second. */
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
