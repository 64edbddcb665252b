/** The product's due times match an independent computation, around every clock change of two years in unusual timezones. */
import { expect, test } from 'bun:test'
import { slotsAfter } from '@svc/contract'
import { expectedSlots, type Schedule, stretchesOf } from './expected-slots.ts'

const timezones = [
  ...['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo', 'America/Havana'],
  ...['America/Santiago', 'Pacific/Chatham', 'Europe/Dublin', 'Africa/Casablanca'],
]
const expressions = [
  ...['30 2 * * *', '30 2,14 * * *', '0 0 * * *', '15 45 1 * * *', '0 0-4 * * *', '15,45 0-3 * * *', '30 0 13 * 5'],
  ...['30 * * * *', '30 */2 * * *', '*/20 2 * * *'],
]
const hourMs = 3_600_000
const from = Date.parse('2026-01-10T00:00:00Z')
const until = Date.parse('2027-12-20T00:00:00Z')

function saidToBeDue({ cron, timezone }: Schedule, after: number, before: number): number[] {
  const said: number[] = []
  while ((said.at(-1) ?? after) <= before)
    said.push(...slotsAfter({ cron, run_at: null, timezone }, new Date(said.at(-1) ?? after), 20).map(Number))
  return said.filter((time) => time <= before)
}

test.each(timezones)('the expected slots agree with an independent calendar in %s', (timezone) => {
  const changes = stretchesOf(timezone, from, until).slice(1)
  expect(changes.length).toBeGreaterThanOrEqual(4)
  for (const { from: change } of changes)
    for (const cron of expressions) {
      const [after, before] = [change - 20 * hourMs, change + 20 * hourMs]
      expect({ cron, change, due: saidToBeDue({ cron, timezone }, after, before) }).toEqual({
        ...{ cron, change },
        due: expectedSlots({ cron, timezone }, after, before),
      })
    }
})
