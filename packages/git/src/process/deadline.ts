import type { CallOptions } from '../repository.ts'

/**
 * Waits for shared work until the caller aborts or its time is up; the work continues for other callers. `late` makes
 * the answer for a caller whose time is up; without it only an abort ends the wait.
 */
export function untilDeadline<T>(
  work: Promise<T>,
  { signal, timeoutMs }: CallOptions,
  late?: (timeoutMs: number) => T,
): Promise<T> {
  if (!signal && (timeoutMs === undefined || !late)) return work
  return new Promise((resolve, reject) => {
    const timer = late && timeoutMs !== undefined ? setTimeout(() => resolve(late(timeoutMs)), timeoutMs) : undefined
    const abort = () => reject(signal?.reason as Error)
    signal?.addEventListener('abort', abort, { once: true })
    const leave = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    work.then(resolve, reject).finally(leave)
  })
}
