/** Syncs the questions of the runtime in one sandbox with the database, and delivers answers. */
import type { Deps } from '../../deps.ts'
import { pause } from '../../pause.ts'
import type { Redactor } from '../../redaction/redaction.ts'
import { requestRuntime, boundedText, type DaemonAddress } from '../../sandboxes/daemon-client.ts'
import { readEvent, readList, replyOf, type Request, type RuntimeEvent } from './from-runtime.ts'
import { cutOption, type NewQuestion, openOfRuntime, openQuestions, reconcileQuestions } from './store.ts'

type QuestionDeps = Pick<Deps, 'db' | 'newId' | 'log'>

const listBytesMax = 4 * 1024 * 1024
const replyBytesMax = 64 * 1024
const replyMs = 15_000
/** Short, so that a hung runtime does not delay the end of its sandbox. */
const rejectMs = 2_000
const retryMs = 1_000
const triesMax = 30
/** The limit of queued events. Dropped events are found later, in the list of open questions. */
const queuedMax = 1_000

const withdrawn = 'The agent withdrew the question.'

interface Of {
  userId: string
  redactor: Redactor
  signal: AbortSignal
  /** Resolves once readers saw all text so far. */
  shown(): Promise<void>
}

export class AgentQuestions {
  readonly #deps: QuestionDeps
  readonly #daemon: DaemonAddress
  readonly #of: Of
  /** Applies one change at a time, in the order of the stream. */
  #work: Promise<void> = Promise.resolve()
  #queued = 0
  #isEnding = false

  constructor(deps: QuestionDeps, daemon: DaemonAddress, of: Of) {
    this.#deps = deps
    this.#daemon = daemon
    this.#of = of
  }

  /** False when the event is about something else. */
  take(event: unknown): boolean {
    const read = readEvent(event)
    if (read === null) return false
    // Rejections at the end of a session are not answers of a person.
    if (this.#queued < queuedMax && !this.#isEnding) this.#enqueue(() => this.#apply(read))
    return true
  }

  /** Updates the rows to match the open questions of the runtime: after a new connection, and at the end of a turn. */
  sync(): void {
    this.#enqueue(() => this.#sync())
  }

  /** Delivers every request whose questions are all answered. */
  async deliver(): Promise<void> {
    const byRequest = Map.groupBy(await this.#open(), (row) => row.runtime_id)
    for (const [id, rows] of byRequest) {
      if (rows.some(({ answer }) => answer === null)) continue
      const kind = rows[0]!.kind === 'permission' ? 'permission' : 'question'
      const answered = rows.map((row) => ({ ...row, answer: row.answer ?? '', options: row.options as Choice[] }))
      const outcome = await this.#send(`/${kind}/${id}/reply`, replyOf(kind, answered), {
        userId: rows[0]!.answered_by ?? this.#of.userId,
        timeoutMs: replyMs,
      })
      if (outcome === 'taken') await this.#settle(id, { status: 'answered' })
      else if (outcome === 'refused') await this.#settle(id, { status: 'expired', reason: withdrawn })
    }
  }

  /** Rejects open questions, so that the runtime ends its turn. The rows expire with the session. */
  async reject(reason: string): Promise<void> {
    this.#isEnding = true
    const open = await this.#open().catch((error: unknown) => {
      this.#deps.log.warn({ err: error, session_id: this.#daemon.sessionId }, 'rejecting open questions failed')
      return []
    })
    const ids = new Map(open.map((row) => [row.runtime_id, row.kind]))
    const options = { userId: this.#of.userId, timeoutMs: rejectMs }
    await Promise.all(
      [...ids].map(([id, kind]) =>
        kind === 'permission'
          ? this.#send(`/permission/${id}/reply`, { reply: 'reject', message: reason }, options)
          : this.#send(`/question/${id}/reject`, {}, options),
      ),
    )
  }

  async finished(): Promise<void> {
    await this.#work
  }

  #enqueue(work: () => Promise<void>): void {
    this.#queued++
    this.#work = this.#work.then(() => this.#untilDone(work)).finally(() => void this.#queued--)
  }

  /** Retries while the database is unavailable. */
  async #untilDone(work: () => Promise<void>): Promise<void> {
    for (let tries = 0; tries < triesMax && !this.#of.signal.aborted; tries++) {
      try {
        return await work()
      } catch (error) {
        if (this.#of.signal.aborted) return
        this.#deps.log.warn(
          { err: error, session_id: this.#daemon.sessionId },
          'recording a question of an agent failed; retrying',
        )
        await pause(retryMs, this.#of.signal)
      }
    }
  }

  async #apply(event: RuntimeEvent): Promise<void> {
    switch (event.kind) {
      case 'asked':
        // Readers see the text before the question first.
        await this.#of.shown()
        return this.#insert([event.request])
      case 'replied':
        return this.#settle(event.id, {
          status: 'answered',
          answer: event.answer === null ? null : this.#of.redactor.text(event.answer),
        })
      case 'rejected':
        return this.#settle(event.id, { status: 'expired', reason: withdrawn })
      default:
        return event satisfies never
    }
  }

  async #sync(): Promise<void> {
    const permissions = await this.#list('permission')
    const questions = await this.#list('question')
    // Without a reply, the open questions of the runtime are unknown. At the end it has none.
    if (permissions === null || questions === null || this.#isEnding) return
    const open = [...permissions, ...questions]
    await this.#insert(open)
    const ids = new Set(open.map(({ id }) => id))
    // The delivery of answered rows finds out whether the runtime still waits.
    const gone = (await this.#open()).filter((row) => !ids.has(row.runtime_id) && row.answer === null)
    for (const id of new Set(gone.map((row) => row.runtime_id)))
      await this.#settle(id, { status: 'expired', reason: withdrawn })
  }

  async #insert(requests: Request[]): Promise<void> {
    const rows = requests.flatMap((request) => this.#rowsOf(request))
    if (rows.length === 0) return
    const { sessionId, generation } = this.#daemon
    await this.#deps.db.transaction().execute((trx) => openQuestions(trx, { session_id: sessionId, generation }, rows))
  }

  #rowsOf({ id, kind, questions }: Request): NewQuestion[] {
    const text = (given: string) => this.#of.redactor.text(given)
    return questions.map(({ title, detail, note, options, multiple }, position) => ({
      ...{ question_id: this.#deps.newId(), kind, runtime_id: id, position, multiple, expires_at: null },
      title: text(title),
      detail: text(detail),
      note: text(note),
      options: options.map(({ value, label }) => ({ value: cutOption(text(value)), label: cutOption(text(label)) })),
    }))
  }

  #open() {
    const { sessionId, generation } = this.#daemon
    return openOfRuntime(this.#deps.db, { sessionId, generation })
  }

  async #settle(runtimeId: string, end: Parameters<typeof reconcileQuestions>[2]): Promise<void> {
    const { sessionId, generation } = this.#daemon
    await this.#deps.db
      .transaction()
      .execute((trx) => reconcileQuestions(trx, { sessionId, generation, runtimeId }, end))
  }

  /** Null when the runtime is unavailable or has no such list. The next connection retries. */
  async #list(kind: Request['kind']): Promise<Request[] | null> {
    const signal = AbortSignal.any([this.#of.signal, AbortSignal.timeout(replyMs)])
    try {
      const response = await requestRuntime(this.#daemon, {
        ...{ method: 'GET', path: `/${kind}`, userId: this.#of.userId, role: 'member', signal },
      })
      const text = await boundedText(response, listBytesMax)
      return response.ok ? readList(kind, JSON.parse(text)) : null
    } catch (error) {
      this.#deps.log.debug({ err: error, session_id: this.#daemon.sessionId }, 'listing open questions failed')
      return null
    }
  }

  /** `refused`: the runtime no longer waits for the answer. `unavailable`: unknown; the delivery is retried. */
  async #send(
    path: string,
    body: object,
    { userId, timeoutMs }: { userId: string; timeoutMs: number },
  ): Promise<'taken' | 'refused' | 'unavailable'> {
    try {
      const response = await requestRuntime(this.#daemon, {
        ...{ method: 'POST', path, userId, role: 'member' },
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      })
      const reply = await boundedText(response, replyBytesMax)
      if (response.ok) return 'taken'
      const { sessionId } = this.#daemon
      this.#deps.log.info(
        { session_id: sessionId, status: response.status, answer: this.#of.redactor.text(reply.slice(0, 300)) },
        'the runtime refused an answer',
      )
      return response.status === 404 || response.status === 400 ? 'refused' : 'unavailable'
    } catch (error) {
      this.#deps.log.info({ err: error, session_id: this.#daemon.sessionId }, 'the runtime did not answer in time')
      return 'unavailable'
    }
  }
}

type Choice = { value: string }
