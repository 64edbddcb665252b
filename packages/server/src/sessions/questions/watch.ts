/** Watches the questions of one session for an event stream. Each change on any server is a project event, after which this reads the database. */
import type { Question, SessionEvent } from '@svc/contract'
import type { Deps } from '../../deps.ts'
import { getSession } from '../store.ts'
import { presentSession } from '../present.ts'
import { listQuestions, presentQuestion } from './store.ts'

type WatchDeps = Pick<Deps, 'db' | 'events' | 'config' | 'now' | 'log'>

/** More than can change between two reads or be open at once. */
const newestRead = 100

export class QuestionsWatch {
  readonly #deps: WatchDeps
  readonly #of: { project_id: string; session_id: string }
  readonly #send: (event: SessionEvent) => void
  #sent = new Map<string, string>()
  #unsubscribe: (() => void) | null = null
  #polling: Promise<void> = Promise.resolve()
  #isPending = false
  #isStopped = false

  constructor(deps: WatchDeps, of: { project_id: string; session_id: string }, send: (event: SessionEvent) => void) {
    this.#deps = deps
    this.#of = of
    this.#send = send
  }

  /** The open questions, oldest first. `start` sends later changes. */
  async open(): Promise<SessionEvent[]> {
    const found = await this.#read()
    this.#sent = new Map(found.map((question) => [question.question_id, question.status]))
    return found.filter(({ status }) => status === 'open').map((question) => ({ type: 'question', question }))
  }

  start(): void {
    if (this.#isStopped) return
    this.#unsubscribe = this.#deps.events.subscribe(this.#of.project_id, () => this.#pollSoon())
    this.#pollSoon()
  }

  stop(): void {
    this.#isStopped = true
    this.#unsubscribe?.()
  }

  /** Events during a poll cause one more poll. */
  #pollSoon(): void {
    if (this.#isPending || this.#isStopped) return
    this.#isPending = true
    this.#polling = this.#polling.then(async () => {
      this.#isPending = false
      await this.#poll().catch((error: unknown) =>
        this.#deps.log.warn({ err: error, session_id: this.#of.session_id }, 'reading questions failed'),
      )
    })
  }

  async #poll(): Promise<void> {
    const changed = (await this.#read()).filter(
      ({ question_id, status }) => (this.#sent.get(question_id) ?? 'answered') !== status,
    )
    if (changed.length === 0) return
    const session = await getSession(this.#deps.db, this.#of.project_id, this.#of.session_id)
    for (const question of changed) {
      this.#sent.set(question.question_id, question.status)
      this.#emit({ type: 'question', question })
    }
    if (session !== null) this.#emit({ type: 'session', session: presentSession(this.#deps.config, session) })
  }

  async #read(): Promise<Question[]> {
    const now = this.#deps.now()
    const page = { limit: newestRead, status: 'all' as const, now }
    const { rows } = await listQuestions(this.#deps.db, this.#of.session_id, page)
    return rows.toReversed().map((row) => presentQuestion(row, now))
  }

  #emit(event: SessionEvent): void {
    if (!this.#isStopped) this.#send(event)
  }
}
