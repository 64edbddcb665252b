/** Whether a program answers requests on its port: what a person who opens its page would find. */

export type HealthOutcome = { kind: 'answers' } | { kind: 'over' } | { kind: 'silent'; reason: string }

const probeMs = 2_000
const everyMs = 100
/** What answers and dies at once is no app that runs. */
const settleMs = 500

/** Answers twice in a row, with anything but an error of its own (5xx). */
export async function answersOn(
  port: number,
  options: { msMax: number; isOver: () => boolean },
): Promise<HealthOutcome> {
  const deadline = Date.now() + options.msMax
  let reason = 'nothing listens there.'
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

/** Null when it answers well. */
async function ask(port: number): Promise<string | null> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/`, {
      signal: AbortSignal.timeout(probeMs),
      redirect: 'manual',
      keepalive: false,
      headers: { connection: 'close', 'user-agent': 'svc-health' },
    })
    await reply.body?.cancel()
    return reply.status < 500 ? null : `it answers ${reply.status} to GET /.`
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') return 'it takes a connection and does not answer.'
    return 'nothing listens there. It has to listen on 127.0.0.1 and the port that PORT names.'
  }
}
