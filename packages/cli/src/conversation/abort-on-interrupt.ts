import { ServiceError } from '@svc/contract/errors'
import type { Context } from '../context.ts'
import { red } from '../terminal/output.ts'
import type { SessionClient } from '../requests.ts'

/** Ctrl-C cancels the prompt while it waits, so that the turn of another prompt goes on, and aborts its turn otherwise. */
export function abortOnInterrupt(
  { io, out }: Pick<Context, 'io' | 'out'>,
  at: SessionClient,
  printer: { interrupted(): void },
): { release: () => void; waiting: (promptId: string | null) => void } {
  let promptId: string | null = null
  const release = io.onInterrupt(() => {
    // The next Ctrl-C ends the client, in case the server does not answer.
    release()
    printer.interrupted()
    out.progress(`${promptId === null ? 'Aborting…' : 'Cancelling the prompt…'} Ctrl-C again leaves.`)
    const ended = promptId === null ? at.post('/abort') : cancelOrAbort(at, promptId)
    void ended.catch((error: Error) => {
      if (!io.signal.aborted) out.progress(red('error: '), error.message)
    })
  })
  return { release, waiting: (id) => (promptId = id) }
}

async function cancelOrAbort(at: SessionClient, promptId: string): Promise<void> {
  try {
    await at.delete('/prompts/{promptId}', { path: { promptId } })
  } catch (error) {
    // The agent got it a moment ago.
    if (!(error instanceof ServiceError) || error.code !== 'conflict') throw error
    await at.post('/abort')
  }
}
