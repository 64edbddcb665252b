/** Follows the conversation of one sandbox: stores it in the database and publishes it to the feed. */
import { parseJson, type PromptReply } from '@svc/contract'
import { createParser } from 'eventsource-parser'
import type { Deps } from '../../deps.ts'
import { setBusy } from '../activity-store.ts'
import { abortedCode, Conversation, type TurnFailure } from './assemble.ts'
import { requestRuntime, boundedText, type DaemonAddress, readHealth } from '../../sandboxes/daemon-client.ts'
import type { Redactor } from '../../redaction/redaction.ts'
import { withDeadline } from '../../deadline.ts'
import { pause } from '../../pause.ts'
import { MessageWriter } from './message-writer.ts'
import { AgentQuestions } from '../questions/agent-questions.ts'
import { Publisher } from './publisher.ts'
import { Rest } from './rest.ts'
import { runtimeEnded, type RuntimeEvents, statusOfRuntime } from './runtime-events.ts'
import { TranscriptRedactor } from './transcript-redaction.ts'
import { acceptedPrompts, type AcceptedPrompt } from './prompt-store.ts'
import type { StoredConversation } from './stored.ts'
import { readSubAgents } from './sub-agents.ts'
import type { TurnSpan } from './turn-span.ts'

type FollowDeps = Pick<Deps, 'db' | 'config' | 'feed' | 'now' | 'newId' | 'log'>

const storeMs = 1_000
const reconnectMs = 100
const reconnectMsMax = 2_000
/** A prompt waits this long for what happened while no server followed, so that its turn is not mixed with an earlier one; so does a sandbox that ends. */
const catchUpMsMax = 3_000
const historyBytesMax = 64 * 1024 * 1024
/** An event of the runtime is at most a whole message part. */
const eventCharsMax = 8 * 1024 * 1024

export class Follower {
  turn: 'busy' | 'idle' = 'idle'
  /** Resolves once what happened while no server followed is known. While a runtime sleeps, nothing did. */
  readonly caughtUp = Promise.withResolvers<void>()
  readonly questions: AgentQuestions
  readonly span: TurnSpan
  #turnsBegun = 0
  #begunBy: string | null = null
  /** The turn whose end was not published, because another prompt was waiting. */
  #heldEnd = -1
  readonly #deps: FollowDeps
  readonly #daemon: DaemonAddress
  readonly #userId: string
  readonly #conversation: Conversation
  readonly #stop = new AbortController()
  readonly #publisher: Publisher
  readonly #writer: MessageWriter
  readonly #unstored = new Set<string>()
  #storeTimer: NodeJS.Timeout | null = null
  #storing: Promise<void> = Promise.resolve()
  readonly #on: RuntimeEvents
  #runtimeStarts: number | null = null
  #isInTrouble = false
  /** Ended turns that are not stored yet, with their failures. */
  readonly #ended: (TurnFailure | null)[] = []
  /** The prompt of the current turn. */
  #prompt: AcceptedPrompt | null
  /** The turn has begun for readers, and its prompt waits for the runtime. */
  #isUndelivered = false
  /** The start of the runtime that took the latest prompt. */
  #takenBy: number | null = null
  #turnBeganAt = 0
  #storedBusy = false
  #followed: Promise<void> = Promise.resolve()
  /** The latest end of a turn that is being stored. */
  #ending: Promise<void> = Promise.resolve()
  /** A turn may have begun or ended while no server followed. */
  #mayHaveMoved = false
  /** The stream opened while the first prompt was on its way, and the conversation had no name yet to read it by. */
  #missesHistory = false
  #reopen = new AbortController()
  readonly #rest: Rest

  constructor(
    deps: FollowDeps,
    daemon: DaemonAddress,
    input: {
      userId: string
      runtimeSessionId: string | null
      turn: 'busy' | 'idle'
      /** The prompt of the current turn. */
      prompt: AcceptedPrompt | null
      /** Null for a new conversation. */
      stored: StoredConversation | null
      /** The runtime sleeps already, which a stream would wake. */
      isAsleep?: boolean
      redactor: Redactor
      span: TurnSpan
      on: RuntimeEvents
    },
  ) {
    this.#on = input.on
    this.#deps = deps
    this.#daemon = daemon
    this.#userId = input.userId
    this.#conversation = new Conversation(input.runtimeSessionId, new TranscriptRedactor(input.redactor, deps.now))
    this.#writer = new MessageWriter(deps, daemon)
    this.#publisher = new Publisher(deps.feed, {
      sessionId: daemon.sessionId,
      conversation: this.#conversation,
      changed: (messageId) => this.#touch(messageId),
      signal: this.#stop.signal,
    })
    this.questions = new AgentQuestions(deps, daemon, {
      ...input,
      signal: this.#stop.signal,
      shown: () => this.#publisher.shown(),
    })
    this.turn = input.turn
    this.span = input.span
    if (this.turn === 'busy') this.span.begin()
    this.#rest = new Rest(deps, input.on.sleepChanged)
    this.#prompt = input.prompt
    if (input.stored !== null) {
      this.#conversation.restore(input.stored)
      this.#storedBusy = input.turn === 'busy'
      this.#mayHaveMoved = true
    }
    if (this.turn === 'busy') this.#storeSoon()
    if (input.isAsleep === true) this.#rest.beginAsleep({ isNeeded: this.turn === 'busy' })
  }

  start(): void {
    this.#followed = this.#follow()
  }

  async whenCaughtUp(): Promise<void> {
    if (this.#mayHaveMoved) await withDeadline(this.caughtUp.promise, catchUpMsMax, () => {})
  }

  /** The runtime has taken the prompt. */
  delivered(reply: Pick<PromptReply, 'runtime_session_id' | 'runtime_starts' | 'was_taken'>): void {
    this.#isUndelivered = false
    this.#rest.awoke()
    this.#takenBy = reply.runtime_starts ?? null
    this.#conversation.runtimeSessionId = reply.runtime_session_id
    if (reply.was_taken === true) this.#catchUpWithTaken(reply.runtime_session_id).catch(this.#unread)
    if (!this.#missesHistory) return
    this.#missesHistory = false
    this.#reopen.abort()
  }

  /** The agent rests, or the turn of this prompt has begun for readers and the runtime did not take it yet. */
  mayTake({ prompt_id: id }: AcceptedPrompt): boolean {
    return this.#isBetweenTurns || this.#waitsFor === id
  }

  get #isBetweenTurns(): boolean {
    return this.turn === 'idle' || this.#heldEnd === this.#turnsBegun
  }

  get #waitsFor(): string | null {
    return this.#isUndelivered ? (this.#prompt?.prompt_id ?? null) : null
  }

  /** False when a turn is running already. Delivered again, a prompt has the turn that it had, which may be over. */
  beginTurn(prompt: AcceptedPrompt): boolean {
    if (this.#begunBy === prompt.prompt_id) return this.#waitsFor === prompt.prompt_id
    const begins = this.#isBetweenTurns
    this.#begunBy = prompt.prompt_id
    this.#conversation.attach(prompt.attachments)
    if (begins) {
      if (this.turn === 'busy') this.#turnEnded(this.#conversation.failure())
      if (this.turn === 'busy') this.span.begin()
      this.#prompt = prompt
      this.#isUndelivered = true
      this.#turnBeganAt = Date.now()
      this.#conversation.beginTurn()
    }
    this.#turnsBegun++
    this.#setTurn('busy', null)
    return begins
  }

  /** A prompt was recorded as delivered or cancelled. The end of a quick turn, or of the turn before, may wait for that. */
  promptFinished(): void {
    if (this.#heldEnd === this.#turnsBegun) void this.#endTurn()
  }

  failTurn(failure: TurnFailure): void {
    this.#isUndelivered = false
    this.#setTurn('error', failure)
  }

  /**
   * The sandbox is about to end. A prompt that the runtime did not take yet begins its turn again in the next sandbox.
   */
  async interruptTurn(failure: TurnFailure): Promise<void> {
    await this.#readEnd()
    this.cutTurn(failure)
  }

  /** The sandbox has ended. A turn that was over did not fail; readers wait for the prompt that begins in the next sandbox. */
  cutTurn(failure: TurnFailure): void {
    if (this.#isUnderWay && !this.#conversation.isAnswered) return this.failTurn(failure)
    if (this.turn === 'idle' || this.#isUndelivered) return
    this.turn = 'idle'
    this.#turnEnded(this.#conversation.failure())
  }

  get #isUnderWay(): boolean {
    return !this.#isBetweenTurns && !(this.#isUndelivered && this.#conversation.isEmptyTurn)
  }

  /** Events of the turn may be late, so what the runtime has of it is read. */
  async #readEnd(): Promise<void> {
    if (!this.#isUnderWay) return
    const read = async () => {
      await this.#loadHistory()
      await this.#ending
      // Its end may have come while an earlier state was read.
      if (!this.#isUnderWay) await this.#loadHistory()
    }
    await withDeadline(read(), catchUpMsMax, () => {}).catch(this.#unread)
  }

  readonly #unread = (error: unknown): void =>
    this.#deps.log.debug({ err: error, session_id: this.#daemon.sessionId }, 'the end of a conversation was not read')

  /** Ends the turn of a prompt that was cancelled before the runtime took it. */
  cancelTurn({ prompt_id: id }: Pick<AcceptedPrompt, 'prompt_id'>, reason: string): void {
    if (this.#waitsFor === id) this.failTurn({ code: abortedCode, message: reason })
  }

  promptCancelled(prompt: Pick<AcceptedPrompt, 'prompt_id'>, reason: string): void {
    this.cancelTurn(prompt, reason)
    this.promptFinished()
  }

  /** Adds a prompt that the agent never received, with the reason, and stores it. */
  async failPrompt(prompt: AcceptedPrompt, failure: TurnFailure): Promise<void> {
    this.#conversation.failPrompt(prompt, failure, this.#deps.now())
    this.#touch(prompt.prompt_id)
    this.#publisher.publish()
    await this.#store()
  }

  readonly storeNow = (): Promise<void> => this.#store()

  /** The service restarted the runtime between two turns, so no turn failed. */
  readonly runtimeRestarted = (): Promise<void> => this.#checkRuntime()

  /** The runtime has slept for so long; null when it is awake. */
  sleepSeen(asleepMs: number | null): void {
    if (this.#stop.signal.aborted) return
    // A runtime falls asleep only between turns, so the end of this one was missed. One that fell asleep before the turn
    // began was looked at before the prompt woke it.
    const isOfTurn = asleepMs !== null && Date.now() - asleepMs >= this.#turnBeganAt
    if (isOfTurn && this.turn === 'busy' && !this.#rest.isEnding && !this.#isUndelivered) this.#onTurn('idle', null)
    this.#rest.seen(asleepMs, { isNeeded: this.turn === 'busy' })
  }

  /** Resolves when the event stream is open again, so that no event of what wakes the runtime is missed. */
  awake(): Promise<void> {
    return this.#rest.use()
  }

  /** `isOver`: the sandbox ended. Otherwise another server follows the conversation from here. */
  async stop({ isOver }: { isOver: boolean } = { isOver: true }): Promise<void> {
    if (isOver) await this.#readEnd()
    this.#stop.abort()
    this.#rest.end()
    this.span.end('left')
    await this.#followed
    await this.questions.finished()
    if (this.#storeTimer !== null) clearTimeout(this.#storeTimer)
    const unfinished = isOver ? this.#conversation.end() : []
    for (const messageId of unfinished) this.#unstored.add(messageId)
    this.#publisher.stop(unfinished)
    await this.#store()
  }

  async #follow(): Promise<void> {
    let waitMs = reconnectMs
    while (!this.#stop.signal.aborted) {
      if (this.#rest.over !== null) {
        this.caughtUp.resolve()
        await this.#rest.over
        continue
      }
      try {
        await this.#followOnce(() => (waitMs = reconnectMs))
      } catch (error) {
        if (this.#stop.signal.aborted) return
        if (this.#rest.over === null) {
          this.#deps.log.debug(
            { err: error, session_id: this.#daemon.sessionId },
            'the event stream of a sandbox broke; reconnecting',
          )
          await this.#checkRuntime()
        }
      }
      if (this.#rest.over !== null) continue
      await pause(waitMs, this.#stop.signal)
      waitMs = Math.min(waitMs * 2, reconnectMsMax)
    }
  }

  /** Opens the stream before it reads the history: the other order would miss events in between. */
  async #followOnce(connected: () => void): Promise<void> {
    this.#reopen = new AbortController()
    const response = await this.#ask('/event', AbortSignal.any([this.#rest.opens(), this.#reopen.signal]))
    if (!response.ok || response.body === null) throw new Error(`The event stream answered ${response.status}.`)
    connected()
    this.#rest.opened()
    this.questions.sync()
    await this.#loadHistory()
    this.caughtUp.resolve()
    await this.#checkRuntime()
    const parser = createParser({ onEvent: ({ data }) => this.#onEvent(data), maxBufferSize: eventCharsMax })
    const decoder = new TextDecoder()
    for await (const chunk of response.body) parser.feed(decoder.decode(chunk, { stream: true }))
  }

  async #loadHistory(): Promise<void> {
    const id = this.#conversation.runtimeSessionId
    if (id === null) this.#missesHistory = this.#isUndelivered
    if (id === null) return
    const response = await this.#ask(`/session/${encodeURIComponent(id)}/message`)
    if (!response.ok) return
    const messageIds = this.#conversation.load(JSON.parse(await boundedText(response, historyBytesMax)))
    for (const messageId of messageIds) this.#touch(messageId)
    for (const id of await readSubAgents(this.#conversation, (path) => this.#ask(path))) this.#touch(id)
    // A prompt that woke the runtime has begun a turn since, of which its rest before says nothing.
    if (this.#mayHaveMoved && this.#turnsBegun === 0) return this.#catchUpWithServerless(id)
    this.#mayHaveMoved = false
    const last = messageIds.at(-1)
    if (this.turn === 'busy' && last !== undefined) await this.#catchUpWithTurn(id, last)
  }

  /** The daemon restarts a runtime that ended, with growing pauses, until it gives up. */
  async #checkRuntime(): Promise<void> {
    const outcome = await readHealth(this.#daemon.socket, { signal: this.#stop.signal })
    if (outcome.kind !== 'ok' || this.#stop.signal.aborted) return
    const { status, runtime, runtime_starts: starts, error } = outcome.value
    const before = this.#runtimeStarts
    this.#runtimeStarts = starts
    if (status === 'failed') {
      this.#on.givenUp(error ?? 'The agent runtime ended without a reason.')
      return
    }
    const isInTrouble = runtime !== 'ready' && error !== null
    if (isInTrouble !== this.#isInTrouble) this.#on.trouble(isInTrouble ? `${error} The runtime is restarting.` : null)
    this.#isInTrouble = isInTrouble
    // The turn ended with the old runtime, which sends no event for it. A prompt that still waits goes to the new one,
    // which may have taken it before this follower knows of the restart.
    const ranIn = Math.max(before ?? starts, this.#takenBy ?? 0)
    if (starts > ranIn && this.turn === 'busy' && !this.#isUndelivered) this.#setTurn('error', runtimeEnded)
  }

  /** A turn may have ended while the stream was disconnected, and would otherwise count as busy forever. */
  async #catchUpWithTurn(runtimeSessionId: string, lastMessageId: string): Promise<void> {
    const message = this.#conversation.message(lastMessageId)
    if (message?.role !== 'assistant' || message.completed_at === null) return
    // The message is of an earlier turn: the runtime has not begun this one.
    if (Date.parse(message.completed_at) < this.#turnBeganAt) return
    if ((await this.#statusOf(runtimeSessionId)) === 'idle') this.#onTurn('idle', null)
  }

  /**
   * The runtime sends no event for a turn that ended before this follower, or its server, knew that it had begun. It is
   * idle before a turn too, so it must have answered.
   */
  async #catchUpWithTaken(runtimeSessionId: string): Promise<void> {
    await this.#loadHistory()
    if (this.#prompt === null || !this.#conversation.hasAnswered(this.#prompt.prompt_id)) return
    if ((await this.#statusOf(runtimeSessionId)) !== 'idle') return
    if (this.turn === 'busy' && !this.#isUndelivered) this.#onTurn('idle', null)
  }

  async #catchUpWithServerless(runtimeSessionId: string): Promise<void> {
    const status = await this.#statusOf(runtimeSessionId)
    this.#mayHaveMoved = false
    if (status === null || this.#turnsBegun > 0 || (status === 'idle') === (this.turn === 'idle')) return
    if (status === 'idle' && this.#conversation.isCut) return this.#setTurn('error', runtimeEnded)
    this.#onTurn(status === 'idle' ? 'idle' : 'busy', null)
  }

  async #statusOf(runtimeSessionId: string): Promise<string | null> {
    return statusOfRuntime(await this.#ask('/session/status'), runtimeSessionId)
  }

  #ask(path: string, until?: AbortSignal): Promise<Response> {
    return requestRuntime(this.#daemon, {
      method: 'GET',
      path,
      userId: this.#userId,
      role: 'member',
      signal: until === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, until]),
    })
  }

  #onEvent(data: string): void {
    const event = parseJson(data)
    if (event === undefined)
      return this.#deps.log.debug({ session_id: this.#daemon.sessionId }, 'an event of the runtime was not JSON')
    if (this.questions.take(event)) return
    const change = this.#conversation.apply(event)
    if (change.kind === 'message') this.#touch(change.messageId)
    else if (change.kind === 'turn') this.#onTurn(change.status, change.status === 'error' ? change.error : null)
  }

  #onTurn(status: 'busy' | 'idle' | 'error', error: TurnFailure | null): void {
    if (status !== 'idle') {
      this.#setTurn(status, error)
      return
    }
    // An idle agent waits for no answer, so its open questions were withdrawn.
    this.questions.sync()
    this.#ending = this.#endTurn()
  }

  async #endTurn(begun = this.#turnsBegun): Promise<void> {
    try {
      // Stored before the end is published, so that readers find the whole turn in the transcript.
      this.#publisher.publish()
      await this.#store()
      // A waiting prompt begins the next turn at once, so the agent stays busy.
      const waiting = await acceptedPrompts(this.#deps.db, this.#daemon.sessionId)
      this.#heldEnd = waiting.length > 0 ? begun : -1
      if (waiting.length > 0) this.#on.nextPrompt()
      if (waiting.length > 0 || begun !== this.#turnsBegun) return
      // The error event may have been missed while the stream was disconnected.
      const failure = this.turn === 'busy' ? this.#conversation.failure() : null
      this.#setTurn(failure === null ? 'idle' : 'error', failure)
    } catch (error) {
      this.#deps.log.warn(
        { err: error, session_id: this.#daemon.sessionId },
        'publishing the end of a turn failed; retrying',
      )
      await pause(storeMs, this.#stop.signal)
      if (!this.#stop.signal.aborted) await this.#endTurn(begun)
    }
  }

  #setTurn(status: 'busy' | 'idle' | 'error', error: TurnFailure | null): void {
    const turn = status === 'error' ? 'idle' : status
    if (turn === this.turn && status !== 'error') return
    this.turn = turn
    if (turn === 'idle') this.#turnEnded(error)
    else this.span.begin()
    if (error !== null && error.code !== abortedCode)
      for (const id of this.#conversation.showFailure(error, this.#prompt, this.#deps.now())) this.#touch(id)
    // The messages of the turn are published before its end.
    this.#publisher.publish()
    this.#storeSoon()
    this.#deps.feed.publish(this.#daemon.sessionId, { type: 'turn', status, error: error?.message ?? null })
  }

  #turnEnded(failure: TurnFailure | null): void {
    this.#ended.push(failure)
    this.span.end(failure)
  }

  #touch(messageId: string): void {
    this.#publisher.touch(messageId)
    this.#unstored.add(messageId)
    this.#storeTimer ??= setTimeout(() => this.#storeSoon(), storeMs)
  }

  #storeSoon(): void {
    if (this.#storeTimer !== null) clearTimeout(this.#storeTimer)
    this.#storeTimer = null
    void this.#store()
  }

  /** Writes one batch at a time, so that an older state of a message never overwrites a newer one. */
  #store(): Promise<void> {
    this.#storing = this.#storing.then(async () => {
      const ids = [...this.#unstored]
      this.#unstored.clear()
      try {
        for (const id of ids) {
          const message = this.#conversation.message(id)
          if (message !== null) await this.#writer.write(message)
        }
        const isBusy = this.turn === 'busy'
        const ended = [...this.#ended]
        if (isBusy !== this.#storedBusy || ended.length > 0)
          await setBusy(this.#deps.db, this.#daemon, { isBusy, ended, at: this.#deps.now() })
        this.#ended.splice(0, ended.length)
        if (ended.length > 0) this.#on.turnStored()
        this.#storedBusy = isBusy
        if (ids.length > 0) await this.#writer.recordActivity()
      } catch (error) {
        for (const id of ids) this.#unstored.add(id)
        this.#deps.log.warn({ err: error, session_id: this.#daemon.sessionId }, 'storing messages failed; retrying')
        if (!this.#stop.signal.aborted) this.#storeTimer ??= setTimeout(() => this.#storeSoon(), storeMs)
      }
    })
    return this.#storing
  }
}
