import type { Deps } from '../../deps.ts'
import { updateSandbox } from '../../sandboxes/store.ts'
import { moveSession, type SessionWithSandbox, updateSession } from '../store.ts'

/** Records that the sandbox is ready and has the first prompt, if any. False when the session was changed meanwhile. */
export function recordRunning(
  { db, now, redaction }: Pick<Deps, 'db' | 'now' | 'redaction'>,
  session: SessionWithSandbox,
  { sandboxId, firstPrompt }: { sandboxId: string; firstPrompt: string | null },
): Promise<boolean> {
  const { session_id: sessionId, generation } = session
  return db.transaction().execute(async (trx) => {
    await updateSandbox(trx, sandboxId, { status: 'active' })
    if (firstPrompt !== null)
      await updateSession(trx, sessionId, {
        initial_prompt: redaction.of(sessionId).text(firstPrompt),
        initial_prompt_delivered_at: now().toISOString(),
      })
    const isBusy = firstPrompt !== null
    return moveSession(trx, { sessionId, generation, from: ['provisioning'], to: 'running', error: null, isBusy })
  })
}
