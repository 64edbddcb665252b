/** Tells the gate which projects moved or begin to move, as soon as any server has written it. */
import type { Deps } from '../deps.ts'
import { pause } from '../pause.ts'

const channel = 'svc_homes'
const reconnectMs = 1_000

/** Until the signal aborts. While it does not listen, what a server remembers of a home is some seconds old. */
export async function watchHomes(
  { locks, homeGate, log }: Pick<Deps, 'locks' | 'homeGate' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const lost = new AbortController()
    try {
      const client = await locks.connect()
      client.on('error', () => lost.abort())
      client.on('notification', ({ payload = '' }) => homeGate.changed(payload))
      try {
        await client.query(`listen ${channel}`)
        await untilAborted(AbortSignal.any([signal, lost.signal]))
      } finally {
        // Not back to the pool: it listens.
        client.release(true)
      }
    } catch (error) {
      log.debug({ err: error }, 'failed to listen for moved projects; retrying')
    }
    await pause(reconnectMs, signal)
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
