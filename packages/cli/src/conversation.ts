/** One turn of a conversation, followed through the event stream of its session until the agent waits again. */
import type { ApiClient } from '@svc/contract/api'
import { ServiceError } from '@svc/contract/errors'
import type { Message, MessagePart, Question, Session, SessionEvent } from './wire.ts'
import { onlyOnce, reply, replyStream } from './api.ts'
import { Refusal } from './errors.ts'
import { streamedEvents } from './event-stream.ts'
import type { Io } from './io.ts'

const reconnectsMax = 5

export interface Listener {
  event?(event: SessionEvent): void
  /** More of an answer. */
  text?(more: string): void
  /** An answer's part has ended; what follows is another. */
  textEnd?(): void
  /** A tool call that has ended. */
  tool?(part: Extract<MessagePart, { type: 'tool' }>): void
  session?(session: Session): void
  /** The agent asks, or a question was answered or expired. */
  question?(question: Question): void
  turn?(status: 'busy' | 'idle' | 'error'): void
}

interface Where {
  projectId: string
  sessionId: string
}

/**
 * Sends `prompt` and follows its turn. Without one, follows the turn the session began with. The stream is opened
 * first: nothing of a quick answer can be missed then.
 */
export async function followTurn(
  io: Pick<Io, 'newId' | 'signal' | 'sleep'>,
  api: ApiClient,
  where: Where,
  prompt: string | null,
  listener: Listener,
): Promise<void> {
  const [known, before] =
    prompt === null ? [new Set<string>(), null] : await Promise.all([knownMessages(api, where), sessionNow(api, where)])
  const turn = new Turn({ known, before, prompted: prompt !== null }, listener)
  let prompted = prompt === null
  for (let failures = 0; ;) {
    const closing = new AbortController()
    try {
      const stream = await openEvents(api, where, AbortSignal.any([io.signal, closing.signal]))
      if (!prompted) {
        const sent = await sendPrompt(io, api, where, prompt!)
        if (sent.status === 'failed') throw promptFailed(sent.error?.message ?? null)
        turn.promptId = sent.prompt_id
        prompted = true
      }
      for await (const event of events(stream)) {
        failures = 0
        listener.event?.(event)
        if (turn.take(event)) return
        if (turn.isStopped) await requireStarted(api, where)
        turn.isStopped = false
      }
    } catch (error) {
      if (io.signal.aborted || !prompted || error instanceof ServiceError) throw error
      if (error instanceof Refusal && error.code !== 'unreachable') throw error
      if (++failures > reconnectsMax) throw error
    } finally {
      closing.abort()
    }
    // The stream ended before the turn did: what was missed comes first when it is opened again.
    await io.sleep(Math.min(250 * 2 ** failures, 4000))
  }
}

/** What the events so far say about one turn. */
class Turn {
  /** Of our own prompt, once it was sent. */
  promptId: string | null = null
  /** The stream said that the session is stopped; it may have been started again for our prompt since. */
  isStopped = false
  #known: ReadonlySet<string>
  /** The session as it was before our prompt. */
  #before: Session | null
  /** The message of the runtime that began the turn. */
  #ours: string | null = null
  #listener: Listener
  #printed = new Map<string, string>()
  #toldTools = new Set<string>()
  #openText: string | null = null
  /** Answers from here on are ours: our own prompt has been seen, or none is waited for. */
  #begun: boolean
  #progress = false
  #answerError: string | null = null

  constructor(
    { known, before, prompted }: { known: ReadonlySet<string>; before: Session | null; prompted: boolean },
    listener: Listener,
  ) {
    this.#known = known
    this.#before = before
    this.#listener = listener
    this.#begun = !prompted
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
    // A prompt starts a failed session again, and the stream may begin with how it was.
    if (session.status === 'failed' && !isAsBefore)
      throw new Refusal('session_failed', session.error ?? 'The session failed', {
        detail: { session_id: session.session_id },
        next: [`svc sessions info ${session.session_id}`, `svc sessions restart ${session.session_id}`],
      })
  }

  #question(question: Question): void {
    this.#endText()
    this.#listener.question?.(question)
  }

  #message(message: Message): void {
    if (this.#known.has(message.message_id)) return
    if (message.role === 'user') {
      if (message.message_id === this.promptId && message.error !== null) throw promptFailed(message.error)
      // A prompt of another caller that the agent did not get.
      if (message.error !== null && message.message_id !== this.#ours) return
      this.#ours ??= message.message_id
      this.#answerError = message.error
      // Once the prompt is there the agent is at it: that it waits again is the end, also when it was aborted before a word.
      if (!this.#begun) this.#progress = true
      this.#begun = true
      return
    }
    if (!this.#begun) return
    this.#answerError = message.error
    if (message.completed_at !== null || message.error !== null) this.#progress = true
    for (const part of message.parts) {
      const id = `${message.message_id}/${part.id}`
      if (part.type === 'text') this.#text(id, part.text)
      else if (part.type === 'tool') this.#tool(id, part)
    }
  }

  #text(id: string, text: string): void {
    const before = this.#printed.get(id) ?? ''
    if (text === before) return
    if (this.#openText !== null && this.#openText !== id) this.#endText()
    // An answer only grows. Should one be rewritten after all, it is said again from its beginning.
    if (!text.startsWith(before)) this.#endText()
    this.#listener.text?.(text.startsWith(before) ? text.slice(before.length) : text)
    this.#printed.set(id, text)
    this.#openText = id
  }

  #tool(id: string, part: Extract<MessagePart, { type: 'tool' }>): void {
    if ((part.status !== 'completed' && part.status !== 'error') || this.#toldTools.has(id)) return
    this.#toldTools.add(id)
    this.#endText()
    this.#listener.tool?.(part)
  }

  #endText(): void {
    if (this.#openText !== null) this.#listener.textEnd?.()
    this.#openText = null
  }

  #turn(status: 'busy' | 'idle' | 'error', error: string | null): boolean {
    this.#listener.turn?.(status)
    if (!this.#begun) return false
    if (status === 'busy') {
      this.#progress = true
      return false
    }
    // The first thing a stream says may be that the session waits: for the prompt that is on its way.
    if (!this.#progress && status === 'idle') return false
    this.#endText()
    const failed = status === 'error' ? (error ?? this.#answerError ?? 'The turn failed') : this.#answerError
    if (failed !== null) throw new Refusal('turn_failed', failed)
    return true
  }
}

async function knownMessages(api: ApiClient, where: Where): Promise<Set<string>> {
  const found = await reply(
    api.GET('/v1/projects/{projectId}/sessions/{sessionId}/transcript', { params: { path: where } }),
  )
  return new Set(found.messages.map((message) => message.message_id))
}

function sessionNow(api: ApiClient, where: Where): Promise<Session> {
  return reply(api.GET('/v1/projects/{projectId}/sessions/{sessionId}', { params: { path: where } }))
}

async function requireStarted(api: ApiClient, where: Where): Promise<void> {
  if ((await sessionNow(api, where)).status !== 'stopped') return
  throw new Refusal('session_stopped', 'The session was stopped before the agent had answered', {
    detail: { session_id: where.sessionId },
    next: [`svc sessions info ${where.sessionId}`, `svc sessions restart ${where.sessionId}`],
  })
}

const promptFailed = (reason: string | null) =>
  new Refusal('prompt_failed', reason ?? 'The agent did not take the prompt')

function sendPrompt(io: Pick<Io, 'newId'>, api: ApiClient, where: Where, text: string) {
  return reply(
    api.POST('/v1/projects/{projectId}/sessions/{sessionId}/prompt', {
      params: { path: where },
      headers: onlyOnce(io),
      body: { text },
    }),
  )
}

export function abortTurn(api: ApiClient, where: Where) {
  return reply(api.POST('/v1/projects/{projectId}/sessions/{sessionId}/abort', { params: { path: where } }))
}

function openEvents(api: ApiClient, where: Where, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  return replyStream(
    api.GET('/v1/projects/{projectId}/sessions/{sessionId}/events', {
      params: { path: where },
      headers: { Accept: 'text/event-stream' },
      parseAs: 'stream',
      signal,
    }),
  )
}

async function* events(stream: ReadableStream<Uint8Array>): AsyncGenerator<SessionEvent> {
  for await (const { data } of streamedEvents(stream, 'the session')) yield JSON.parse(data) as SessionEvent
}
