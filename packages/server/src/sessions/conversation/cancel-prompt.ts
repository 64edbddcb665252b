/** Takes one prompt back while it waits. */
import { type Prompt, ServiceError } from '@svc/contract'
import { recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import { isUuid, notFound } from '../../auth/allow.ts'
import type { Deps } from '../../deps.ts'
import type { ProjectRow } from '../../projects/store.ts'
import { redactorOfPrompts } from '../../secrets/redactor-for.ts'
import { auditOf } from '../audit.ts'
import { lockSession, type SessionWithSandbox } from '../store.ts'
import { cancelledReason, cancelWaiting, findPrompt } from './prompt-store.ts'

/** Either the agent gets a prompt or this cancels it, never both: a delivery marks the row before it sends. */
export async function cancelPrompt(
  deps: Pick<Deps, 'db' | 'now' | 'keyring' | 'redaction' | 'sessions'>,
  input: { project: ProjectRow; session: SessionWithSandbox; caller: Caller; promptId: string },
): Promise<Prompt> {
  const { project, session, caller, promptId } = input
  const { session_id: sessionId } = session
  if (promptId === sessionId) throw isFirst(sessionId)
  const prompt = isUuid(promptId) ? await findPrompt(deps.db, sessionId, promptId) : null
  if (prompt === null) throw notFound('prompt')
  const redactor = await redactorOfPrompts(deps, project, { sessionId, caller })
  if (prompt.status === 'accepted') {
    const at = deps.now()
    await deps.db.transaction().execute(async (trx) => {
      // Under the lock, because a restart begins the next generation, whose sandbox does not have the prompt.
      const { generation } = (await lockSession(trx, sessionId, 'update')) ?? session
      const isCancelled = await cancelWaiting(trx, promptId, { text: redactor.text(prompt.text), at, generation })
      if (isCancelled)
        await recordAudit(trx, caller, auditOf(session, 'cancel_prompt', { after: { prompt_id: promptId } }))
    })
    deps.sessions.followerOf(sessionId)?.promptCancelled(prompt, cancelledReason)
  }
  const now = (await findPrompt(deps.db, sessionId, promptId)) ?? prompt
  if (now.status !== 'cancelled') throw cannotCancel(now, sessionId)
  return redactPrompt(now, redactor)
}

export function redactPrompt(prompt: Prompt, redactor: { text(text: string): string }): Prompt {
  return {
    ...prompt,
    text: redactor.text(prompt.text),
    attachments: prompt.attachments.map((each) => ({ ...each, name: redactor.text(each.name) })),
  }
}

function isFirst(sessionId: string): ServiceError {
  return new ServiceError('conflict', 'The session starts with this prompt, so it cannot be cancelled alone.', {
    hint: `Stop the session instead: svc sessions stop ${sessionId.slice(0, 8)}`,
  })
}

function cannotCancel({ status }: Prompt, sessionId: string): ServiceError {
  if (status === 'failed') return new ServiceError('conflict', 'This prompt failed, so there is nothing to cancel.')
  return new ServiceError('conflict', 'The agent has this prompt already, so it can no longer be cancelled.', {
    hint: `Stop the turn instead: svc sessions abort ${sessionId.slice(0, 8)}`,
    detail: { status },
  })
}
