/** Answers the questions of agents: those of the runtime, and connector calls that need approval. */
import { type Question, ServiceError } from '@svc/contract'
import { recordAudit } from '../audit/record.ts'
import { boundSession, type Caller } from '../auth/actor.ts'
import { isUuid, notFound } from '../auth/allow.ts'
import { decideApproval } from '../connectors/calls/approvals.ts'
import { getProject } from '../projects/store.ts'
import { redactorOfSession } from '../secrets/redactor-for.ts'
import type { Deps } from '../deps.ts'
import type { ProjectRow } from '../projects/store.ts'
import { auditOf } from '../sessions/audit.ts'
import { answerOpen, getQuestion, presentQuestion, type QuestionRow } from '../sessions/questions/store.ts'
import type { SessionRow } from '../sessions/store.ts'

type AnswerDeps = Pick<Deps, 'db' | 'sessions' | 'now' | 'keyring' | 'redaction'>

interface Answering {
  project: ProjectRow
  session: Pick<SessionRow, 'account_id' | 'project_id' | 'session_id'>
  caller: Caller
  questionId: string
  answer: string
}

/** No token of a sandbox may answer, or an agent could approve its own requests and those of sessions it started. */
export async function answerQuestion(deps: AnswerDeps, input: Answering): Promise<Question> {
  const { session, caller, questionId } = input
  refuseAgents(caller)
  const found = isUuid(questionId) ? await getQuestion(deps.db, session.session_id, questionId) : null
  if (found === null) throw notFound('question')
  if (found.kind === 'connector') await decideCall(deps, input, found)
  else await answerAgent(deps, input, found)
  const now = await getQuestion(deps.db, session.session_id, questionId)
  if (now === null) throw notFound('question')
  if (now.status === 'expired') throw notOpen(now, deps.now())
  return presentQuestion(now, deps.now())
}

function refuseAgents(caller: Caller): void {
  if (boundSession(caller.actor) !== null)
    throw new ServiceError('forbidden', 'An agent cannot answer the questions of agents.', {
      hint: 'A person answers them: `svc sessions questions`.',
    })
}

async function answerAgent(deps: AnswerDeps, input: Answering, found: QuestionRow): Promise<void> {
  const { session, caller } = input
  // A project token is for programs, and only a person may grant a permission.
  if (caller.actor.kind !== 'user')
    throw new ServiceError('forbidden', 'A project token cannot answer the questions of agents.', {
      hint: 'Sign in as a person: `svc login`.',
    })
  const values = optionsOf(found)
  if (found.kind === 'permission' && !values.includes(input.answer)) throw notOffered(values)
  const at = deps.now()
  const project = await getProject(deps.db, session.project_id)
  if (project === null) throw notFound('session')
  const answer = (await redactorOfSession(deps, project, session.session_id)).text(input.answer)
  await deps.db.transaction().execute(async (trx) => {
    const row = await answerOpen(trx, found.question_id, { answer, by: caller.actor.user_id, at })
    if (row === null) throw notOpen((await getQuestion(trx, session.session_id, found.question_id)) ?? found, at)
    const after = { question_id: row.question_id, kind: row.kind, ...(row.kind === 'permission' ? { answer } : {}) }
    await recordAudit(trx, caller, auditOf(session, 'answer', { after }))
  })
  await deps.sessions.deliverAnswers(session.session_id)
}

const decisions = {
  approve: { decision: 'approve', always: false },
  approve_always: { decision: 'approve', always: true },
  deny: { decision: 'deny', always: false },
  deny_always: { decision: 'deny', always: true },
} as const

async function decideCall(deps: AnswerDeps, input: Answering, found: QuestionRow): Promise<void> {
  const { project, caller, answer } = input
  if (!Object.hasOwn(decisions, answer)) throw notOffered(optionsOf(found))
  const decision = decisions[answer as keyof typeof decisions]
  if (found.status !== 'open') throw notOpen(found, deps.now())
  await decideApproval(deps, { project, caller, approvalId: found.question_id, ...decision })
}

const optionsOf = (row: QuestionRow) => (row.options as Question['options']).map(({ value }) => value)

function notOffered(values: string[]): ServiceError {
  return new ServiceError('invalid', 'The answer is not one of the options.', {
    hint: `Answer with one of: ${values.join(', ')}`,
    detail: { issues: [{ path: 'answer', message: `is not one of ${values.join(', ')}` }] },
  })
}

function notOpen(row: QuestionRow, now: Date): ServiceError {
  const { status, reason } = presentQuestion(row, now)
  return status === 'expired'
    ? new ServiceError('conflict', `This question has expired. ${reason ?? ''}`.trim(), {
        hint: 'If the agent still needs an answer, it asks again.',
        detail: { status },
      })
    : new ServiceError('conflict', 'This question has been answered already.', { detail: { status } })
}
