import type { Deps } from '../../deps.ts'
import { beginGeneration, lockSession, type SessionWithSandbox, updateSession } from '../store.ts'
import { setReturning } from '../unfinished-work/store.ts'
import { endGeneration } from './end-generation.ts'

/**
 * The next generation, in place of the one that `session` was read with, whose sandbox is gone. Where the server ended it, as
 * for a move, it begins with the saved work of that one.
 */
export function beginAgain(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  session: SessionWithSandbox,
  { error, hasMoved }: { error: string; hasMoved: boolean },
): Promise<void> {
  const { session_id: sessionId, initial_prompt_delivered_at: delivered } = session
  return db.transaction().execute(async (trx) => {
    const found = await lockSession(trx, sessionId, 'update')
    // A stop that was requested meanwhile stays requested.
    if (found?.generation !== session.generation || found.desired === 'stopped') return
    if (hasMoved) await setReturning(trx, { session_id: sessionId })
    await endGeneration(trx, sessionId, { status: hasMoved ? 'stopped' : 'error', error, at: now() })
    await beginGeneration(trx, sessionId)
    // A start whose commit got no answer may have recorded it, and nothing followed the sandbox that had the prompt.
    if (delivered === null) await updateSession(trx, sessionId, { initial_prompt_delivered_at: null })
  })
}
