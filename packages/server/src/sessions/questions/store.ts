/** All SQL on the questions of agents. Each change records its event in the same transaction. */
import {
  type Question,
  questionDetailMax,
  questionNoteMax,
  type QuestionKind,
  questionOptionMax,
  questionOptionsMax,
  questionsOpenMax,
  type QuestionStatus,
  questionTitleMax,
} from '@svc/contract'
import { withNote } from '@svc/contract/schemas/question-note'
import { type ExpressionBuilder, sql } from 'kysely'
import type { UserActor } from '../../auth/actor.ts'
import { type PageQuery, readPage } from '../../db/read-page.ts'
import { isAtHome } from '../../db/home.ts'
import { findRow } from '../../db/rows.ts'
import type { DbOrTransaction, Row, Schema } from '../../db/schema.ts'
import { shortened } from '../../events/record.ts'
import { recordSessionEvent } from '../record-event.ts'

export type QuestionRow = Row<'session_questions'>

const lateReason = 'There was no answer in time.'

export interface NewQuestion {
  question_id: string
  kind: QuestionKind
  runtime_id: string | null
  position: number
  multiple: boolean
  title: string
  /** Without the note. */
  detail: string
  note: string
  options: { value: string; label: string }[]
  expires_at: Date | null
}

const closedMax = 500

/** A question with an undelivered answer counts as answered. */
export function statusOf(row: Pick<QuestionRow, 'status' | 'answer' | 'expires_at'>, now: Date): QuestionStatus {
  if (row.status !== 'open') return row.status
  if (row.answer !== null) return 'answered'
  return row.expires_at !== null && Date.parse(row.expires_at) <= now.getTime() ? 'expired' : 'open'
}

export function presentQuestion(row: QuestionRow, now: Date): Question {
  const { question_id, kind, title, detail, note, answer, asked_at, answered_by } = row
  const options = row.options as Question['options']
  const status = statusOf(row, now)
  const reason = row.reason ?? (status === 'expired' ? lateReason : null)
  return { question_id, kind, title, detail, note, options, status, answer, asked_at, answered_by, reason }
}

export function isWaiting(eb: ExpressionBuilder<Schema, 'project_sessions'>) {
  return eb.exists(
    eb
      .selectFrom('session_questions as question')
      .select('question.question_id')
      .whereRef('question.session_id', '=', 'project_sessions.session_id')
      .where('question.status', '=', 'open')
      .where('question.answer', 'is', null)
      .where(({ or, eb: of }) =>
        or([of('question.expires_at', 'is', null), of('question.expires_at', '>', sql<string>`now()`)]),
      ),
  )
}

/**
 * Inserts new questions while the session is live in that generation, and returns them. A question that expired with an
 * earlier generation opens again under its id. Needs a transaction.
 */
export async function openQuestions(
  trx: DbOrTransaction,
  session: { session_id: string; generation?: number },
  asked: NewQuestion[],
): Promise<QuestionRow[]> {
  // The end of a session takes the same lock, so no question opens after it.
  const found = await trx
    .selectFrom('project_sessions')
    .selectAll()
    .where('session_id', '=', session.session_id)
    .where('status', 'in', ['provisioning', 'running'])
    .where('desired', '=', 'running')
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (found === undefined || (session.generation ?? found.generation) !== found.generation) return []
  const opened: QuestionRow[] = []
  const open = await countOpen(trx, session.session_id)
  for (const { options, ...question } of asked.slice(0, Math.max(0, questionsOpenMax - open))) {
    const note = cut(question.note, questionNoteMax)
    const row = await trx
      .insertInto('session_questions')
      .values({
        ...question,
        session_id: session.session_id,
        generation: found.generation,
        title: cut(question.title, questionTitleMax),
        detail: withNote(cut(question.detail, questionDetailMax - withNote('…', note).length + 1), note),
        note,
        options: JSON.stringify(options.slice(0, questionOptionsMax)),
        answer: null,
        answered_by: null,
        answered_at: null,
        reason: null,
        // Keeps the questions of one request in order, which is by time.
        asked_at: sql<string>`now() + make_interval(secs => ${question.position} * 0.001)`,
      })
      .onConflict((conflict) =>
        question.runtime_id === null
          ? conflict
              .column('question_id')
              .doUpdateSet({ status: 'open', reason: null, generation: found.generation })
              .where('session_questions.status', '=', 'expired')
          : conflict.columns(['session_id', 'generation', 'runtime_id', 'position']).doNothing(),
      )
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) continue
    opened.push(row)
    await recordSessionEvent(trx, 'session.question_asked', found, null, null, { question: questionSummary(row) })
  }
  if (opened.length > 0) await prune(trx, session.session_id)
  return opened
}

async function countOpen(trx: DbOrTransaction, sessionId: string): Promise<number> {
  const { open } = await trx
    .selectFrom('session_questions')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .where((eb) => eb.and({ session_id: sessionId, status: 'open' }))
    .executeTakeFirstOrThrow()
  return Number(open)
}

async function prune(trx: DbOrTransaction, sessionId: string): Promise<void> {
  await sql`
    delete from session_questions where question_id in (
      select question_id from session_questions where session_id = ${sessionId} and status <> 'open'
      order by asked_at desc, question_id desc offset ${closedMax})`.execute(trx)
}

/** Selects open questions: one, all of a request of the runtime, or all of a session. */
export interface Which {
  sessionId: string
  questionId?: string
  generation?: number
  runtimeId?: string
}

/** Closes open questions. `answer` is set only where no person answered, because the runtime was answered directly. */
export async function reconcileQuestions(
  trx: DbOrTransaction,
  which: Which,
  end: { status: 'answered'; answer?: string | null } | { status: 'expired'; reason: string },
): Promise<void> {
  let update = trx
    .updateTable('session_questions')
    .where((eb) => eb.and({ session_id: which.sessionId, status: 'open' }))
    .returningAll()
  if (which.questionId !== undefined) update = update.where('question_id', '=', which.questionId)
  if (which.generation !== undefined) update = update.where('generation', '=', which.generation)
  if (which.runtimeId !== undefined) update = update.where('runtime_id', '=', which.runtimeId)
  const rows = await (
    end.status === 'answered'
      ? update.set((eb) => ({
          status: 'answered',
          answer: eb.fn.coalesce('answer', eb.val(end.answer ?? null)),
          answered_at: eb.fn.coalesce('answered_at', sql<string>`now()`),
        }))
      : update.set({ status: 'expired', answer: null, answered_by: null, answered_at: null, reason: end.reason })
  ).execute()
  if (rows.length === 0) return
  const session = await findRow(trx, 'project_sessions', { session_id: which.sessionId })
  if (session === null) return
  for (const row of rows)
    await recordSessionEvent(trx, 'session.question_answered', session, row.reason, answeringUser(row), {
      question: questionSummary(row),
    })
}

const questionSummary = ({ question_id, kind, title, status }: QuestionRow) => ({
  ...{ question_id, kind, status },
  title: shortened(title),
})

function answeringUser({ answered_by }: QuestionRow): UserActor | null {
  return answered_by === null ? null : { kind: 'user', user_id: answered_by, token_id: null, expires_at: null }
}

/** Stores the answer of a person for delivery. Null when the question is no longer open. */
export async function answerOpen(
  trx: DbOrTransaction,
  questionId: string,
  given: { answer: string; by: string; at: Date },
): Promise<QuestionRow | null> {
  const { rows } = await sql<QuestionRow>`
    update session_questions set answer = ${given.answer}, answered_by = ${given.by}, answered_at = ${given.at}
    where question_id = ${questionId} and status = 'open' and answer is null
      and (expires_at is null or expires_at > ${given.at})
    returning *`.execute(trx)
  return rows[0] ?? null
}

export async function getQuestion(db: DbOrTransaction, sessionId: string, questionId: string) {
  return findRow(db, 'session_questions', { session_id: sessionId, question_id: questionId })
}

/** Newest first. */
export async function listQuestions(
  db: DbOrTransaction,
  sessionId: string,
  page: PageQuery & { status: QuestionStatus | 'all'; now: Date },
): Promise<{ rows: QuestionRow[]; next: string | null }> {
  const isLate = sql<boolean>`(expires_at is not null and expires_at <= ${page.now})`
  const status = sql<string>`case when status <> 'open' then status when answer is not null then 'answered'
    when ${isLate} then 'expired' else 'open' end`
  let query = db.selectFrom('session_questions').selectAll().where('session_id', '=', sessionId)
  if (page.status !== 'all') query = query.where(status, '=', page.status)
  return readPage(query, ['asked_at', 'question_id'], 'desc', page)
}

/** The open questions of the runtime in one sandbox, oldest first. */
export async function openOfRuntime(db: DbOrTransaction, of: { sessionId: string; generation: number }) {
  const rows = await db
    .selectFrom('session_questions')
    .selectAll()
    .where((eb) => eb.and({ session_id: of.sessionId, generation: of.generation, status: 'open' }))
    .where('runtime_id', 'is not', null)
    .orderBy('asked_at')
    .orderBy('position')
    .execute()
  return rows as (QuestionRow & { runtime_id: string })[]
}

export async function sessionsWithAnswers(db: DbOrTransaction, home: string | null): Promise<string[]> {
  const { rows } = await sql<{ session_id: string }>`
    select distinct q.session_id from session_questions q join project_sessions s using (session_id)
    where q.status = 'open' and q.answer is not null and q.runtime_id is not null
      and ${isAtHome(sql.ref('s.project_id'), home)} limit 200`.execute(db)
  return rows.map((row) => row.session_id)
}

/** In how many milliseconds the next open question expires. Null: none does. */
export async function nextExpiryInMs(db: DbOrTransaction): Promise<number | null> {
  const { rows } = await sql<{ ms: number | null }>`
    select (extract(epoch from min(expires_at) - now()) * 1000)::float8 as ms from session_questions
    where status = 'open' and expires_at is not null`.execute(db)
  return rows[0]?.ms ?? null
}

/** Expires late questions, and deletes closed connector approvals after a week. */
export async function expireLate(db: DbOrTransaction): Promise<void> {
  const late = await sql<Pick<QuestionRow, 'session_id' | 'question_id'>>`
    select session_id, question_id from session_questions where status = 'open' and expires_at < now() limit 500`.execute(
    db,
  )
  for (const { session_id: sessionId, question_id: questionId } of late.rows)
    await reconcileQuestions(db, { sessionId, questionId }, { status: 'expired', reason: lateReason })
  await sql`delete from session_questions where question_id in (
    select question_id from session_questions
    where kind = 'connector' and status <> 'open' and asked_at < now() - interval '7 days' limit 1000)`.execute(db)
}

export const cut = (text: string, charsMax: number) =>
  text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}…`

export const cutOption = (text: string) => cut(text, questionOptionMax)
