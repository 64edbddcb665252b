import { setTimeout as delay } from 'node:timers/promises'

/** Resolves after `ms`, or as soon as the signal aborts: check the signal next. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(whenAborted)
}

function whenAborted(): void {}
