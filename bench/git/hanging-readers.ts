/** A process of its own, so that what five hundred readers cost is not taken from whoever measures beside them: `url token readers milliseconds everyMs`. */
import { setTimeout as delay } from 'node:timers/promises'

const [url = '', token = '', readers = '', forMs = '', everyMs = ''] = process.argv.slice(2)
const until = performance.now() + Number(forMs)
const taken: number[] = []
let failed = 0

await Promise.all(
  Array.from({ length: Number(readers) }, async () => {
    // People come within a second, not in one moment.
    await delay(Math.random() * 1_000)
    while (performance.now() < until) {
      const began = performance.now()
      const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      await response.arrayBuffer()
      taken.push(performance.now() - began)
      if (response.status !== 200) failed++
      // As often as the clock says and not as fast as they are answered: with and without a host that hangs it is the same load.
      await delay(Math.max(0, began + Number(everyMs) - performance.now()))
    }
  }),
)
console.log(JSON.stringify({ taken, failed }))
