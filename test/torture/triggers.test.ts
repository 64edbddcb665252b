import { expect, test } from 'bun:test'
import { pointsOf } from './scenarios.ts'
import { tickTriggers } from './triggers/one-process.ts'

test('three servers with clocks that jump, dying on the way: no slot twice, none without a row', async () => {
  const report = await tickTriggers({ ticks: 240, seed: 3 })
  expect(report.problems).toEqual([])
  expect(Object.keys(report.deaths).sort()).toEqual(pointsOf('triggers').sort())
  expect(report.slots.fired).toBeGreaterThan(5)
  expect(report.slots['caught up']).toBeGreaterThan(0)
  expect(report.slots.skipped).toBeGreaterThan(0)
}, 240_000)
