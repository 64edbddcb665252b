import { ServiceError } from '@svc/contract'
import { recordAudit } from '../audit/record.ts'
import type { Caller } from '../auth/actor.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { requireModel } from '../model-catalog/require-model.ts'
import { getProject } from '../projects/store.ts'
import { redactorOfPrompts } from '../secrets/redactor-for.ts'
import { requireAgentToStart } from './agents.ts'
import { auditOf } from './audit.ts'
import { abortRun } from './daemon-client.ts'
import { insertPrompt, outcomeOfPrompt, type PromptError } from './prompt-store.ts'
import { promptMessage } from './prompt-message.ts'
import { startAgain } from './stop.ts'
import { getSessionById, lockSession, type SessionWithSandbox, updateSession, upsertMessage } from './store.ts'
import { TranscriptQuota } from './transcript-quota.ts'

type PromptDeps = Pick<
  Deps,
  'db' | 'keeper' | 'now' | 'config' | 'disk' | 'feed' | 'sandboxes' | 'keyring' | 'log' | 'redaction'
>

interface PromptInput {
  session: SessionWithSandbox
  caller: Caller
  promptId: string
  text: string
  /** Written in the transaction of the prompt, with an audit row of its own instead of the one of a plain prompt. */
  instead?: (trx: DbOrTransaction) => Promise<void>
}

/** Accepted means kept: the row is there before the answer, and the session is started again for it when it is not alive. */
export async function promptSession(
  deps: PromptDeps,
  input: PromptInput,
): Promise<{ prompt_id: string; status: 'accepted' | 'delivered' | 'failed'; error?: PromptError }> {
  const { session, caller, promptId } = input
  await requireModel(deps, session.model)
  const write = (trx: DbOrTransaction) => writePrompt(deps, trx, input, null)
  // Told before it is written, so that nobody who listens takes the end of the turn before for the end of this one.
  deps.feed.publish(session.session_id, { type: 'turn', status: 'busy', error: null })
  try {
    await accept(deps, { session, caller }, write)
  } catch (error) {
    if (deps.keeper.turnOf(session.session_id) === 'idle')
      deps.feed.publish(session.session_id, { type: 'turn', status: 'idle', error: null })
    // A review is kept as sent only when it is; any other prompt stands in the conversation with its reason.
    if (!(error instanceof ServiceError) || error.code !== 'agent_not_found' || input.instead !== undefined) throw error
    return refuse(deps, input, error)
  }
  await deps.keeper.deliverPrompts(session.session_id)
  deps.keeper.kick(session.session_id)
  const outcome = await outcomeOfPrompt(deps.db, promptId)
  // One that is taken back was accepted before.
  const status = outcome === null || outcome.status === 'cancelled' ? 'accepted' : outcome.status
  return { prompt_id: promptId, status, ...(status === 'failed' && outcome?.error ? { error: outcome.error } : {}) }
}

/** `refusal`: why it is not delivered at all. */
async function writePrompt(
  deps: Pick<Deps, 'now'>,
  trx: DbOrTransaction,
  { session, caller, promptId, text, instead }: PromptInput,
  refusal: { error: PromptError; at: Date; text: string } | null,
): Promise<void> {
  await insertPrompt(trx, {
    prompt_id: promptId,
    session_id: session.session_id,
    text: refusal?.text ?? text,
    status: refusal === null ? 'accepted' : 'failed',
    error: refusal?.error.message ?? null,
    error_code: refusal?.error.code ?? null,
    created_by: caller.actor.user_id,
    delivered_at: null,
    settled_at: refusal?.at ?? null,
  })
  await updateSession(trx, session.session_id, { last_active_at: deps.now().toISOString() })
  if (instead !== undefined) return instead(trx)
  await recordAudit(trx, caller, auditOf(session, 'prompt', { after: { prompt_id: promptId } }))
}

/** The session is not started for this prompt. Both are kept as they are, and the reason with the prompt. */
async function refuse(
  deps: PromptDeps,
  input: PromptInput,
  { code, message, hint }: ServiceError,
): Promise<{ prompt_id: string; status: 'failed'; error: PromptError }> {
  const { session_id: sessionId, generation } = input.session
  const at = deps.now()
  const error = { code, message: hint === null ? message : `${message} ${hint}` }
  const project = await getProject(deps.db, input.session.project_id)
  if (project === null) throw new ServiceError('not_found', 'There is no such session.')
  const text = (await redactorOfPrompts(deps, project, { sessionId, caller: input.caller })).text(input.text)
  const failed = promptMessage({ prompt_id: input.promptId, text, created_at: at.toISOString() }, error.message, at)
  await deps.db.transaction().execute(async (trx) => {
    await writePrompt(deps, trx, input, { error, at, text })
    const kept = (await TranscriptQuota.open(trx, deps.config, sessionId)).fit(failed)
    if (kept !== null) await upsertMessage(trx, sessionId, generation, kept)
  })
  deps.feed.publish(sessionId, { type: 'message', message: failed })
  return { prompt_id: input.promptId, status: 'failed', error }
}

/** Often enough: each try is lost to somebody who stopped or started the session in between. */
const triesMax = 5

/** Writes the prompt while the session is surely meant to run, or together with its next start: a stop in between would leave it to nobody. */
async function accept(
  deps: PromptDeps,
  { session, caller }: { session: SessionWithSandbox; caller: Caller },
  write: (trx: DbOrTransaction) => Promise<void>,
): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    const isWritten = await deps.db.transaction().execute(async (trx) => {
      const now = await lockSession(trx, session.session_id, 'update')
      const isAlive = (now?.status === 'running' || now?.status === 'provisioning') && now.desired === 'running'
      if (isAlive) await write(trx)
      return isAlive
    })
    if (isWritten) return
    // A stop that is under way ends first.
    await deps.keeper.settle(session.session_id)
    const stopped = await getSessionById(deps.db, session.session_id)
    if (stopped === null) throw new ServiceError('not_found', 'There is no such session.')
    if (stopped.desired !== 'stopped') continue
    await requireAgentToStart(deps, stopped, stopped.agent_name)
    if (await startAgain(deps, { session: stopped, caller }, write)) return
  }
  throw new ServiceError('unavailable', 'The session is being stopped and started by others.', {
    hint: 'Send the prompt again.',
  })
}

export async function abortSession(
  deps: Pick<Deps, 'db' | 'keeper'>,
  input: { session: SessionWithSandbox; caller: Caller },
): Promise<void> {
  const { session, caller } = input
  const daemon = deps.keeper.daemonOf(session.session_id)
  if (daemon === null && session.status === 'running')
    throw new ServiceError(
      'unavailable',
      'The sandbox of this session is kept by another server, which alone can abort.',
      {
        hint: `Stop the session instead: svc sessions stop ${session.session_id}`,
      },
    )
  if (daemon === null)
    throw new ServiceError('conflict', `This session is ${session.status}, so nothing runs that could be aborted.`, {
      detail: { status: session.status },
    })
  await deps.keeper.cancelPrompts(session.session_id)
  const outcome = await abortRun(daemon)
  if (outcome.kind !== 'ok')
    throw new ServiceError('unavailable', `The sandbox did not take the abort: ${outcome.reason}`, {
      hint: 'Try again, or stop the session.',
    })
  await recordAudit(deps.db, caller, auditOf(session, 'abort'))
}
