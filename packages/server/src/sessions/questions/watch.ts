/** Questions of one session for a reader of its event stream. They change on any server, and each change is an event of the project, so that wakes us and the database is read. */
import type { Question, SessionEvent } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { getSession, presentSession } from '../store.ts'
import { listQuestions, presentQuestion } from './store.ts'

type WatchDeps = Pick<Deps, 'db' | 'events' | 'config' | 'now' | 'log'>

/** More than can change between two reads, and more than is ever open. */
const newestRead = 100

export class QuestionsWatch {
  readonly #deps: WatchDeps
  readonly #of: { project_id: string; session_id: string }
  readonly #tell: (event: SessionEvent) => void
  /** Statuses as the reader knows them. */
  #told = new Map<string, string>()
  #unsubscribe: (() => void) | null = null
  #looking: Promise<void> = Promise.resolve()
  #isAsked = false
  #isStopped = false

  constructor(deps: WatchDeps, of: { project_id: string; session_id: string }, tell: (event: SessionEvent) => void) {
    this.#deps = deps
    this.#of = of
    this.#tell = tell
  }

  /** The open questions, oldest first. Later changes are sent once `start` was called. */
  async open(): Promise<SessionEvent[]> {
    const found = await this.#read()
    this.#told = new Map(found.map((question) => [question.question_id, question.status]))
    return found.filter(({ status }) => status === 'open').map((question) => ({ type: 'question', question }))
  }

  start(): void {
    if (this.#isStopped) return
    this.#unsubscribe = this.#deps.events.subscribe(this.#of.project_id, () => this.#lookSoon())
    this.#lookSoon()
  }

  stop(): void {
    this.#isStopped = true
    this.#unsubscribe?.()
  }

  /** Wakes that come while it looks are one more look. */
  #lookSoon(): void {
    if (this.#isAsked || this.#isStopped) return
    this.#isAsked = true
    this.#looking = this.#looking.then(async () => {
      this.#isAsked = false
      await this.#look().catch((error: unknown) =>
        this.#deps.log.warn({ err: error, session_id: this.#of.session_id }, 'questions could not be read'),
      )
    })
  }

  async #look(): Promise<void> {
    const changed = (await this.#read()).filter(
      ({ question_id, status }) => (this.#told.get(question_id) ?? 'answered') !== status,
    )
    if (changed.length === 0) return
    // `waiting_for` changes with its questions.
    const session = await getSession(this.#deps.db, this.#of.project_id, this.#of.session_id)
    for (const question of changed) {
      this.#told.set(question.question_id, question.status)
      this.#say({ type: 'question', question })
    }
    if (session !== null) this.#say({ type: 'session', session: presentSession(this.#deps.config, session) })
  }

  async #read(): Promise<Question[]> {
    const now = this.#deps.now()
    const page = { limit: newestRead, status: 'all' as const, now }
    const { rows } = await listQuestions(this.#deps.db, this.#of.session_id, page)
    return rows.toReversed().map((row) => presentQuestion(row, now))
  }

  #say(event: SessionEvent): void {
    if (!this.#isStopped) this.#tell(event)
  }
}
