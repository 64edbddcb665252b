import type { ApiClient } from '@svc/contract/api'
import type { Context } from '../context.ts'
import { abortTurn, type Where } from './turn.ts'
import { red } from '../terminal/output.ts'

/** Ctrl-C aborts the running turn. Returns a function that stops this. */
export function abortOnInterrupt(
  { io, out }: Pick<Context, 'io' | 'out'>,
  api: ApiClient,
  where: Where,
  printer: { interrupted(): void },
): () => void {
  const release = io.onInterrupt(() => {
    // The next Ctrl-C ends the client, in case the server does not answer.
    release()
    printer.interrupted()
    out.progress('Aborting… Ctrl-C again leaves.')
    void abortTurn(api, where).catch((error: Error) => {
      if (!io.signal.aborted) out.progress(red('error: '), error.message)
    })
  })
  return release
}
