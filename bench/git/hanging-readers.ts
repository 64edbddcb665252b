/**
 * A separate process, so that five hundred readers do not slow down the one who measures: `url token readers milliseconds
 * everyMs`.
 */
import { setTimeout as delay } from 'node:timers/promises'

const [url = '', token = '', readers = '', forMs = '', everyMs = ''] = process.argv.slice(2)
const until = performance.now() + Number(forMs)
const taken: number[] = []
let failed = 0

await Promise.all(
  Array.from({ length: Number(readers) }, async () => {
    // Spreads the arrivals over a second.
    await delay(Math.random() * 1_000)
    while (performance.now() < until) {
      const began = performance.now()
      const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      await response.arrayBuffer()
      taken.push(performance.now() - began)
      if (response.status !== 200) failed++
      // Sends by the clock rather than after each response, so that the load is the same with and without a hanging host.
      await delay(Math.max(0, began + Number(everyMs) - performance.now()))
    }
  }),
)
console.log(JSON.stringify({ taken, failed }))
