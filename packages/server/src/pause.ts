/** Resolves after `ms`, or as soon as the signal aborts: check the signal next. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
  })
}
