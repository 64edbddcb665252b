import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { forgetServer, runningServer, type ServerState } from './state.ts'

/** The server drains within ten seconds; the database takes a moment more. */
const patienceMs = 30_000

/** Waits for the end of the server that was told to stop; `goOn`: without its sandboxes. `advice`: what is left to do if it does not end. */
export async function untilStopped(
  ctx: Context,
  server: ServerState,
  { goOn, advice = '' }: { goOn: boolean; advice?: string },
): Promise<void> {
  const { io, out } = ctx
  const began = io.now()
  while ((await runningServer(ctx)) !== null) {
    if (io.now() - began > patienceMs)
      throw new Refusal('timed_out', `Process ${server.pid} is still stopping after ${patienceMs / 1000} s`, {
        hint: `Its log is ${server.log}.${advice}`,
        next: ['svc self-host logs', 'svc self-host status'],
      })
    out.passing(goOn ? 'stopping the server; sandboxes go on…' : 'stopping the server and its sandboxes…')
    await io.sleep(100)
  }
  await forgetServer(ctx)
}
