/** The bystander's process: reads one change request in a loop and prints the start and the duration of each read. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Read } from './bystander.ts'
import { ignoreClosed } from '../../ignored.ts'

/** Pauses so that the reader itself adds no load, but still reads often enough for a 99th percentile. */
const pauseMs = 8

const [url = ''] = process.argv.slice(2)
const token = process.env.BYSTANDER_TOKEN ?? ''

for (;;) {
  for (const route of ['', '/merge-preview', '/diff']) {
    const began = performance.now()
    const response = await fetch(url + route, { headers: { authorization: `Bearer ${token}` } }).catch(() => null)
    await response?.arrayBuffer().catch(ignoreClosed)
    const read: Read = {
      beganAt: performance.timeOrigin + began,
      ms: performance.now() - began,
      failure: response?.status === 200 ? null : `${route}: ${response?.status ?? 'no answer'}`,
    }
    process.stdout.write(`${JSON.stringify(read)}\n`)
  }
  await delay(pauseMs)
}
