/** One turn of a conversation, read from the event stream until the agent waits again. */
import type { Message, Question, Session, SessionEvent } from '@svc/sdk'
import { ServiceError } from '@svc/contract/errors'
import type { NewAttachment } from './attachments.ts'
import { Refusal } from '../errors.ts'
import { streamedEvents } from '../event-stream.ts'
import type { Io } from '../io.ts'
import { MessageChanges, type MessageListener } from './message-changes.ts'
import type { SessionClient } from '../requests.ts'

const reconnectsMax = 5

export interface Listener extends MessageListener {
  event?(event: SessionEvent): void
  session?(session: Session): void
  /** A question was asked, answered or expired. */
  question?(question: Question): void
  turn?(status: 'busy' | 'idle' | 'error'): void
}

export interface NewPrompt {
  text: string
  attachments?: NewAttachment[]
}

/**
 * Sends `prompt` and follows its turn; without one, follows the session's first turn. Opens the stream first, so that
 * a fast answer is not missed.
 */
export async function followTurn(
  io: Pick<Io, 'newId' | 'signal' | 'sleep'>,
  at: SessionClient,
  prompt: NewPrompt | null,
  listener: Listener,
): Promise<void> {
  const [known, before] =
    prompt === null ? [new Set<string>(), null] : await Promise.all([knownMessages(at), at.get('')])
  const turn = new Turn({ known, before, prompted: prompt !== null }, listener)
  let prompted = prompt === null
  for (let failures = 0; ;) {
    const closing = new AbortController()
    try {
      const stream = await at.stream('/events', {
        headers: { Accept: 'text/event-stream' },
        signal: AbortSignal.any([io.signal, closing.signal]),
      })
      if (!prompted) {
        const sent = await at.post('/prompt', { once: true, body: prompt! })
        if (sent.status === 'failed') throw promptFailed(sent.error?.message ?? null)
        turn.promptId = sent.prompt_id
        prompted = true
      }
      for await (const event of events(stream)) {
        failures = 0
        listener.event?.(event)
        if (turn.take(event)) return
        if (turn.isStopped) await requireStarted(at)
        turn.isStopped = false
      }
    } catch (error) {
      if (io.signal.aborted || !prompted || error instanceof ServiceError) throw error
      if (error instanceof Refusal && error.code !== 'unreachable') throw error
      if (++failures > reconnectsMax) throw error
    } finally {
      closing.abort()
    }
    // The stream ended before the turn did; the next connection begins with the missed events.
    await io.sleep(Math.min(250 * 2 ** failures, 4000))
  }
}

/** The state of one turn, from the events so far. */
class Turn {
  /** The prompt's own id, once it was sent. */
  promptId: string | null = null
  /** The stream reported a stopped session; our prompt may have restarted it since. */
  isStopped = false
  #known: ReadonlySet<string>
  /** The session before our prompt. */
  #before: Session | null
  /** The runtime's message that began the turn. */
  #ours: string | null = null
  #listener: Listener
  #changes: MessageChanges
  /** Whether answers belong to this turn: its prompt was seen, or none is expected. */
  #begun: boolean
  readonly #isPrompted: boolean
  #progress = false
  #answerError: string | null = null

  constructor(
    { known, before, prompted }: { known: ReadonlySet<string>; before: Session | null; prompted: boolean },
    listener: Listener,
  ) {
    this.#known = known
    this.#before = before
    this.#listener = listener
    this.#changes = new MessageChanges(listener)
    this.#begun = !prompted
    this.#isPrompted = prompted
  }

  /** True once the turn is over. */
  take(event: SessionEvent): boolean {
    if (event.type === 'session') this.#session(event.session)
    else if (event.type === 'message') this.#message(event.message)
    else if (event.type === 'question') this.#question(event.question)
    else if (event.type === 'turn') return this.#turn(event.status, event.error)
    return false
  }

  #session(session: Session): void {
    this.#listener.session?.(session)
    const isAsBefore = this.#before?.status === session.status && this.#before.updated_at === session.updated_at
    this.isStopped = session.status === 'stopped' && !isAsBefore
    // A prompt restarts a failed session, and the stream may begin with the old state.
    if (session.status === 'failed' && !isAsBefore)
      throw new Refusal('session_failed', session.error ?? 'The session failed', {
        detail: { session_id: session.session_id },
        next: [`svc sessions info ${session.session_id}`, `svc sessions restart ${session.session_id}`],
      })
  }

  #question(question: Question): void {
    this.#changes.endText()
    this.#listener.question?.(question)
  }

  #message(message: Message): void {
    if (this.#known.has(message.message_id)) return
    if (message.role === 'user') {
      if (message.message_id === this.promptId && message.error !== null) throw promptFailed(message.error)
      // Another caller's prompt failed. The first turn of a session has only one prompt.
      if (message.error !== null && message.message_id !== this.#ours && this.#isPrompted) return
      this.#ours ??= message.message_id
      this.#answerError = message.error
      if (message.error !== null) this.#progress = true
      // The agent is working on the prompt, so waiting again is the end of the turn, also after an early abort.
      if (!this.#begun) this.#progress = true
      this.#begun = true
      return
    }
    if (!this.#begun) return
    this.#answerError = message.error
    if (message.completed_at !== null || message.error !== null) this.#progress = true
    this.#changes.take(message)
  }

  #turn(status: 'busy' | 'idle' | 'error', error: string | null): boolean {
    this.#listener.turn?.(status)
    if (!this.#begun) return false
    if (status === 'busy') {
      this.#progress = true
      return false
    }
    // The first event may say that the session waits, because the prompt is still in flight.
    if (!this.#progress && status === 'idle') return false
    this.#changes.endText()
    const failed = status === 'error' ? (error ?? this.#answerError ?? 'The turn failed') : this.#answerError
    if (failed !== null) throw new Refusal('turn_failed', failed)
    return true
  }
}

async function knownMessages(at: SessionClient): Promise<Set<string>> {
  const { messages } = await at.get('/transcript')
  return new Set(messages.map((message) => message.message_id))
}

async function requireStarted(at: SessionClient): Promise<void> {
  if ((await at.get('')).status !== 'stopped') return
  throw new Refusal('session_stopped', 'The session stopped before the agent answered', {
    detail: { session_id: at.id },
    next: [`svc sessions info ${at.id}`, `svc sessions restart ${at.id}`],
  })
}

const promptFailed = (reason: string | null) =>
  new Refusal('prompt_failed', reason ?? 'The agent did not accept the prompt')

async function* events(stream: ReadableStream<Uint8Array>): AsyncGenerator<SessionEvent> {
  for await (const { data } of streamedEvents(stream, 'the session')) yield JSON.parse(data) as SessionEvent
}

export function filesOf(message: Message): string[] {
  return message.parts.flatMap((part) => (part.type === 'file' ? [part.name] : []))
}
