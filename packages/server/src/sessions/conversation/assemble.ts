/** Assembles the events and messages of the agent runtime into messages of the API. Pure, so that any input can be tested. */
import {
  type Attachment,
  attachmentIdsIn,
  attachmentsNote,
  invariant,
  isRecord,
  type Message,
  type MessagePart,
} from '@svc/contract'
import { promptIdInPart } from '@svc/contract/daemon/prompt-part'
import { toolTarget } from '@svc/contract/schemas/tool-outcome'
import { z } from 'zod'
import { storable } from '../../sandboxes/storable.ts'
import { namePrompt } from './name-prompt.ts'
import type { AcceptedPrompt } from './prompt-store.ts'
import type { StoredConversation } from './stored.ts'
import { SubAgents } from './sub-agents.ts'
import type { TranscriptRedactor } from './transcript-redaction.ts'

const textCharsMax = 512 * 1024
const outputCharsMax = 64 * 1024
const partsMax = 500
const messagesMax = 20_000
/** The limit of the whole conversation of one sandbox. Later text is dropped. */
const conversationCharsMax = 96 * 1024 * 1024
/** Ids become database keys and parts of URLs. */
const runtimeId = z.string().regex(/^[\w.:-]{1,200}$/)
/** Within the range of a Date, which throws otherwise. */
const moment = z.number().min(-8.64e15).max(8.64e15)
/** A value that is checked where it is shown. */
const unchecked = z.unknown().optional()

const runtimePart = z.object({
  id: runtimeId,
  messageID: runtimeId,
  type: z.string(),
  text: z.string().optional(),
  synthetic: unchecked,
  /** `end` is set once the text is complete. */
  time: z.object({ end: unchecked }).optional(),
  tool: unchecked,
  state: z
    .object({
      ...{ status: unchecked, input: unchecked, output: unchecked, error: unchecked, title: unchecked },
      metadata: z
        .object({
          output: unchecked,
          exit: z.number().int().nullable().optional().catch(undefined),
          diff: unchecked,
          /** The conversation of a sub-agent. */
          sessionId: runtimeId.optional().catch(undefined),
        })
        .nullish(),
      time: z.object({ start: moment, end: moment.optional() }).optional().catch(undefined),
    })
    .optional(),
})
export type RuntimePart = z.infer<typeof runtimePart>

const runtimeMessage = z.object({
  id: runtimeId,
  role: z.enum(['user', 'assistant']),
  time: z.object({ created: moment, completed: moment.optional() }),
  error: unchecked,
  finish: z.string().optional().catch(undefined),
})
type RuntimeMessage = z.infer<typeof runtimeMessage>

export interface TurnFailure {
  code: string
  message: string
}

type MessageError = Pick<Message, 'error' | 'error_code'>

/** A person aborted the turn, which neither failed nor succeeded. */
export const abortedCode = 'aborted'
export const sandboxEndedCode = 'sandbox_ended'

/** The codes of known runtime errors. Any other error is `turn_failed`. */
const codes: Record<string, string> = {
  MessageAbortedError: abortedCode,
  APIError: 'model_request_failed',
  ProviderAuthError: 'model_auth_failed',
  MessageOutputLengthError: 'output_limit_reached',
  ContextOverflowError: 'context_limit_reached',
}

export type Change =
  | { kind: 'message'; messageId: string }
  | { kind: 'turn'; status: 'busy' | 'idle' }
  | { kind: 'turn'; status: 'error'; error: TurnFailure }
  | { kind: 'nothing' }

const nothing: Change = { kind: 'nothing' }

export class Conversation {
  /** Set by the reply to the first prompt or by the first message. Of child conversations only the tool calls are kept. */
  runtimeSessionId: string | null
  readonly #redactor: TranscriptRedactor
  readonly #messages = new Map<string, { info: RuntimeMessage; parts: Map<string, RuntimePart> }>()
  readonly #attachments = new Map<string, Attachment>()
  readonly #subAgents = new SubAgents()
  /** The reasons of failed turns without an error in their messages, by their last message. */
  readonly #failures = new Map<string, MessageError>()
  /** Texts that grew before their events were read. The runtime stores a text when it is complete, so words between are unknown. */
  readonly #gapped = new Set<string>()
  #chars = 0
  #hasEnded = false
  #newestAnswerId: string | null = null
  #before = 0

  constructor(runtimeSessionId: string | null, redactor: TranscriptRedactor) {
    this.runtimeSessionId = runtimeSessionId
    this.#redactor = redactor
  }

  /** Loads the reply of `GET /session/:id/message` and returns the ids of its messages. */
  load(list: unknown): string[] {
    if (!Array.isArray(list)) return []
    const ids: string[] = []
    for (const entry of (list as unknown[]).filter(isRecord)) {
      const info = runtimeMessage.safeParse(entry.info).data
      if (info === undefined) continue
      if (!this.#hasRoom(info.id)) break
      const given = Array.isArray(entry.parts) ? entry.parts.slice(0, partsMax) : []
      const parts = given.map((part) => runtimePart.safeParse(part).data).filter((part) => part !== undefined)
      this.#noteAnswer(info)
      for (const part of parts) this.#noteGap(info, part)
      this.#messages.set(info.id, { info, parts: new Map(parts.map((part) => [part.id, part])) })
      for (const part of parts) this.#subAgents.note(part)
      if (info.role === 'assistant' || parts.length > 0) ids.push(info.id)
    }
    return ids
  }

  apply(event: unknown): Change {
    if (!isRecord(event) || !isRecord(event.properties)) return nothing
    const { type, properties } = event
    const sessionId = typeof properties.sessionID === 'string' ? properties.sessionID : null
    if (this.runtimeSessionId === null && type === 'message.updated') this.runtimeSessionId = sessionId
    if (sessionId !== null && sessionId !== this.runtimeSessionId)
      return type === 'message.part.updated' ? this.#onStep(sessionId, properties.part) : nothing
    switch (type) {
      case 'message.updated':
        return this.#onMessage(runtimeMessage.safeParse(properties.info).data)
      case 'message.part.updated':
        return this.#onPart(runtimePart.safeParse(properties.part).data)
      case 'message.part.delta':
        return this.#onDelta(properties)
      case 'session.status':
        return isRecord(properties.status) && (properties.status.type === 'busy' || properties.status.type === 'retry')
          ? { kind: 'turn', status: 'busy' }
          : nothing
      case 'session.idle':
        return { kind: 'turn', status: 'idle' }
      case 'session.error':
        return { kind: 'turn', status: 'error', error: failureOf(properties.error, this.#redactor) }
      default:
        return nothing
    }
  }

  /** The conversations of sub-agents whose tool calls are unknown, such as after a change of servers. */
  get unreadSubAgents(): string[] {
    return this.#subAgents.unread
  }

  /** Loads the reply of `GET /session/:id/message` of a sub-agent. Returns the message that started it. */
  loadSubAgent(sessionId: string, list: unknown): string | null {
    if (!Array.isArray(list)) return null
    for (const entry of (list as unknown[]).filter(isRecord))
      for (const part of Array.isArray(entry.parts) ? (entry.parts as unknown[]) : []) this.#onStep(sessionId, part)
    return this.#subAgents.messageOf(sessionId)
  }

  #onStep(sessionId: string, given: unknown): Change {
    const part = runtimePart.safeParse(given).data
    const messageId = part?.type === 'tool' ? this.#subAgents.take(sessionId, part) : null
    return messageId === null ? nothing : { kind: 'message', messageId }
  }

  message(messageId: string): Message | null {
    const found = this.#messages.get(messageId)
    if (found === undefined) return null
    const { info, parts } = found
    return namePrompt({
      message_id: info.id,
      role: info.role,
      created_at: new Date(info.time.created).toISOString(),
      completed_at:
        info.time.completed === undefined
          ? info.role === 'user'
            ? new Date(info.time.created).toISOString()
            : null
          : new Date(info.time.completed).toISOString(),
      ...this.#errorOf(info),
      parts: [...parts.values()]
        .flatMap((part) => this.#attachedBy(info, part) ?? this.#presentPart(info, part))
        .filter((part) => part !== null),
    })
  }

  #errorOf({ id, error }: RuntimeMessage): MessageError {
    if (error !== undefined) return messageErrorOf(failureOf(error, this.#redactor))
    return this.#failures.get(id) ?? { error: null }
  }

  /** Continues a conversation that another server followed. */
  restore({ attachments, failures }: StoredConversation): void {
    this.attach(attachments)
    for (const { message_id: id, ...failure } of failures) this.#failures.set(id, failure)
  }

  attach(attachments: readonly Attachment[]): void {
    for (const attachment of attachments) this.#attachments.set(attachment.attachment_id, attachment)
  }

  /** The attachments that a note of the service names. An agent can imitate a note, but only for attachments of its session. */
  #attachedBy(info: RuntimeMessage, part: RuntimePart): MessagePart[] | null {
    if (info.role !== 'user' || part.type !== 'text' || !part.synthetic) return null
    return attachmentIdsIn(part.text ?? '')
      .map((id) => this.#attachments.get(id))
      .filter((attachment) => attachment !== undefined)
      .map((each) => ({ type: 'file', id: each.attachment_id, ...each, name: this.#redactor.text(each.name) }))
  }

  beginTurn(): void {
    this.#before = this.#messages.size
  }

  get isEmptyTurn(): boolean {
    return this.#messages.size === this.#before
  }

  /** The runtime wrote the last answer of the turn to its end. Its report that the turn ended may still be on its way. */
  get isAnswered(): boolean {
    const info = [...this.#messages.values()].at(-1)?.info
    return !this.isEmptyTurn && info?.finish === 'stop' && info.error === undefined
  }

  /** The runtime has this prompt, and its newest message is an answer with an end. */
  hasAnswered(promptId: string): boolean {
    const messages = [...this.#messages.values()]
    const isTaken = messages.some(({ parts }) => [...parts.keys()].some((id) => promptIdInPart(id) === promptId))
    const last = messages.at(-1)?.info
    return isTaken && last?.role === 'assistant' && (last.time.completed ?? last.error) !== undefined
  }

  failure(): TurnFailure | null {
    const info = [...this.#messages.values()].at(-1)?.info
    return info?.role !== 'assistant' || info.error === undefined ? null : failureOf(info.error, this.#redactor)
  }

  /** The conversation stops in the middle of a turn: its newest prompt has no answer, or the answer has no end. */
  get isCut(): boolean {
    const last = [...this.#messages.values()].at(-1)
    if (last === undefined || last.info.error !== undefined || this.#failures.has(last.info.id)) return false
    return last.info.time.completed === undefined || [...last.parts.values()].some(isOpenTool)
  }

  /**
   * Sets the reason on the last message of the turn, and on its answer if that has no end. Returns their ids; none when
   * the turn has no message yet.
   */
  failTurn(failure: TurnFailure): string[] {
    const messages = [...this.#messages.values()].map(({ info }) => info)
    const last = messages.at(-1)
    const isOfTurn = messages.length > this.#before || last?.role === 'user'
    // Prompts that waited for the answer come after it.
    const answer = messages.slice(this.#before).findLast(({ role }) => role === 'assistant')
    const cut = answer?.time.completed === undefined && answer?.error === undefined ? answer : undefined
    const ids = [cut?.id, isOfTurn ? last?.id : undefined].filter((id) => id !== undefined)
    const failed = [...new Set(ids)].filter((id) => !this.#failures.has(id))
    for (const id of failed) this.#failures.set(id, messageErrorOf(failure))
    return failed
  }

  /** Shows the reason on the messages of the turn that have no end, or on its prompt when the runtime wrote no message. Returns their ids. */
  showFailure(failure: TurnFailure, prompt: AcceptedPrompt | null, at: Date): string[] {
    const failed = this.failTurn(failure)
    if (failed.length > 0 || prompt === null || !this.isEmptyTurn) return failed
    this.failPrompt(prompt, failure, at)
    return [prompt.prompt_id]
  }

  /** Adds a prompt that the runtime never received, with the reason. */
  failPrompt({ prompt_id: id, text, attachments }: AcceptedPrompt, failure: TurnFailure, at: Date): void {
    const part = { id: `${id}-text`, messageID: id, type: 'text', text }
    const note = { ...part, id: `${id}-files`, text: attachmentsNote(attachments), synthetic: true }
    this.attach(attachments)
    this.#messages.set(id, {
      info: { id, role: 'user', time: { created: at.getTime() } },
      parts: new Map([part, note].map((each) => [each.id, each])),
    })
    this.#failures.set(id, messageErrorOf(failure))
  }

  /** Whether the last result of `message` held back the end of a text. */
  holdsBack(messageId: string): boolean {
    return [...(this.#messages.get(messageId)?.parts.values() ?? [])].some((part) => this.#redactor.holdsBack(part))
  }

  /** Marks every text as complete when the sandbox ended, and returns the ids of unfinished messages. */
  end(): string[] {
    const unfinished = [...this.#messages.values()].filter(({ info }) => this.#isUnfinished(info))
    this.#hasEnded = true
    return unfinished.map(({ info }) => info.id)
  }

  #isUnfinished(info: RuntimeMessage): boolean {
    return !this.#hasEnded && info.role === 'assistant' && info.time.completed === undefined
  }

  #presentPart(info: RuntimeMessage, part: RuntimePart): MessagePart | null {
    // The runtime ends the tools of an answer before it fails it or begins the next one, unless it dies.
    const isOver = this.#hasEnded || this.#failures.has(info.id) || info.id !== this.#newestAnswerId
    const shown = presentPart(part, this.#redactor, { isUnfinished: this.#isUnfinished(info), isOver })
    if (shown?.type !== 'tool') return shown
    const steps = this.#subAgents.stepsOf(part)
    return steps === null ? shown : { ...shown, steps: presentSteps(steps, this.#redactor, { isOver }) }
  }

  /** Keeps what is known of a text that still grows: the runtime has stored less of it. */
  #noteGap(info: RuntimeMessage, part: RuntimePart): void {
    const isText = part.type === 'text' || part.type === 'reasoning'
    if (!isText || !this.#isUnfinished(info) || !isOpen(part)) return
    this.#gapped.add(part.id)
    const before = this.#messages.get(info.id)?.parts.get(part.id)?.text ?? ''
    if (before.startsWith(part.text ?? '')) part.text = before
  }

  #noteAnswer({ id, role }: RuntimeMessage): void {
    if (role === 'assistant' && !this.#messages.has(id)) this.#newestAnswerId = id
  }

  #onMessage(info: RuntimeMessage | undefined): Change {
    if (info === undefined) return nothing
    const found = this.#messages.get(info.id)
    if (!this.#hasRoom(info.id)) return nothing
    this.#noteAnswer(info)
    if (found === undefined) this.#messages.set(info.id, { info, parts: new Map() })
    else found.info = info
    // Its text follows, and names the prompt.
    if (info.role === 'user' && (found?.parts.size ?? 0) === 0) return nothing
    return { kind: 'message', messageId: info.id }
  }

  #onPart(part: RuntimePart | undefined): Change {
    const found = part && this.#messages.get(part.messageID)
    if (part === undefined || found === undefined || (!found.parts.has(part.id) && found.parts.size >= partsMax))
      return nothing
    const grown = charsOf(part) - charsOf(found.parts.get(part.id))
    if (this.#chars + grown > conversationCharsMax) return nothing
    this.#chars += grown
    const before = found.parts.get(part.id)
    if (before !== undefined) {
      this.#redactor.replaced(before, part)
      keepStart(before, part)
    }
    this.#subAgents.note(part)
    this.#gapped.delete(part.id)
    found.parts.set(part.id, part)
    return { kind: 'message', messageId: part.messageID }
  }

  #hasRoom(messageId: string): boolean {
    return this.#messages.has(messageId) || this.#messages.size < messagesMax
  }

  #onDelta(properties: Record<string, unknown>): Change {
    const { messageID, partID, field, delta } = properties
    if (typeof messageID !== 'string' || typeof partID !== 'string' || field !== 'text' || typeof delta !== 'string')
      return nothing
    const part = this.#messages.get(messageID)?.parts.get(partID)
    // Its whole text comes with its end. Until then, words after a gap would read as the answer.
    if (part === undefined || this.#gapped.has(part.id)) return nothing
    if ((part.text ?? '').length > textCharsMax) return nothing
    if (this.#chars + delta.length > conversationCharsMax) return nothing
    this.#chars += delta.length
    part.text = (part.text ?? '') + delta
    return { kind: 'message', messageId: messageID }
  }
}

function charsOf(part: RuntimePart | undefined): number {
  const { output, metadata } = part?.state ?? {}
  const texts = [part?.text, output, metadata?.output, metadata?.diff]
  return texts.reduce<number>((sum, text) => sum + (typeof text === 'string' ? text.length : 0), 0)
}

function presentPart(
  part: RuntimePart,
  redactor: TranscriptRedactor,
  { isUnfinished, isOver }: { isUnfinished: boolean; isOver: boolean },
): MessagePart | null {
  const field = (name: string, text: unknown, charsMax: number, isGrowing = false) =>
    typeof text === 'string' ? clean(redactor.field(part, name, text, { isGrowing, charsMax }), charsMax) : ''
  if (part.type === 'text' || part.type === 'reasoning')
    return part.synthetic
      ? null
      : { type: part.type, id: part.id, text: field('text', part.text, textCharsMax, isUnfinished && isOpen(part)) }
  if (part.type !== 'tool') return null
  const state = part.state ?? {}
  const status =
    state.status === 'running' || state.status === 'completed' || state.status === 'error' ? state.status : 'pending'
  const isPending = isUnfinished && status === 'pending'
  const isCut = isOver && isOpenTool(part)
  const output = status === 'error' ? state.error : (state.output ?? state.metadata?.output)
  const shown = field('output', output, outputCharsMax, isPending || (isUnfinished && status === 'running'))
  const diff = field('diff', state.metadata?.diff, outputCharsMax)
  return {
    type: 'tool',
    id: part.id,
    tool: field('tool', part.tool, 200),
    status: isCut ? 'error' : status,
    title: field('title', state.title, 500),
    input: field('input', JSON.stringify(state.input ?? {}), outputCharsMax, isPending),
    output: isCut ? [shown, cutTool].filter((text) => text !== '').join('\n') : shown,
    ...(state.metadata?.exit === undefined ? {} : { exit_code: state.metadata.exit }),
    ...durationOf(part),
    ...(diff === '' ? {} : { diff }),
  }
}

function durationOf({ state }: RuntimePart): { duration_ms?: number } {
  const { start, end } = state?.time ?? {}
  return start === undefined || end === undefined ? {} : { duration_ms: Math.max(0, Math.round(end - start)) }
}

/** The runtime sets the start of a call again whenever the call prints something. */
function keepStart(before: RuntimePart, part: RuntimePart): void {
  const [earlier, time] = [before.state?.time?.start, part.state?.time]
  if (earlier !== undefined && time !== undefined) time.start = Math.min(earlier, time.start)
}

/** What a sub-agent does, without its inputs and outputs. */
function presentSteps(
  parts: readonly RuntimePart[],
  redactor: TranscriptRedactor,
  { isOver }: { isOver: boolean },
): NonNullable<Extract<MessagePart, { type: 'tool' }>['steps']> {
  return parts.map((part) => {
    const shown = presentPart(part, redactor, { isUnfinished: false, isOver })
    invariant(shown?.type === 'tool', 'A step of a sub-agent is a tool call.')
    const { tool, status, exit_code } = shown
    const title = clean(toolTarget(shown), 500)
    return { tool, title, status, ...(exit_code === undefined ? {} : { exit_code }), ...durationOf(part) }
  })
}

const cutTool = 'The turn ended before this did.'

const isOpenTool = ({ type, state }: RuntimePart) =>
  type === 'tool' && state?.status !== 'completed' && state?.status !== 'error'

const isOpen = (part: RuntimePart) => typeof part.time?.end !== 'number'

function clean(text: string, charsMax: number): string {
  const cut = text.length > charsMax ? `${text.slice(0, charsMax)}\n… cut here` : text
  return storable(cut)
}

function failureOf(error: unknown, redactor: TranscriptRedactor): TurnFailure {
  const name = isRecord(error) && typeof error.name === 'string' ? error.name : ''
  return { code: (Object.hasOwn(codes, name) && codes[name]) || 'turn_failed', message: errorText(error, redactor) }
}

const messageErrorOf = ({ code, message }: TurnFailure): MessageError => ({ error: message, error_code: code })

function errorText(error: unknown, redactor: TranscriptRedactor): string {
  if (!isRecord(error)) return 'The agent runtime reported an unknown error.'
  const message = isRecord(error.data) && typeof error.data.message === 'string' ? error.data.message : null
  // Cuts the stack trace of the runtime.
  const [text = ''] = (message ?? (typeof error.name === 'string' ? error.name : 'unknown error')).split('\n    at ')
  return clean(redactor.text(text), 4000)
}
