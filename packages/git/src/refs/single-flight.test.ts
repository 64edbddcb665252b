import { expect, test } from 'bun:test'
import { setTimeout as delay } from 'node:timers/promises'
import { LiveFlights } from './single-flight.ts'

/** Flights of one key that end on request and return the time at which they started. */
function flightsByHand(isDear: boolean) {
  let clock = 0
  const running: ((answer: number) => void)[] = []
  const started: number[] = []
  const flights = new LiveFlights<number, number>(
    () => {
      started.push(++clock)
      const { promise, resolve } = Promise.withResolvers<number>()
      running.push(resolve)
      return promise
    },
    (one, other) => Math.max(one, other),
    { isDear },
  )
  return {
    started,
    /** Asks, and checks that the answer is of a flight that started later. */
    ask: async () => {
      const cameAt = ++clock
      expect(await flights.ask('key', cameAt)).toBeGreaterThan(cameAt)
    },
    land: () => running.shift()!(started.at(-1)!),
    inFlight: () => running.length,
  }
}

async function until(what: () => boolean): Promise<void> {
  for (const end = Date.now() + 30_000; !what();) {
    if (Date.now() > end) throw new Error(`Waited in vain: ${what.toString()}`)
    await delay(1)
  }
}

for (const isDear of [false, true])
  test(`runs one request at a time and never returns an answer older than the question, ${isDear ? 'gathering' : 'at once'}`, async () => {
    const host = flightsByHand(isDear)
    const readers = Array.from({ length: 20 }, async () => {
      for (let n = 0; n < 5; n++) await host.ask()
    })
    let isDone = false
    const all = Promise.all(readers).then(() => (isDone = true))
    while (!isDone) {
      await until(() => isDone || host.inFlight() > 0)
      expect(host.inFlight()).toBeLessThanOrEqual(1)
      if (host.inFlight() > 0) host.land()
      await delay(1)
    }
    await all
    // All twenty share each one; some may come back too late for one.
    if (isDear) expect(host.started.length).toBeLessThanOrEqual(1 + 5 + 5)
  })

test('starts at once for a few callers', async () => {
  const host = flightsByHand(true)
  const first = host.ask()
  await until(() => host.inFlight() === 1)
  const others = [1, 2, 3].map(() => host.ask())
  host.land()
  await first
  expect(host.inFlight()).toBe(1)
  host.land()
  await Promise.all(others)
  const next = host.ask()
  await until(() => host.inFlight() === 1)
  host.land()
  await next
})

test('sends the callers of one turn of the event loop together', async () => {
  const host = flightsByHand(false)
  const all = Array.from({ length: 20 }, () => host.ask())
  await until(() => host.inFlight() === 1)
  host.land()
  await Promise.all(all)
  expect(host.started.length).toBe(1)
})

test('does not wait long for callers that do not come back', async () => {
  const host = flightsByHand(true)
  const all = Array.from({ length: 12 }, () => host.ask())
  await until(() => host.inFlight() === 1)
  host.land()
  await Promise.all(all)
  const late = host.ask()
  await until(() => host.inFlight() === 1)
  host.land()
  await late
})

test('an error reaches only the callers of its request, and the next request starts', async () => {
  let calls = 0
  const flights = new LiveFlights<string, string>(
    async (question) => {
      if (calls++ === 0) throw new Error('away')
      return question
    },
    (_one, other) => other,
  )
  const asked = Promise.allSettled([flights.ask('k', 'a')])
  await until(() => calls === 1)
  const second = flights.ask('k', 'b')
  expect((await asked)[0].status).toBe('rejected')
  expect(await second).toBe('b')
})
