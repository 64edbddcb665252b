/**
 * Resolves as `work` does, or as `late` does when `work` takes longer than `ms`; `late` may throw. Rejects when
 * `signal` aborts. `work` itself goes on: pass it a signal of its own to stop it.
 */
export async function withDeadline<T, L>(
  work: Promise<T>,
  ms: number,
  late: () => L,
  signal?: AbortSignal,
): Promise<Awaited<T> | L> {
  const over = Promise.withResolvers<void>()
  const timer = setTimeout(over.resolve, ms)
  const abort = () => over.reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  work.catch(handledElsewhere)
  try {
    return await Promise.race([work, over.promise.then(late)])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** Marks a rejection as handled: the promise is also awaited elsewhere, or its outcome arrived too late to matter. */
export function handledElsewhere(): void {}
