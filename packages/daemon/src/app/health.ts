/** Checks whether a program answers requests on its port. */

type HealthOutcome = { kind: 'answers' } | { kind: 'over' } | { kind: 'silent'; reason: string }

const probeMs = 2_000
const everyMs = 100
/** A program that answers once and then exits is not running. */
const settleMs = 500

/** Waits for two successful answers in a row; any status below 500 counts. */
export async function answersOn(
  port: number,
  options: { msMax: number; isOver: () => boolean },
): Promise<HealthOutcome> {
  const deadline = Date.now() + options.msMax
  let reason = 'nothing listens on the port.'
  let good = 0
  while (!options.isOver()) {
    const found = await ask(port)
    if (options.isOver()) break
    if (found === null) {
      if (++good === 2) return { kind: 'answers' }
    } else {
      good = 0
      reason = found
    }
    if (Date.now() > deadline) return { kind: 'silent', reason }
    await Bun.sleep(good === 1 ? settleMs : everyMs)
  }
  return { kind: 'over' }
}

/** Null when the answer is good, otherwise the reason. */
async function ask(port: number): Promise<string | null> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/`, {
      signal: AbortSignal.timeout(probeMs),
      redirect: 'manual',
      keepalive: false,
      headers: { connection: 'close', 'user-agent': 'svc-health' },
    })
    await reply.body?.cancel()
    return reply.status < 500 ? null : `GET / answers ${reply.status}.`
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') return 'it accepts connections but does not answer.'
    return 'nothing listens on the port. Listen on 127.0.0.1 and the port in PORT.'
  }
}
