/** A timer that is this late shows that this process did not run, as while it is stopped or its machine sleeps. */
const lateMs = 1_000

/**
 * Like `setTimeout`, but a late timer waits once more: what it guards may have ended in the meantime, and nothing has read
 * that yet.
 */
export function afterRunning(ms: number, act: () => void) {
  let isBackground = false
  let timer = start()

  function start(): ReturnType<typeof setTimeout> {
    const due = performance.now() + ms
    const started = setTimeout(() => {
      if (performance.now() - due > lateMs) timer = start()
      else act()
    }, ms)
    if (isBackground) started.unref()
    return started
  }

  return {
    clear: () => clearTimeout(timer),
    /** Does not keep this process running. */
    unref() {
      isBackground = true
      timer.unref()
    },
  }
}
