/** Prints the last messages of a conversation, then each new one. */
import type { Message, Question, Session, SessionEvent } from '@svc/sdk'
import { uuid } from '../arguments/find-one.ts'
import type { Context } from '../context.ts'
import { filesOf } from './attachments.ts'
import { Refusal } from '../errors.ts'
import { endlessEvents, Outage } from '../event-stream.ts'
import { MessageChanges, type MessageListener } from './message-changes.ts'
import type { SessionClient } from '../requests.ts'

export interface WatchListener extends MessageListener {
  event?(event: SessionEvent): void
  /** A message to the agent; `by` holds its author and time, if known. */
  prompt?(text: string, by?: string, files?: readonly string[]): void
  /** The error of a prompt or a turn. */
  failed?(reason: string): void
  session?(session: Session): void
  question?(question: Question): void
  turn?(status: 'busy' | 'idle' | 'error'): void
}

interface WatchOptions {
  /** The number of messages shown at the start. */
  messages: number
  /** Resolves when no turn runs, and throws the error of a failed one. Otherwise only `signal` ends it. */
  untilIdle: boolean
  signal: AbortSignal
}

export async function watchConversation(
  ctx: Pick<Context, 'io' | 'out' | 'next'>,
  at: SessionClient,
  { messages, untilIdle, signal }: WatchOptions,
  listener: WatchListener,
): Promise<void> {
  const closing = new AbortController()
  const ends = AbortSignal.any([signal, closing.signal])
  const outage = new Outage(ctx, {
    isReached: true,
    hint: () => 'The agent goes on without this client.',
    next: [ctx.next(`svc sessions watch ${at.id.slice(0, 8)}`)],
  })
  const stream = endlessEvents(ctx, {
    ...{ of: 'the session', after: null, signal: ends, outage },
    open: (headers) => at.stream('/events', { query: { messages }, headers, signal: ends }),
  })
  const said = new Said(listener, untilIdle)
  try {
    for await (const { data } of stream) {
      const event = JSON.parse(data) as SessionEvent
      listener.event?.(event)
      if (said.take(event) && untilIdle) return
    }
  } finally {
    closing.abort()
  }
}

/** The error of an undelivered prompt is on a message with the prompt's id, which no runtime message has. */
function isUndelivered({ role, error, message_id: id }: Message): boolean {
  return role === 'user' && error !== null && uuid.test(id)
}

class Said {
  readonly #listener: WatchListener
  readonly #changes: MessageChanges
  readonly #prompts = new Set<string>()
  readonly #shown = new Set<string>()
  /** The status of each question, since a new connection begins with the open ones. */
  readonly #questions = new Map<string, Question['status']>()
  /** The last error printed in this turn: both the end of the turn and a message may report it. */
  #lastReason: string | null = null
  /** An error that the end of a turn reported before its message did. */
  #ofNoMessage: string | null = null
  /** The error of the newest message in the running turn, printed at its end. */
  #held: { messageId: string; reason: string } | null = null
  #isBusy = false
  readonly #untilIdle: boolean

  constructor(listener: WatchListener, untilIdle: boolean) {
    this.#listener = listener
    this.#changes = new MessageChanges(listener)
    this.#untilIdle = untilIdle
  }

  /** True at the end of a turn, and when none runs. */
  take(event: SessionEvent): boolean {
    if (event.type === 'turn') return this.#turn(event.status, event.error)
    if (event.type === 'message') this.#message(event.message)
    else if (event.type === 'session') this.#listener.session?.(event.session)
    else this.#question(event.question)
    return false
  }

  #message(message: Message): void {
    const { message_id: messageId, error: reason } = message
    if (this.#held !== null && this.#held.messageId !== messageId) this.#showHeld()
    if (message.role === 'user') this.#prompt(message)
    else this.#changes.take(message)
    if (reason === null || this.#shown.has(messageId)) return
    if (this.#isBusy && !isUndelivered(message)) this.#held = { messageId, reason }
    else if (reason === this.#ofNoMessage) {
      this.#shown.add(messageId)
      this.#ofNoMessage = null
    } else this.#show(reason, messageId)
  }

  #prompt(message: Message): void {
    if (this.#prompts.has(message.message_id)) return
    // The runtime sends a message before its text.
    const texts = message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    if (texts.length === 0) return
    this.#prompts.add(message.message_id)
    this.#changes.endText()
    this.#listener.prompt?.(texts.join('\n'), undefined, filesOf(message))
  }

  #question(question: Question): void {
    const { question_id: id, status } = question
    if (this.#questions.get(id) === status) return
    this.#questions.set(id, status)
    this.#changes.endText()
    this.#listener.question?.(question)
  }

  #turn(status: 'busy' | 'idle' | 'error', error: string | null): boolean {
    if (status !== 'busy') this.#changes.endText()
    this.#listener.turn?.(status)
    if (status === 'busy') {
      if (!this.#isBusy) this.#lastReason = this.#ofNoMessage = null
      this.#isBusy = true
      return false
    }
    const held = this.#held
    const failed = status === 'error' || held !== null
    const reason = (status === 'error' ? error : null) ?? held?.reason ?? 'The turn failed'
    this.#isBusy = false
    if (failed && this.#untilIdle) throw new Refusal('turn_failed', reason)
    if (failed && (held !== null || reason !== this.#lastReason)) this.#show(reason, held?.messageId ?? null)
    this.#held = null
    return true
  }

  #showHeld(): void {
    if (this.#held !== null) this.#show(this.#held.reason, this.#held.messageId)
    this.#held = null
  }

  #show(reason: string, messageId: string | null): void {
    if (messageId === null) this.#ofNoMessage = reason
    else this.#shown.add(messageId)
    this.#lastReason = reason
    this.#changes.endText()
    this.#listener.failed?.(reason)
  }
}
