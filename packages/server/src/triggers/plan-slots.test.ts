import { describe, expect, test } from 'bun:test'
import { refuseCron } from '@svc/contract'
import { firstDueAt, planSlots } from './plan-slots.ts'

const at = (text: string) => new Date(text)
const cron = (expression: string, timezone = 'UTC') => ({ cron: expression, run_at: null, timezone })
const hours = (schedule: Parameters<typeof planSlots>[0], from: string, until: string) => {
  const first = firstDueAt(schedule, at(from))!
  return planSlots(schedule, first, at(until)).slots.map(({ dueAt }) => dueAt.toISOString().slice(0, 16))
}

describe('planning slots', () => {
  test('plans nothing before the time of a trigger, and one slot at it', () => {
    const schedule = cron('0 3 * * *')
    const due = at('2026-03-02T03:00:00Z')
    expect(planSlots(schedule, due, at('2026-03-02T02:59:59.999Z'))).toEqual({ slots: [], nextDueAt: due })
    expect(planSlots(schedule, due, due)).toEqual({
      slots: [{ dueAt: due, fate: 'fire' }],
      nextDueAt: at('2026-03-03T03:00:00Z'),
    })
  })

  test('catches up with a slot that is late by more than a minute', () => {
    const due = at('2026-03-02T03:00:00Z')
    expect(planSlots(cron('0 3 * * *'), due, at('2026-03-02T03:01:01Z')).slots).toEqual([
      { dueAt: due, fate: 'catch-up' },
    ])
  })

  test('plans missed slots in batches of which only the last fires', () => {
    const first = at('2026-01-01T00:00:00Z')
    const portion = planSlots(cron('* * * * *'), first, at('2026-01-02T00:00:00Z'))
    expect(portion.slots).toHaveLength(500)
    expect(new Set(portion.slots.map(({ fate }) => fate))).toEqual(new Set(['missed']))
    expect(portion.nextDueAt).toEqual(at('2026-01-01T08:20:00Z'))
  })

  test('follows the clock of the timezone when daylight saving changes', () => {
    // Berlin: no 02:30 on 29 March 2026, two of them on 25 October.
    expect(hours(cron('30 2 * * *', 'Europe/Berlin'), '2026-03-28T00:00:00Z', '2026-03-31T00:00:00Z')).toHaveLength(3)
    expect(hours(cron('30 2 * * *', 'Europe/Berlin'), '2026-10-24T00:00:00Z', '2026-10-27T00:00:00Z')).toHaveLength(3)
    expect(hours(cron('0 9 * * *', 'America/New_York'), '2026-03-07T00:00:00Z', '2026-03-09T20:00:00Z')).toEqual([
      '2026-03-07T14:00',
      '2026-03-08T13:00',
      '2026-03-09T13:00',
    ])
    // Half an hour of change.
    expect(hours(cron('0 9 * * *', 'Australia/Lord_Howe'), '2026-04-03T00:00:00Z', '2026-04-06T00:00:00Z')).toEqual([
      '2026-04-03T22:00',
      '2026-04-04T22:30',
      '2026-04-05T22:30',
    ])
  })

  test('supports expressions with seconds', () => {
    expect(refuseCron('15 0 3 * * *')).toBeNull()
    expect(firstDueAt(cron('15 0 3 * * *'), at('2026-01-01T03:00:14.999Z'))).toEqual(at('2026-01-01T03:00:15Z'))
    expect(firstDueAt(cron('15 0 3 * * *'), at('2026-01-01T03:00:15Z'))).toEqual(at('2026-01-02T03:00:15Z'))
  })
})
