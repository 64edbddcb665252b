/** The process of a bystander: reads one change request for ever, and tells line by line when each read began and how long it took. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Read } from './bystander.ts'

/** Between two rounds, so that the reader is no load itself and still is asked often enough for a 99th part. */
const pauseMs = 8

const [url = ''] = process.argv.slice(2)
const token = process.env.BYSTANDER_TOKEN ?? ''

for (;;) {
  for (const route of ['', '/merge-preview', '/diff']) {
    const began = performance.now()
    const response = await fetch(url + route, { headers: { authorization: `Bearer ${token}` } }).catch(() => null)
    await response?.arrayBuffer().catch(() => {})
    const read: Read = {
      beganAt: performance.timeOrigin + began,
      ms: performance.now() - began,
      failure: response?.status === 200 ? null : `${route}: ${response?.status ?? 'no answer'}`,
    }
    process.stdout.write(`${JSON.stringify(read)}\n`)
  }
  await delay(pauseMs)
}
