/** One turn of a conversation, read from the event stream until the agent waits again. */
import type { Message, Question, Session, SessionEvent } from '@svc/sdk'
import type { NewAttachment } from './attachments.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { endlessEvents, Outage } from '../event-stream.ts'
import { MessageChanges, type MessageListener } from './message-changes.ts'
import type { SessionClient } from '../requests.ts'

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
  /** From this prompt on. */
  agent?: string
  /** From this prompt on; null is the default model. */
  model?: string | null
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
  const [known, before] =
    prompt === null ? [new Set<string>(), null] : await outage.until(() => Promise.all([knownMessages(at), at.get('')]))
  const turn = new Turn({ known, before, prompted: prompt !== null }, listener)
  const leaving = new AbortController()
  const signal = AbortSignal.any([io.signal, leaving.signal])
  const stream = endlessEvents(ctx, {
    ...{ of: 'the session', after: null, signal, outage },
    async open(headers) {
      const closing = new AbortController()
      const opened = await at.stream('/events', { headers, signal: AbortSignal.any([signal, closing.signal]) })
      // Only now, so that a fast answer is not missed. A prompt that fails ends the stream with its error.
      sending?.start(turn.sent, (error) => closing.abort(error))
      return opened
    },
  })
  try {
    for await (const { data } of stream) {
      const event = JSON.parse(data) as SessionEvent
      listener.event?.(event)
      if (turn.take(event)) return
      if (turn.isStopped) await outage.until(() => requireStarted(at))
      turn.isStopped = false
    }
  } finally {
    leaving.abort()
  }
}

/** A prompt under one idempotency key, so that the agent gets it once however often it is sent. */
class Sending {
  #state: 'unsent' | 'underway' | 'sent' = 'unsent'
  #failed: (error: unknown) => void = () => {}
  readonly #send: () => Promise<{ prompt_id: string }>

  constructor(at: SessionClient, body: NewPrompt, key: string) {
    this.#send = async () => {
      const sent = await at.post('/prompt', { body, headers: { 'Idempotency-Key': key } })
      if (sent.status === 'failed') throw promptFailed(sent.error?.message ?? null)
      return sent
    }
  }

  get hint(): string {
    return this.#state === 'sent'
      ? 'The agent goes on without this client.'
      : 'The prompt may or may not have arrived. The session shows it if it did.'
  }

  /** Called for each connection: the newest one learns of a failure. */
  start(sent: (promptId: string) => void, failed: (error: unknown) => void): void {
    this.#failed = failed
    if (this.#state !== 'unsent') return
    this.#state = 'underway'
    this.#send()
      .then(({ prompt_id: id }) => {
        this.#state = 'sent'
        sent(id)
      })
      .catch((error: unknown) => {
        if (this.#state === 'underway') this.#state = 'unsent'
        this.#failed(error)
      })
  }
}

/** The state of one turn, from the events so far. */
class Turn {
  /** The prompt's own id, once it was sent. */
  #promptId: string | null = null
  /** Prompts that failed before we knew which one is ours, each with its reason. */
  readonly #failedPrompts = new Map<string, string>()
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

  /** The events of the prompt may come before the answer that names its id. */
  readonly sent = (promptId: string): void => {
    this.#promptId = promptId
    const reason = this.#failedPrompts.get(promptId)
    if (reason !== undefined) throw promptFailed(reason)
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
      if (message.message_id === this.#promptId && message.error !== null) throw promptFailed(message.error)
      if (message.error !== null) this.#failedPrompts.set(message.message_id, message.error)
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

export function filesOf(message: Message): string[] {
  return message.parts.flatMap((part) => (part.type === 'file' ? [part.name] : []))
}
