/** Posts the state of a session and each answer to its thread, and edits the messages when they change. */
import type { Question } from '@svc/contract'
import { count } from '@svc/contract/count'
import { withoutNote } from '@svc/contract/schemas/question-note'
import type { Deps } from '../../deps.ts'
import type { Db, DbOrTransaction } from '../../db/schema.ts'
import { getProject, type ProjectRow } from '../../projects/store.ts'
import { listQuestions, presentQuestion } from '../../sessions/questions/store.ts'
import { getSessionById, type SessionRow, type SessionWithSandbox } from '../../sessions/store.ts'
import { wipOf, type WipRow } from '../../sessions/unfinished-work/store.ts'
import { answerCharsMax, newestTurns, type Turn } from './conversation-store.ts'
import { type Button, cut, type Message, type Part, plain, type Word } from '../outbox/message.ts'
import { enqueueMessage } from '../outbox/outbox-store.ts'
import {
  type ChannelRow,
  getChannel,
  getThreadById,
  isThreadAtWork,
  setThread,
  type ThreadRow,
  threadsToNotify,
} from '../store.ts'
import { answerValueOf } from '../ingress/ingest.ts'

type UpdateDeps = Pick<Deps, 'db' | 'config' | 'newId' | 'now' | 'log'>

const threadsAtOnce = 50
/** Threads update within a second of a change; more turns than this rarely start in that time. */
const turnsShown = 3
/** More are rarely open at once. */
const questionsShown = 5

/**
 * The job. A failure in one thread does not stop the others. `again` while an agent works in a thread: its messages wake no
 * job, as they are written several times a second.
 */
export async function postSessionUpdates(
  deps: UpdateDeps,
  changed: ReadonlySet<string> | 'all' = 'all',
): Promise<'again' | null> {
  const threads = await threadsToNotify(deps.db, { changed, limit: threadsAtOnce })
  let isAll = threads.length < threadsAtOnce
  for (const { thread_id, state } of threads)
    await updateThread(deps, thread_id, state).catch((error: unknown) => {
      isAll = false
      deps.log.warn({ err: error, thread_id }, 'chat thread not updated; retrying')
    })
  return isAll && !(await isThreadAtWork(deps.db)) ? null : 'again'
}

interface Place {
  channel: ChannelRow
  project: ProjectRow
  thread: ThreadRow
  session: SessionRow & Partial<Pick<SessionWithSandbox, 'is_waiting'>>
}

async function updateThread(deps: UpdateDeps, threadId: string, state: string): Promise<void> {
  const place = await placeOf(deps.db, threadId)
  if (place === null) return
  const { session } = place
  const turns = await newestTurns(deps.db, session.session_id, turnsShown)
  const [work = null] = await wipOf(deps.db, session.session_id)
  const now = deps.now()
  const page = { limit: questionsShown, status: 'all' as const, now }
  const questions = (await listQuestions(deps.db, session.session_id, page)).rows.toReversed()
  await deps.db.transaction().execute(async (trx) => {
    await enqueueMessage(deps, trx, place.channel, stateMessage(deps, place, work))
    for (const [index, turn] of turns.entries()) {
      const isRunning = index === turns.length - 1 && session.is_busy
      const body = answerOf(turn, isRunning, sessionUrl(deps, place))
      if (body !== null)
        await enqueueMessage(deps, trx, place.channel, {
          ...at(place, `turn ${turn.message_id}`),
          kind: 'answer',
          body,
        })
    }
    for (const row of questions) {
      const body = questionMessage(presentQuestion(row, now), sessionUrl(deps, place))
      await enqueueMessage(deps, trx, place.channel, {
        ...at(place, `question ${row.question_id}`),
        kind: 'answer',
        body,
      })
    }
    await setThread(trx, threadId, { told: state })
  })
}

async function placeOf(db: Db, threadId: string): Promise<Place | null> {
  const thread = await getThreadById(db, threadId)
  if (thread?.session_id == null) return null
  const channel = await getChannel(db, thread.channel_id)
  const session = await getSessionById(db, thread.session_id)
  const project = channel === null ? null : await getProject(db, channel.project_id)
  return channel === null || session === null || project === null ? null : { channel, project, thread, session }
}

/** Posts the first message of a thread, in the transaction that starts it, so that it precedes all others. */
export async function postStarting(deps: Pick<Deps, 'config' | 'newId'>, trx: DbOrTransaction, place: Place) {
  await enqueueMessage(deps, trx, place.channel, stateMessage(deps, place, null))
}

function at({ thread: { thread_key } }: Place, key: string) {
  return { message_key: `${thread_key} ${key}`, thread_key }
}

export function sessionUrl(
  { config }: Pick<Deps, 'config'>,
  { project, session }: { project: ProjectRow; session: Pick<SessionRow, 'session_id'> },
): string {
  return `${config.publicUrl}/projects/${project.slug}/sessions/${session.session_id}`
}

function stateMessage(deps: Pick<Deps, 'config'>, place: Place, work: WipRow | null) {
  const { session, thread } = place
  const words: Word[] = [{ link: sessionUrl(deps, place), text: session.name }, ' · ', ...stateLabel(session)]
  const note: Word[] = [`agent ${session.agent_name}, started by `, { person: thread.chat_user_id }]
  const parts: Part[] = [
    { kind: 'line', words },
    { kind: 'note', words: note },
  ]
  const left = unfinished(session, work)
  if (left !== null) parts.push({ kind: 'note', words: left })
  const body: Message = { summary: plain(words), parts }
  return { ...at(place, 'state'), kind: 'state' as const, body }
}

const errorCharsMax = 600

function stateLabel(session: Place['session']): Word[] {
  const why = session.error === null ? '' : cut(session.error, errorCharsMax)
  switch (session.status) {
    case 'queued':
    case 'branching':
    case 'provisioning':
      return ['starting…']
    case 'running':
      if (why !== '') return [{ bold: 'has a problem' }, `: ${why}`]
      if (session.is_waiting === true) return [{ bold: 'waiting for you' }, ': answer the question below']
      return session.is_busy ? ['working…'] : [{ bold: 'needs you' }, ': reply in this thread to continue']
    case 'stopped':
      return [`stopped${why === '' ? '' : ` (${why})`}. Reply in this thread to start it again.`]
    case 'failed':
      return [{ bold: 'failed' }, `: ${why === '' ? 'unknown error' : why}`]
    case 'completed':
      return ['completed']
    default:
      return session.status satisfies never
  }
}

/** A running session may still push; once it ended, a user has to decide about its unfinished work. */
function unfinished(session: SessionRow, work: WipRow | null): Word[] | null {
  const hasEnded = session.status === 'stopped' || session.status === 'failed'
  if (!hasEnded || work === null || work.recovered_at !== null || work.files + work.unpushed_commits === 0) return null
  const left = [
    ...(work.files > 0 ? [count(work.files, 'changed file')] : []),
    ...(work.unpushed_commits > 0 ? [count(work.unpushed_commits, 'commit')] : []),
  ].join(' and ')
  return [
    { bold: 'Unfinished work' },
    `: ${left} not pushed. `,
    { code: `svc sessions recover ${session.session_id.slice(0, 8)}` },
  ]
}

/** Shows the options while the question is open, then the answer. The text comes from an agent, so none of it is markup. */
function questionMessage(question: Question, url: string): Message {
  const { kind, title, note, options, status, answer, reason } = question
  const asks = kind === 'question' ? 'The agent asks' : 'The agent asks for permission'
  const words: Word[] = [{ bold: asks }, `: ${title}`]
  const parts: Part[] = [{ kind: 'line', words }]
  const about = withoutNote(question)
  if (about !== '') parts.push({ kind: 'note', words: [cut(about, errorCharsMax)] })
  if (note !== '') parts.push({ kind: 'note', words: [note] })
  const label = options.find(({ value }) => value === answer)?.label ?? answer ?? 'in the sandbox'
  if (status === 'open') parts.push({ kind: 'buttons', buttons: answerButtons(question, url) })
  else if (status === 'answered') parts.push({ kind: 'note', words: ['Answered: ', cut(label, errorCharsMax)] })
  else parts.push({ kind: 'note', words: [`Expired: ${reason ?? 'there was no answer in time.'}`] })
  return { summary: plain(words), parts }
}

/** Slack allows 25 buttons in a row. The page has all options and a text field. */
const optionsShown = 10

/** Granting a permission asks for confirmation, in case the button was pressed by accident. */
function answerButtons({ question_id, kind, title, detail, options }: Question, url: string): Button[] {
  const buttons = options.slice(0, optionsShown).map(({ value, label }, option): Button => {
    const isRefusal = ['reject', 'deny', 'deny_always'].includes(value)
    const confirm =
      kind === 'question' || isRefusal ? null : { title: `${label}?`, text: `${title} ${detail}`.trim(), yes: label }
    return { kind: 'answer', label, value: answerValueOf({ question_id, option }), confirm }
  })
  return [...buttons, { kind: 'link', label: buttons.length === 0 ? 'Answer' : 'Open the session', url }]
}

function answerOf({ answer, error }: Turn, isRunning: boolean, url: string): Message | null {
  const parts: Part[] = []
  if (answer !== null) parts.push({ kind: 'markdown', text: answer })
  if (answer !== null && answer.length >= answerCharsMax)
    parts.push({
      kind: 'note',
      words: ['Truncated. ', { link: url, text: 'Open the session for the full answer' }],
    })
  if (isRunning && answer !== null) parts.push({ kind: 'note', words: ['… still working'] })
  if (!isRunning && error !== null)
    parts.push({ kind: 'line', words: [{ bold: 'The agent failed' }, `: ${cut(error, errorCharsMax)}`] })
  if (parts.length === 0) return null
  const summary = cut(answer?.trim().split('\n')[0] ?? error ?? '', 150)
  return { summary, parts }
}
