/** The questions of the runtime in one sandbox: its events and lists become rows, and answers go back to it. */
import type { Deps } from '../../deps.ts'
import { pause } from '../../pause.ts'
import type { Redactor } from '../../redaction/redaction.ts'
import { askRuntime, boundedText, type DaemonAddress } from '../daemon-client.ts'
import { readEvent, readList, replyOf, type Request, type RuntimeEvent } from './from-runtime.ts'
import { cutOption, type NewQuestion, openOfRuntime, openQuestions, settleQuestions } from './store.ts'

type QuestionDeps = Pick<Deps, 'db' | 'newId' | 'log'>

const listBytesMax = 4 * 1024 * 1024
const replyBytesMax = 64 * 1024
const replyMs = 15_000
/** Short, because the sandbox is about to end and a runtime that hangs must not delay that. */
const rejectMs = 2_000
const retryMs = 1_000
const triesMax = 30
/** Events that wait for the database. A runtime that sends more is read again as a list. */
const queuedMax = 1_000

const withdrawn = 'The agent no longer asks.'

export class AgentQuestions {
  readonly #deps: QuestionDeps
  readonly #daemon: DaemonAddress
  readonly #userId: string
  readonly #redactor: Redactor
  readonly #signal: AbortSignal
  /** One change at a time, in the order of the stream: a list that was read before an event is applied before it. */
  #work: Promise<void> = Promise.resolve()
  #queued = 0
  #isEnding = false

  constructor(
    deps: QuestionDeps,
    daemon: DaemonAddress,
    input: { userId: string; redactor: Redactor; signal: AbortSignal },
  ) {
    this.#deps = deps
    this.#daemon = daemon
    this.#userId = input.userId
    this.#redactor = input.redactor
    this.#signal = input.signal
  }

  /** False when the event is about something else. */
  take(event: unknown): boolean {
    const read = readEvent(event)
    if (read === null) return false
    // The rejections that end a session are not answers of a person.
    if (this.#queued < queuedMax && !this.#isEnding) this.#inTurn(() => this.#apply(read))
    return true
  }

  /** Brings the rows to what the runtime waits for: after a new connection, and at the end of a turn. */
  sync(): void {
    this.#inTurn(() => this.#sync())
  }

  /** Gives the runtime every request that is answered whole. */
  async deliver(): Promise<void> {
    const byRequest = Map.groupBy(await this.#open(), (row) => row.runtime_id)
    for (const [id, rows] of byRequest) {
      if (rows.some(({ answer }) => answer === null)) continue
      const kind = rows[0]!.kind === 'permission' ? 'permission' : 'question'
      const answered = rows.map((row) => ({ ...row, answer: row.answer ?? '', options: row.options as Choice[] }))
      const outcome = await this.#send(`/${kind}/${id}/reply`, replyOf(kind, answered), {
        userId: rows[0]!.answered_by ?? this.#userId,
        timeoutMs: replyMs,
      })
      if (outcome === 'taken') await this.#settle(id, { status: 'answered' })
      else if (outcome === 'refused') await this.#settle(id, { status: 'expired', reason: withdrawn })
    }
  }

  /** Refuses what is open, so that the runtime ends its turn in order. The rows are settled with the session. */
  async reject(reason: string): Promise<void> {
    this.#isEnding = true
    const open = await this.#open().catch((error: unknown) => {
      this.#deps.log.warn({ err: error, session_id: this.#daemon.sessionId }, 'open questions could not be refused')
      return []
    })
    const ids = new Map(open.map((row) => [row.runtime_id, row.kind]))
    const options = { userId: this.#userId, timeoutMs: rejectMs }
    await Promise.all(
      [...ids].map(([id, kind]) =>
        kind === 'permission'
          ? this.#send(`/permission/${id}/reply`, { reply: 'reject', message: reason }, options)
          : this.#send(`/question/${id}/reject`, {}, options),
      ),
    )
  }

  async settled(): Promise<void> {
    await this.#work
  }

  #inTurn(work: () => Promise<void>): void {
    this.#queued++
    this.#work = this.#work.then(() => this.#untilDone(work)).finally(() => void this.#queued--)
  }

  /** The database may be away for a moment; what the runtime asked stays asked. */
  async #untilDone(work: () => Promise<void>): Promise<void> {
    for (let tries = 0; tries < triesMax && !this.#signal.aborted; tries++) {
      try {
        return await work()
      } catch (error) {
        if (this.#signal.aborted) return
        this.#deps.log.warn(
          { err: error, session_id: this.#daemon.sessionId },
          'a question of an agent could not be recorded; trying again',
        )
        await pause(retryMs, this.#signal)
      }
    }
  }

  async #apply(event: RuntimeEvent): Promise<void> {
    switch (event.kind) {
      case 'asked':
        return this.#ask([event.request])
      case 'replied':
        return this.#settle(event.id, {
          status: 'answered',
          answer: event.answer === null ? null : this.#redactor.text(event.answer),
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
    // A runtime that does not answer says nothing about what it waits for, and at the end it waits for nothing.
    if (permissions === null || questions === null || this.#isEnding) return
    const asked = [...permissions, ...questions]
    await this.#ask(asked)
    const ids = new Set(asked.map(({ id }) => id))
    // Rows with an answer are being delivered; the delivery finds out whether the runtime still asks.
    const gone = (await this.#open()).filter((row) => !ids.has(row.runtime_id) && row.answer === null)
    for (const id of new Set(gone.map((row) => row.runtime_id)))
      await this.#settle(id, { status: 'expired', reason: withdrawn })
  }

  async #ask(requests: Request[]): Promise<void> {
    const asked = requests.flatMap((request) => this.#rowsOf(request))
    if (asked.length === 0) return
    const { sessionId, generation } = this.#daemon
    await this.#deps.db.transaction().execute((trx) => openQuestions(trx, { session_id: sessionId, generation }, asked))
  }

  #rowsOf({ id, kind, questions }: Request): NewQuestion[] {
    const text = (given: string) => this.#redactor.text(given)
    return questions.map(({ title, detail, options, multiple }, position) => ({
      ...{ question_id: this.#deps.newId(), kind, runtime_id: id, position, multiple, expires_at: null },
      title: text(title),
      detail: text(detail),
      options: options.map(({ value, label }) => ({ value: cutOption(text(value)), label: cutOption(text(label)) })),
    }))
  }

  #open() {
    const { sessionId, generation } = this.#daemon
    return openOfRuntime(this.#deps.db, { sessionId, generation })
  }

  async #settle(runtimeId: string, end: Parameters<typeof settleQuestions>[2]): Promise<void> {
    const { sessionId, generation } = this.#daemon
    await this.#deps.db.transaction().execute((trx) => settleQuestions(trx, { sessionId, generation, runtimeId }, end))
  }

  /** Null when it does not answer, or is a runtime without such a list. The next connection asks again. */
  async #list(kind: Request['kind']): Promise<Request[] | null> {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(replyMs)])
    try {
      const response = await askRuntime(this.#daemon, {
        ...{ method: 'GET', path: `/${kind}`, userId: this.#userId, role: 'member', signal },
      })
      const text = await boundedText(response, listBytesMax)
      return response.ok ? readList(kind, JSON.parse(text)) : null
    } catch (error) {
      this.#deps.log.debug({ err: error, session_id: this.#daemon.sessionId }, 'open questions could not be listed')
      return null
    }
  }

  /** `refused`: the runtime does not wait for it any more. `away`: nothing is known, and it is tried again. */
  async #send(
    path: string,
    body: object,
    { userId, timeoutMs }: { userId: string; timeoutMs: number },
  ): Promise<'taken' | 'refused' | 'away'> {
    try {
      const response = await askRuntime(this.#daemon, {
        ...{ method: 'POST', path, userId, role: 'member' },
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      })
      const said = await boundedText(response, replyBytesMax)
      if (response.ok) return 'taken'
      const { sessionId } = this.#daemon
      this.#deps.log.info(
        { session_id: sessionId, status: response.status, answer: this.#redactor.text(said.slice(0, 300)) },
        'the runtime did not take an answer',
      )
      return response.status === 404 || response.status === 400 ? 'refused' : 'away'
    } catch (error) {
      this.#deps.log.info({ err: error, session_id: this.#daemon.sessionId }, 'the runtime did not answer in time')
      return 'away'
    }
  }
}

type Choice = { value: string }
