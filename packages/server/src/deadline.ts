/**
 * Resolves as `work` does, or as `late` does when `work` takes longer than `ms`; `late` may throw. Rejects when
 * `signal` aborts. `work` itself goes on: pass it a signal of its own to stop it.
 */
export async function withDeadline<T, L>(
  work: Promise<T>,
  ms: number,
  late: () => L,
  { signal, startTimer = plainTimer }: { signal?: AbortSignal; startTimer?: StartTimer } = {},
): Promise<Awaited<T> | L> {
  const over = Promise.withResolvers<void>()
  const timer = startTimer(ms, over.resolve)
  const abort = () => over.reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  work.catch(handledElsewhere)
  try {
    return await Promise.race([work, over.promise.then(late)])
  } finally {
    timer.clear()
    signal?.removeEventListener('abort', abort)
  }
}

type StartTimer = (ms: number, act: () => void) => { clear(): void }

const plainTimer: StartTimer = (ms, act) => {
  const timer = setTimeout(act, ms)
  return { clear: () => clearTimeout(timer) }
}

/** Marks a rejection as handled: the promise is also awaited elsewhere, or its outcome arrived too late to matter. */
export function handledElsewhere(): void {}
