/** One turn of a conversation, read from the event stream until the agent waits again or begins with another prompt. */
import type { Message, Question, Session, SessionEvent } from '@svc/sdk'
import { uuid } from '../arguments/find-one.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { endlessEvents, Outage } from '../event-stream.ts'
import { MessageChanges, type MessageListener } from './message-changes.ts'
import { promptCancelled, promptFailed } from './prompt-errors.ts'
import { isCancelled, watchQueue } from './queue-watch.ts'
import type { SessionClient } from '../requests.ts'
import { type NewPrompt, Sending, type Sent } from './sending.ts'

export interface Listener extends MessageListener {
  /** Every event but the messages of other turns. */
  event?(event: SessionEvent): void
  session?(session: Session): void
  /** A question was asked, answered or expired. */
  question?(question: Question): void
  turn?(status: 'busy' | 'idle' | 'error'): void
  /** The prompt waits for so many others. */
  waits?(ahead: number): void
  /** The id of the prompt while it waits, and null once the agent has it. */
  waiting?(promptId: string | null): void
}

/**
 * Sends `prompt` and follows its turn; without one, follows the session's first turn. Goes on while the server is away
 * and sends the prompt once.
 */
export async function followTurn(
  ctx: Pick<Context, 'io' | 'out' | 'next'>,
  at: SessionClient,
  prompt: NewPrompt | null,
  listener: Listener,
): Promise<void> {
  const { io } = ctx
  const sending = prompt === null ? null : new Sending(at, prompt, io.newId())
  const outage = new Outage(ctx, {
    isReached: true,
    hint: () => sending?.hint ?? 'The agent goes on without this client.',
    next: [ctx.next(`svc sessions watch ${at.id.slice(0, 8)}`)],
  })
  const [earlier, before] =
    prompt === null ? [[], null] : await outage.until(() => Promise.all([transcriptOf(at), at.get('')]))
  // The first prompt has the id of the session.
  const turn = new Turn({ earlier, before, promptId: prompt === null ? at.id : null }, listener)
  const leaving = new AbortController()
  const signal = AbortSignal.any([io.signal, leaving.signal])
  const leave = (reason: unknown) => leaving.abort(reason)
  const sent = (answer: Sent) => {
    try {
      if (turn.sent(answer)) return leave(isOver)
    } catch (error) {
      return leave(error)
    }
    if (answer.status === 'accepted') watchQueue(ctx, at, turn.queued(answer.prompt_id), signal).catch(leave)
  }
  const stream = endlessEvents(ctx, {
    ...{ of: 'the session', after: null, signal, outage },
    async open(headers) {
      const closing = new AbortController()
      const opened = await at.stream('/events', { headers, signal: AbortSignal.any([signal, closing.signal]) })
      // Only now, so that a fast answer is not missed. A prompt that fails ends the stream with its error.
      sending?.start(sent, (error) => closing.abort(error))
      return opened
    },
  })
  try {
    for await (const { data } of stream) {
      if (turn.take(JSON.parse(data) as SessionEvent)) return
      if (turn.isStopped) await outage.until(() => requireStarted(at))
      turn.isStopped = false
    }
  } catch (error) {
    const reason: unknown = leaving.signal.aborted ? leaving.signal.reason : error
    if (reason === isOver) return
    if (reason instanceof UndeliveredPrompt && (await isCancelled(at, reason.promptId, io.signal)))
      throw promptCancelled(ctx, at.id)
    throw reason instanceof UndeliveredPrompt ? promptFailed(reason.message) : reason
  } finally {
    leave(isOver)
  }
}

/** The turn was over before the server named its prompt. */
const isOver = Symbol('over')

/** The message of our prompt has the reason why the agent never got it. */
class UndeliveredPrompt extends Error {
  readonly promptId: string
  constructor(promptId: string, reason: string) {
    super(reason)
    this.promptId = promptId
  }
}

/** The state of one turn, from the events so far. */
class Turn {
  /** The prompt's own id, once it was sent. */
  #promptId: string | null
  /** The newest state of each message and the ends of turns, in order, until the id of our prompt is known. */
  readonly #held = new Map<string, SessionEvent>()
  /** The stream reported a stopped session; our prompt may have restarted it since. */
  isStopped = false
  readonly #known: ReadonlySet<string>
  /** The session before our prompt. */
  readonly #before: Session | null
  #session: Session | null = null
  /** The runtime's message that began the turn. */
  #ours: Message | null = null
  /** The sandbox names the prompts of its messages. One of an earlier version does not, and the next prompt counts as ours. */
  #namesPrompts: boolean
  readonly #listener: Listener
  readonly #changes: MessageChanges
  /** Whether answers belong to this turn: its prompt was seen, or none is expected. */
  #begun: boolean
  readonly #isPrompted: boolean
  #progress = false
  #answerError: string | null = null

  constructor(
    { earlier, before, promptId }: { earlier: readonly Message[]; before: Session | null; promptId: string | null },
    listener: Listener,
  ) {
    this.#known = new Set(earlier.map(({ message_id }) => message_id))
    this.#namesPrompts = earlier.some((message) => isDelivered(message) && message.prompt_id !== undefined)
    this.#before = before
    this.#listener = listener
    this.#changes = new MessageChanges(listener)
    this.#isPrompted = promptId === null
    this.#begun = !this.#isPrompted
    this.#promptId = promptId
  }

  /** Takes the events that came before the answer that names our prompt. True once the turn is over. */
  sent({ prompt_id: promptId }: Sent): boolean {
    this.#promptId = promptId
    const held = [...this.#held.values()]
    this.#held.clear()
    return held.some((event) => this.#takeOfTurn(event))
  }

  queued(promptId: string) {
    const isWaiting = () => !this.#begun
    if (isWaiting()) this.#listener.waiting?.(promptId)
    return {
      promptId,
      isWaiting,
      isAtWork: () => this.#session?.status === 'running' && this.#session.asleep_since == null,
      waits: (ahead: number) => {
        if (ahead > 0) this.#listener.waits?.(ahead)
      },
    }
  }

  /** True once the turn is over. */
  take(event: SessionEvent): boolean {
    if (event.type === 'session' || event.type === 'question') this.#listener.event?.(event)
    if (event.type === 'session') this.#takeSession(event.session)
    else if (event.type === 'question') this.#question(event.question)
    else if (event.type === 'turn') this.#listener.turn?.(event.status)
    if (event.type !== 'message' && event.type !== 'turn') return false
    if (this.#promptId !== null) return this.#takeOfTurn(event)
    this.#held.set(event.type === 'turn' ? `turn ${this.#held.size}` : event.message.message_id, event)
    return false
  }

  #takeOfTurn(event: SessionEvent): boolean {
    if (event.type === 'message') return this.#message(event.message)
    this.#listener.event?.(event)
    return event.type === 'turn' && this.#turn(event.status, event.error)
  }

  #takeSession(session: Session): void {
    this.#session = session
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

  /** True when the message begins the next turn. */
  #message(message: Message): boolean {
    if (this.#known.has(message.message_id)) return false
    if (message.role === 'user') return this.#prompt(message)
    if (!this.#begun || this.#isEarlier(message)) return false
    this.#listener.event?.({ type: 'message', message })
    this.#answerError = message.error
    if (message.completed_at !== null || message.error !== null) this.#progress = true
    this.#changes.take(message)
    return false
  }

  /** A new connection begins with recent messages, also of the turns before. */
  #isEarlier({ created_at: at }: Message): boolean {
    return this.#ours !== null && Date.parse(at) < Date.parse(this.#ours.created_at)
  }

  #prompt(message: Message): boolean {
    const { message_id: id, error, prompt_id: named } = message
    if (!isDelivered(message)) {
      // Another caller's prompt failed. The first turn of a session has only one prompt.
      if (this.#isPrompted ? id !== this.#promptId : (named ?? this.#promptId) !== this.#promptId) return false
      if (this.#isPrompted) throw new UndeliveredPrompt(id, error ?? '')
    } else if (named !== undefined) {
      this.#namesPrompts = true
      if (named !== this.#promptId) return this.#endsWith(message)
    } else if (this.#namesPrompts) return false
    this.#begin(message)
    return false
  }

  #begin(message: Message): void {
    this.#listener.event?.({ type: 'message', message })
    if (this.#isPrompted && !this.#begun) this.#listener.waiting?.(null)
    this.#ours ??= message
    this.#answerError = message.error
    // The agent is working on the prompt, so waiting again is the end of the turn, also after an early abort.
    if (!this.#begun || message.error !== null) this.#progress = true
    this.#begun = true
  }

  /** The agent begins with the next prompt without waiting in between. */
  #endsWith(next: Message): boolean {
    if (this.#ours === null || this.#isEarlier(next)) return false
    return this.#end(null)
  }

  #turn(status: 'busy' | 'idle' | 'error', error: string | null): boolean {
    if (!this.#begun) return false
    if (status === 'busy') {
      this.#progress = true
      return false
    }
    // The first event may say that the session waits, because the prompt is still in flight.
    if (!this.#progress && status === 'idle') return false
    return this.#end(status === 'error' ? (error ?? this.#answerError ?? 'The turn failed') : null)
  }

  #end(error: string | null): true {
    this.#changes.endText()
    const failed = error ?? this.#answerError
    if (failed !== null) throw new Refusal('turn_failed', failed)
    return true
  }
}

/** A prompt that the agent never got is a message with the prompt's id, which no message of the runtime has. */
function isDelivered({ role, message_id: id, error }: Message): boolean {
  return role === 'user' && (error === null || !uuid.test(id))
}

async function transcriptOf(at: SessionClient): Promise<Message[]> {
  return (await at.get('/transcript')).messages
}

async function requireStarted(at: SessionClient): Promise<void> {
  if ((await at.get('')).status !== 'stopped') return
  throw new Refusal('session_stopped', 'The session stopped before the agent answered', {
    detail: { session_id: at.id },
    next: [`svc sessions info ${at.id}`, `svc sessions restart ${at.id}`],
  })
}
