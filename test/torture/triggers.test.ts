import { expect, test } from 'bun:test'
import { pointsOf } from './scenarios.ts'
import { tickTriggers } from './triggers/one-process.ts'
import { tortureTriggers } from './triggers/servers.ts'

test('three servers fire every slot once while they are killed repeatedly and their clocks jump over a daylight saving change', async () => {
  const report = await tortureTriggers({
    ...{ ticks: 1, seed: 6, servers: 3, many: 6, beforeMs: 60_000, afterMs: 150_000, rate: 30 },
    lifeMs: { min: 1_000, max: 3_000 },
    killsMax: 4,
  })
  expect(report.problems).toEqual([])
  expect(report.kills.total).toBeGreaterThan(0)
  expect(report.slots.due).toBeGreaterThan(10)
  expect(report.sessions).toBeGreaterThan(3)
}, 240_000)

test('three simulated servers with jumping clocks and crashes fire no slot twice and record every slot', async () => {
  const report = await tickTriggers({ ticks: 240, seed: 3 })
  expect(report.problems).toEqual([])
  expect(Object.keys(report.deaths).sort()).toEqual(pointsOf('triggers').sort())
  expect(report.slots.fired).toBeGreaterThan(5)
  expect(report.slots['caught up']).toBeGreaterThan(0)
  expect(report.slots.skipped).toBeGreaterThan(0)
}, 240_000)
