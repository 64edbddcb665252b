import type { Deps } from '../../deps.ts'
import { updateSandbox } from '../../sandboxes/store.ts'
import { lockSession, moveSession, type SessionWithSandbox, updateSession } from '../store.ts'

/**
 * Records that the sandbox answers, and that it booted with the first prompt. False when the session was stopped or changed
 * meanwhile. The sandbox ends then, so its next start has to send the first prompt again.
 */
export function becomeRunning(
  deps: Pick<Deps, 'db' | 'now' | 'redaction'>,
  session: SessionWithSandbox,
  { sandboxId, firstPrompt }: { sandboxId: string; firstPrompt: string | null },
): Promise<boolean> {
  const { session_id: sessionId, generation } = session
  return deps.db.transaction().execute(async (trx) => {
    if ((await lockSession(trx, sessionId, 'update'))?.desired !== 'running') return false
    const [to, isBusy] = ['running', firstPrompt !== null] as const
    if (!(await moveSession(trx, { sessionId, generation, from: ['provisioning'], to, error: null, isBusy })))
      return false
    await updateSandbox(trx, sandboxId, { status: 'active' })
    if (firstPrompt !== null)
      await updateSession(trx, sessionId, {
        initial_prompt: deps.redaction.of(sessionId).text(firstPrompt),
        initial_prompt_delivered_at: deps.now().toISOString(),
      })
    return true
  })
}
