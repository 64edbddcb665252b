/** Event streams of the agent runtime, which outlive a runtime that is stopped while it is idle. */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'

interface Source {
  /** Requests the stream again. */
  ask: () => ClientRequest
  /** Returns null when the stream ended for another reason. */
  hold: (reopen: () => Promise<void>) => (() => void) | null
}

/** Passes the events on. The reader of a stream that continues with the next runtime notices nothing. */
export function passEvents(answer: IncomingMessage, res: ServerResponse, source: Source): void {
  let isOver = false
  const over = (isOrderly: boolean) => {
    if (isOver) return
    isOver = true
    const release = source.hold(() => continueWith(res, source))
    if (release !== null) res.once('close', release)
    else if (isOrderly) res.end()
    else res.destroy()
  }
  answer.pipe(res, { end: false })
  answer.on('end', () => over(true))
  for (const event of ['error', 'aborted', 'close'] as const) answer.on(event, () => over(false))
}

/** Resolves when the stream is open, or when its reader has to connect again. */
function continueWith(res: ServerResponse, source: Source): Promise<void> {
  const opened = Promise.withResolvers<void>()
  const out = source.ask()
  res.once('close', () => out.destroy())
  out.on('response', (answer) => {
    // The last event of the runtime before may be incomplete.
    if (answer.statusCode === 200) res.write('\n\n')
    else res.destroy()
    passEvents(answer, res, source)
    opened.resolve()
  })
  out.on('error', () => {
    res.destroy()
    opened.resolve()
  })
  out.end()
  return opened.promise
}
