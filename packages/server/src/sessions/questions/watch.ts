/** Watches the questions of one session for an event stream. Each change on any server is a project event, after which this reads the database. */
import type { Question, SessionEvent } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { getSession } from '../store.ts'
import { presentSession } from '../present.ts'
import { listQuestions, presentQuestion } from './store.ts'

type WatchDeps = Pick<Deps, 'db' | 'events' | 'config' | 'now' | 'log'>

/** More than can change between two reads or be open at once. */
const newestRead = 100

export function watchQuestions(
  deps: WatchDeps,
  { project_id: projectId, session_id: sessionId }: { project_id: string; session_id: string },
  send: (event: SessionEvent) => void,
) {
  let sent = new Map<string, string>()
  let unsubscribe: (() => void) | null = null
  let polling: Promise<void> = Promise.resolve()
  let isPending = false
  let isStopped = false
  const emit = (event: SessionEvent) => void (isStopped || send(event))

  async function read(): Promise<Question[]> {
    const now = deps.now()
    const { rows } = await listQuestions(deps.db, sessionId, { limit: newestRead, status: 'all', now })
    return rows.toReversed().map((row) => presentQuestion(row, now))
  }

  async function poll(): Promise<void> {
    const changed = (await read()).filter(({ question_id, status }) => (sent.get(question_id) ?? 'answered') !== status)
    if (changed.length === 0) return
    const session = await getSession(deps.db, projectId, sessionId)
    for (const question of changed) {
      sent.set(question.question_id, question.status)
      emit({ type: 'question', question })
    }
    if (session !== null) emit({ type: 'session', session: presentSession(deps.config, session) })
  }

  /** Events during a poll cause one more poll. */
  function pollSoon(): void {
    if (isPending || isStopped) return
    isPending = true
    polling = polling.then(async () => {
      isPending = false
      await poll().catch((error: unknown) =>
        deps.log.warn({ err: error, session_id: sessionId }, 'reading questions failed'),
      )
    })
  }

  return {
    /** The open questions, oldest first. `start` sends later changes. */
    async open(): Promise<SessionEvent[]> {
      const found = await read()
      sent = new Map(found.map((question) => [question.question_id, question.status]))
      return found.filter(({ status }) => status === 'open').map((question) => ({ type: 'question', question }))
    },
    start() {
      if (isStopped) return
      unsubscribe = deps.events.subscribe(projectId, pollSoon)
      pollSoon()
    },
    stop() {
      isStopped = true
      unsubscribe?.()
    },
  }
}
