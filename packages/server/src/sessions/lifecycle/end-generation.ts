/** Ends one generation of a session: its tokens, its credentials, its sandboxes and the open questions of its agent. */
import type { SessionStatus } from '@svc/contract'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { endSandboxes, revokeSandboxCredentials } from '../../sandboxes/store.ts'
import { revokeTokensOfSession } from '../../tokens/store.ts'
import { reconcileQuestions } from '../questions/store.ts'
import { lockSession, moveSession, type SessionWithSandbox } from '../store.ts'

export const unansweredReason = 'The sandbox of the session ended before the question was answered.'

/** Locks the session first, so that no credential is issued between the revocation and the commit. */
export async function revokeCredentials(trx: DbOrTransaction, sessionId: string, at: Date): Promise<void> {
  await lockSession(trx, sessionId, 'update')
  await revokeTokensOfSession(trx, sessionId, at)
  await revokeSandboxCredentials(trx, sessionId, at)
}

export async function endGeneration(
  trx: DbOrTransaction,
  sessionId: string,
  end: { status: 'stopped' | 'error'; error: string | null; at: Date },
): Promise<void> {
  await revokeCredentials(trx, sessionId, end.at)
  await endSandboxes(trx, sessionId, end.status, end.error)
  await reconcileQuestions(trx, { sessionId }, { status: 'expired', reason: unansweredReason })
}

/** The session has ended. A later generation belongs to another server, as do its credentials and sandbox. */
export function recordEnd(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  { session_id: sessionId, generation }: Pick<SessionWithSandbox, 'session_id' | 'generation'>,
  { to, sandbox, reason }: { to: 'stopped' | 'failed'; sandbox: 'stopped' | 'error'; reason: string | null },
): Promise<void> {
  const from: SessionStatus[] = ['provisioning', 'running']
  return db.transaction().execute(async (trx) => {
    if (await moveSession(trx, { sessionId, generation, from, to, error: reason, desired: 'stopped' }))
      await endGeneration(trx, sessionId, { status: sandbox, error: reason, at: now() })
  })
}
