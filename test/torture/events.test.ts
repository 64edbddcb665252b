/** A short run of `npm run torture -- events`: two servers die while they send events to readers and receivers. */
import { expect, test } from 'bun:test'
import { tortureEvents } from './events/servers.ts'

test('every event is read and sent in order while two servers are killed repeatedly', async () => {
  const report = await tortureEvents({
    ...{ events: 60, seed: 5, servers: 2, clients: 2, readers: 2 },
    lifeMs: { min: 500, max: 2_000 },
    ...{ killsMin: 3, killsMax: 4 },
  })
  expect(report.problems).toEqual([])
  expect(report.acknowledged).toBeGreaterThan(30)
  expect(report.kills.total).toBeGreaterThanOrEqual(3)
  expect(report.letters.good?.taken).toBeGreaterThanOrEqual(report.events)
}, 300_000)
