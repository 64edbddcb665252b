/** Brings a thread to what its session is: one message for its state, one for each answer, edited as they change. */
import type { Question } from '@svc/contract'
import type { Deps } from '../deps.ts'
import type { Db, DbOrTransaction } from '../db/schema.ts'
import { getProject, type ProjectRow } from '../projects/store.ts'
import { listQuestions, presentQuestion } from '../sessions/questions/store.ts'
import { getSessionById, type SessionRow, type SessionWithSandbox } from '../sessions/store.ts'
import { wipOf, type WipRow } from '../sessions/wip-store.ts'
import { answerCharsMax, newestTurns, type Turn } from './conversation-store.ts'
import { cut, type Message, type Part, plain, type Word } from './message.ts'
import { want } from './outbox-store.ts'
import { type ChannelRow, getChannel, setThread, type ThreadRow, threadsToTell } from './store.ts'

type TellDeps = Pick<Deps, 'db' | 'config' | 'newId' | 'now' | 'log'>

const threadsAtOnce = 50
/** A thread is told again within a second of any change; nobody asks more than that in between. */
const turnsTold = 3
/** More are rarely open at once. */
const questionsTold = 5

/** The job. A thread that cannot be told stops no other. */
export async function tellSessions(deps: TellDeps): Promise<void> {
  for (const { thread_id, state } of await threadsToTell(deps.db, threadsAtOnce))
    await tellThread(deps, thread_id, state).catch((error: unknown) =>
      deps.log.warn({ err: error, thread_id }, 'a chat thread could not be told of its session'),
    )
}

interface Place {
  channel: ChannelRow
  project: ProjectRow
  thread: ThreadRow
  session: SessionRow & Partial<Pick<SessionWithSandbox, 'is_waiting'>>
}

async function tellThread(deps: TellDeps, threadId: string, state: string): Promise<void> {
  const place = await placeOf(deps.db, threadId)
  if (place === null) return
  const { session } = place
  const turns = await newestTurns(deps.db, session.session_id, turnsTold)
  const [work = null] = await wipOf(deps.db, session.session_id)
  const now = deps.now()
  const page = { limit: questionsTold, status: 'all' as const, now }
  const questions = (await listQuestions(deps.db, session.session_id, page)).rows.toReversed()
  await deps.db.transaction().execute(async (trx) => {
    await want(trx, stateMessage(deps, place, work))
    for (const [index, turn] of turns.entries()) {
      const isUnderWay = index === turns.length - 1 && session.is_busy
      const body = answerOf(turn, isUnderWay, sessionUrl(deps, place))
      if (body !== null) await want(trx, { ...at(deps, place, `turn ${turn.message_id}`), kind: 'answer', body })
    }
    for (const row of questions) {
      const body = questionMessage(presentQuestion(row, now), sessionUrl(deps, place))
      await want(trx, { ...at(deps, place, `question ${row.question_id}`), kind: 'answer', body })
    }
    await setThread(trx, threadId, { told: state })
  })
}

async function placeOf(db: Db, threadId: string): Promise<Place | null> {
  const thread = await db.selectFrom('channel_threads').selectAll().where('thread_id', '=', threadId).executeTakeFirst()
  if (thread?.session_id == null) return null
  const channel = await getChannel(db, thread.channel_id)
  const session = await getSessionById(db, thread.session_id)
  const project = channel === null ? null : await getProject(db, channel.project_id)
  return channel === null || session === null || project === null ? null : { channel, project, thread, session }
}

/** The first word of a thread, in the transaction that begins it, so that nothing is told before it. */
export async function sayStarting(
  deps: Pick<Deps, 'config' | 'newId'>,
  trx: DbOrTransaction,
  place: Place,
): Promise<void> {
  await want(trx, stateMessage(deps, place, null))
}

function at(deps: Pick<Deps, 'newId'>, { channel, thread }: Place, key: string) {
  return {
    message_id: deps.newId(),
    channel_id: channel.channel_id,
    message_key: `${thread.thread_key} ${key}`,
    thread_key: thread.thread_key,
    thread_id: thread.thread_key,
  }
}

export function sessionUrl(
  { config }: Pick<Deps, 'config'>,
  { project, session }: { project: ProjectRow; session: Pick<SessionRow, 'session_id'> },
): string {
  return `${config.publicUrl}/projects/${project.slug}/sessions/${session.session_id}`
}

function stateMessage(deps: Pick<Deps, 'config' | 'newId'>, place: Place, work: WipRow | null) {
  const { session, thread } = place
  const words: Word[] = [{ link: sessionUrl(deps, place), text: session.name }, ' · ', ...stateWords(session)]
  const note: Word[] = [`agent ${session.agent_name}, started by `, { person: thread.chat_user_id }]
  const parts: Part[] = [
    { kind: 'line', words },
    { kind: 'note', words: note },
  ]
  const left = unfinished(session, work)
  if (left !== null) parts.push({ kind: 'note', words: left })
  const body: Message = { summary: plain(words), parts }
  return { ...at(deps, place, 'state'), kind: 'state' as const, body }
}

const errorCharsMax = 600

function stateWords(session: Place['session']): Word[] {
  const why = session.error === null ? '' : cut(session.error, errorCharsMax)
  switch (session.status) {
    case 'queued':
    case 'branching':
    case 'provisioning':
      return ['starting…']
    case 'running':
      if (why !== '') return [{ bold: 'in trouble' }, `: ${why}`]
      if (session.is_waiting === true) return [{ bold: 'waiting for you' }, ': the agent asks below']
      return session.is_busy ? ['working…'] : [{ bold: 'needs you' }, ': reply in this thread to go on']
    case 'stopped':
      return [`stopped${why === '' ? '' : ` (${why})`}; a reply in this thread starts it again`]
    case 'failed':
      return [{ bold: 'failed' }, `: ${why === '' ? 'nobody knows why' : why}`]
    case 'completed':
      return ['completed']
    default:
      return session.status satisfies never
  }
}

/** While it runs it may still be pushed; once it ended somebody has to say what becomes of it. */
function unfinished(session: SessionRow, work: WipRow | null): Word[] | null {
  const hasEnded = session.status === 'stopped' || session.status === 'failed'
  if (!hasEnded || work === null || work.recovered_at !== null || work.files + work.unpushed_commits === 0) return null
  const count = (n: number, what: string) => (n === 0 ? [] : [`${n} ${what}${n === 1 ? '' : 's'}`])
  const left = [...count(work.files, 'changed file'), ...count(work.unpushed_commits, 'commit')].join(' and ')
  return [
    { bold: 'Unfinished work' },
    `: ${left} never pushed. `,
    { code: `svc sessions recover ${session.session_id.slice(0, 8)}` },
  ]
}

/** A question with a link to its answer while it is open, and with its answer afterwards. Its text is an agent's, so none of it is markup. */
function questionMessage({ kind, title, detail, options, status, answer, reason }: Question, url: string): Message {
  const asks = kind === 'question' ? 'The agent asks' : 'The agent asks for permission'
  const words: Word[] = [{ bold: asks }, `: ${title}`]
  const parts: Part[] = [{ kind: 'line', words }]
  if (detail !== '') parts.push({ kind: 'note', words: [cut(detail, errorCharsMax)] })
  const label = options.find(({ value }) => value === answer)?.label ?? answer ?? 'in the sandbox'
  if (status === 'open') parts.push({ kind: 'buttons', buttons: [{ kind: 'link', label: 'Answer', url }] })
  else if (status === 'answered') parts.push({ kind: 'note', words: ['Answered: ', cut(label, errorCharsMax)] })
  else parts.push({ kind: 'note', words: [`Expired: ${reason ?? 'there was no answer.'}`] })
  return { summary: plain(words), parts }
}

function answerOf({ answer, error }: Turn, isUnderWay: boolean, url: string): Message | null {
  const parts: Part[] = []
  if (answer !== null) parts.push({ kind: 'markdown', text: answer })
  if (answer !== null && answer.length >= answerCharsMax)
    parts.push({
      kind: 'note',
      words: ['Cut here. ', { link: url, text: 'The whole answer is on the page of the session' }],
    })
  if (isUnderWay && answer !== null) parts.push({ kind: 'note', words: ['… still at work'] })
  if (!isUnderWay && error !== null)
    parts.push({ kind: 'line', words: [{ bold: 'The agent could not go on' }, `: ${cut(error, errorCharsMax)}`] })
  if (parts.length === 0) return null
  const summary = cut(answer?.trim().split('\n')[0] ?? error ?? '', 150)
  return { summary, parts }
}
