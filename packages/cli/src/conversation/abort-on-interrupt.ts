import type { Context } from '../context.ts'
import { red } from '../terminal/output.ts'
import type { SessionClient } from '../requests.ts'

/** Ctrl-C aborts the running turn. Returns a function that stops this. */
export function abortOnInterrupt(
  { io, out }: Pick<Context, 'io' | 'out'>,
  at: SessionClient,
  printer: { interrupted(): void },
): () => void {
  const release = io.onInterrupt(() => {
    // The next Ctrl-C ends the client, in case the server does not answer.
    release()
    printer.interrupted()
    out.progress('Aborting… Ctrl-C again leaves.')
    void at.post('/abort').catch((error: Error) => {
      if (!io.signal.aborted) out.progress(red('error: '), error.message)
    })
  })
  return release
}
