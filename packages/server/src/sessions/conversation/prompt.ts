import { type Message, ServiceError } from '@svc/contract'
import { recordAudit } from '../../audit/record.ts'
import type { Caller } from '../../auth/actor.ts'
import { notFound } from '../../auth/allow.ts'
import type { DbOrTransaction } from '../../db/schema.ts'
import type { Deps } from '../../deps.ts'
import { requireModel, requireModelChoice } from '../../model-catalog/require-model.ts'
import { getProject, type ProjectRow } from '../../projects/store.ts'
import { redactorOfPrompts } from '../../secrets/redactor-for.ts'
import { requireAgentOf, requireAgentToStart } from '../agents.ts'
import { auditOf } from '../audit.ts'
import { requireAttachmentQuota, requireAttachmentQuotaOfSession } from '../attachments/ingest.ts'
import { insertAttachments, type StoredAttachment } from '../attachments/store.ts'
import { abortRun } from '../../sandboxes/daemon-client.ts'
import { insertPrompt, outcomeOfPrompt, type PromptError } from './prompt-store.ts'
import { startAgain } from '../lifecycle/stop.ts'
import { publishSession } from '../publish-session.ts'
import { getSessionById, lockSession, type SessionWithSandbox, updateSession } from '../store.ts'
import { upsertMessage } from './message-store.ts'
import { TranscriptQuota } from './transcript-quota.ts'

type PromptDeps = Pick<
  Deps,
  'db' | 'sessions' | 'now' | 'config' | 'disk' | 'feed' | 'sandboxes' | 'keyring' | 'log' | 'redaction'
>

interface PromptInput {
  session: SessionWithSandbox
  caller: Caller
  promptId: string
  text: string
  attachments?: StoredAttachment[]
  /** From this prompt on. */
  agent?: string | undefined
  /** From this prompt on; null is the default model. */
  model?: string | null | undefined
  /** Runs in the transaction of the prompt and records its own audit event instead of the default one. */
  instead?: (trx: DbOrTransaction) => Promise<void>
}

/** Stores the prompt before it returns, and starts the session when it is not live. */
export async function promptSession(
  deps: PromptDeps,
  input: PromptInput,
): Promise<{ prompt_id: string; status: 'accepted' | 'delivered' | 'failed'; error?: PromptError }> {
  const { session, promptId } = input
  await requireChoice(deps, input)
  if (input.attachments?.length) {
    const project = await projectOf(deps.db, session)
    await requireAttachmentQuota(deps, project, session.session_id, input.attachments)
  }
  const write = (trx: DbOrTransaction) => writePrompt(deps, trx, input, null)
  // Published before the write, so that no reader takes the end of the previous turn for the end of this one.
  deps.feed.publish(session.session_id, { type: 'turn', status: 'busy', error: null })
  try {
    await accept(deps, input, write)
  } catch (error) {
    if (deps.sessions.turnOf(session.session_id) === 'idle')
      deps.feed.publish(session.session_id, { type: 'turn', status: 'idle', error: null })
    // A review is stored only when it was sent. Any other prompt is stored in the conversation with the reason.
    if (!(error instanceof ServiceError) || error.code !== 'agent_not_found' || input.instead !== undefined) throw error
    return refuse(deps, input, error)
  }
  await publishChoice(deps, input)
  await deps.sessions.deliverPrompts(session.session_id)
  deps.sessions.enqueue(session.session_id)
  const outcome = await outcomeOfPrompt(deps.db, promptId)
  // A cancelled prompt was accepted first.
  const status = outcome === null || outcome.status === 'cancelled' ? 'accepted' : outcome.status
  return { prompt_id: promptId, status, ...(status === 'failed' && outcome?.error ? { error: outcome.error } : {}) }
}

/** Throws unless the agent and the model of the prompt are there. */
async function requireChoice(deps: PromptDeps, { session, agent, model = session.model }: PromptInput): Promise<void> {
  if (model === session.model) await requireModel(deps, model)
  else await requireModelChoice(deps, { model, from: 'the prompt', needed: true })
  if (agent !== undefined && agent !== session.agent_name) await requireAgentOf(deps, session, agent)
}

/** Other readers of the session learn of another agent or model. */
async function publishChoice(deps: PromptDeps, { session, agent, model }: PromptInput): Promise<void> {
  if (agent === undefined && model === undefined) return
  await publishSession(deps, session.session_id)
}

/** `refusal`: why the prompt is not delivered. The transaction holds the lock of the session. */
async function writePrompt(
  deps: Pick<Deps, 'now' | 'config'>,
  trx: DbOrTransaction,
  { session, caller, promptId, text, attachments = [], instead, agent, model }: PromptInput,
  refusal: { error: PromptError; at: Date; text: string } | null,
): Promise<void> {
  const current = await updateSession(trx, session.session_id, {
    last_active_at: deps.now().toISOString(),
    ...(agent === undefined ? {} : { agent_name: agent }),
    ...(model === undefined ? {} : { model }),
  })
  const isNew = await insertPrompt(trx, {
    prompt_id: promptId,
    agent_name: current?.agent_name ?? null,
    model: current?.model ?? null,
    session_id: session.session_id,
    text: refusal?.text ?? text,
    status: refusal === null ? 'accepted' : 'failed',
    error: refusal?.error.message ?? null,
    error_code: refusal?.error.code ?? null,
    created_by: caller.actor.user_id,
    delivered_at: null,
    settled_at: refusal?.at ?? null,
  })
  if (isNew && attachments.length > 0) {
    const { session_id: sessionId } = session
    await requireAttachmentQuotaOfSession(deps, trx, await projectOf(trx, session), { sessionId, attachments })
    await insertAttachments(trx, { session_id: sessionId, prompt_id: promptId }, attachments)
  }
  if (instead !== undefined) return instead(trx)
  await recordAudit(trx, caller, auditOf(session, 'prompt', { after: { prompt_id: promptId } }))
}

/** Stores the prompt with the reason and leaves the session stopped. */
async function refuse(
  deps: PromptDeps,
  input: PromptInput,
  { code, message, hint }: ServiceError,
): Promise<{ prompt_id: string; status: 'failed'; error: PromptError }> {
  const { session_id: sessionId, generation } = input.session
  const at = deps.now()
  const error = { code, message: hint === null ? message : `${message} ${hint}` }
  const project = await projectOf(deps.db, input.session)
  const redactor = await redactorOfPrompts(deps, project, { sessionId, caller: input.caller })
  const text = redactor.text(input.text)
  const attachments = (input.attachments ?? []).map(({ attachment_id, name, bytes, content_type }) => ({
    attachment_id,
    name: redactor.text(name),
    bytes,
    content_type,
  }))
  const failed: Message = {
    message_id: input.promptId,
    role: 'user',
    prompt_id: input.promptId,
    created_at: at.toISOString(),
    completed_at: at.toISOString(),
    error: error.message,
    parts: [
      { type: 'text', id: `${input.promptId}-text`, text },
      ...attachments.map((each) => ({ type: 'file' as const, id: each.attachment_id, ...each })),
    ],
  }
  await deps.db.transaction().execute(async (trx) => {
    await lockSession(trx, sessionId, 'update')
    await writePrompt(deps, trx, input, { error, at, text })
    const fitting = (await TranscriptQuota.open(trx, deps.config, sessionId)).fit(failed)
    if (fitting !== null) await upsertMessage(trx, sessionId, generation, fitting)
  })
  deps.feed.publish(sessionId, { type: 'message', message: failed })
  return { prompt_id: input.promptId, status: 'failed', error }
}

async function projectOf(db: DbOrTransaction, { project_id }: SessionWithSandbox): Promise<ProjectRow> {
  const project = await getProject(db, project_id)
  if (project === null) throw notFound('session')
  return project
}

const triesMax = 5

/** Writes the prompt while the session is live, or in the transaction of its next start, so that no stop in between loses it. */
async function accept(
  deps: PromptDeps,
  { session, caller, agent }: Pick<PromptInput, 'session' | 'caller' | 'agent'>,
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
    await deps.sessions.reconcile(session.session_id)
    const stopped = await getSessionById(deps.db, session.session_id)
    if (stopped === null) throw notFound('session')
    if (stopped.desired !== 'stopped') continue
    await requireAgentToStart(deps, stopped, agent ?? stopped.agent_name)
    if (await startAgain(deps, { session: stopped, caller }, write)) return
  }
  throw new ServiceError('unavailable', 'Other requests keep stopping and starting this session.', {
    hint: 'Send the prompt again.',
  })
}

export async function abortSession(
  deps: Pick<Deps, 'db' | 'sessions'>,
  input: { session: SessionWithSandbox; caller: Caller },
): Promise<void> {
  const { session, caller } = input
  const daemon = deps.sessions.daemonOf(session.session_id)
  if (daemon === null && session.status === 'running')
    throw new ServiceError('unavailable', 'Another server runs the sandbox of this session, and only it can abort.', {
      hint: `Stop the session instead: svc sessions stop ${session.session_id}`,
    })
  if (daemon === null)
    throw new ServiceError('conflict', `This session is ${session.status}, so there is no turn to abort.`, {
      detail: { status: session.status },
    })
  await deps.sessions.cancelPrompts(session.session_id)
  const outcome = await abortRun(daemon, {})
  if (outcome.kind !== 'ok')
    throw new ServiceError('unavailable', `The sandbox did not abort: ${outcome.reason}`, {
      hint: 'Try again, or stop the session.',
    })
  await recordAudit(deps.db, caller, auditOf(session, 'abort'))
}
