/** Follows the conversation in one sandbox: keeps it in the database and tells the feed. */
import type { Message } from '@svc/contract'
import { createParser } from 'eventsource-parser'
import type { Deps } from '../deps.ts'
import { setBusy } from './activity-store.ts'
import { abortedCode, Conversation, type TurnFailure } from './conversation.ts'
import { askRuntime, boundedText, type DaemonAddress, readHealth } from './daemon-client.ts'
import type { Redactor } from '../redaction/redaction.ts'
import { pause } from '../pause.ts'
import { AgentQuestions } from './questions/agent-questions.ts'
import { quietMs, Said } from './said.ts'
import { acceptedPrompts, type AcceptedPrompt } from './prompt-store.ts'
import { updateSession, upsertMessage } from './store.ts'
import { TranscriptQuota } from './transcript-quota.ts'

type FollowDeps = Pick<Deps, 'db' | 'config' | 'feed' | 'now' | 'newId' | 'log'>

const feedMs = 40
/** A little later than a text counts as quiet, so that one look shows it. */
const releaseMs = quietMs + 10
const keepMs = 1_000
const activityMs = 10_000
const reconnectMsMax = 2_000
const historyBytesMax = 64 * 1024 * 1024
const statusBytesMax = 1024 * 1024
/** A runtime's event is at most a whole message part. */
const eventCharsMax = 8 * 1024 * 1024

export interface RuntimeEvents {
  /** It died and is tried again, with what it said; null once it answers again. */
  trouble: (what: string | null) => void
  /** It will not be tried again. */
  givenUp: (reason: string) => void
  /** The session's row says how a turn ended. */
  turnKept: () => void
}

export class Follower {
  turn: 'busy' | 'idle' = 'idle'
  readonly questions: AgentQuestions
  #turnsBegun = 0
  /** The turn whose end was not told, since a prompt was still waiting then. */
  #endHeld = -1
  readonly #deps: FollowDeps
  readonly #daemon: DaemonAddress
  readonly #userId: string
  readonly #conversation: Conversation
  readonly #stop = new AbortController()
  readonly #unfed = new Set<string>()
  readonly #unkept = new Set<string>()
  #feedTimer: NodeJS.Timeout | null = null
  /** Messages whose last characters stay back until more follows, or nothing does. */
  readonly #heldBack = new Set<string>()
  #releaseTimer: NodeJS.Timeout | null = null
  #keepTimer: NodeJS.Timeout | null = null
  #keeping: Promise<void> = Promise.resolve()
  readonly #on: RuntimeEvents
  #runtimeStarts: number | null = null
  #isInTrouble = false
  #activeAt = 0
  /** Turns that ended and were not told of yet, with what went wrong in them. */
  readonly #ended: (TurnFailure | null)[] = []
  /** What the turn under way began with. */
  #prompt: AcceptedPrompt | null
  /** As the database has it, for the sweeps of other servers. */
  #busyKept = false
  #followed: Promise<void> = Promise.resolve()
  #quota: TranscriptQuota | null = null

  constructor(
    deps: FollowDeps,
    daemon: DaemonAddress,
    input: {
      userId: string
      runtimeSessionId: string | null
      turn: 'busy' | 'idle'
      /** What the turn under way began with, if one is. */
      prompt: AcceptedPrompt | null
      redactor: Redactor
      on: RuntimeEvents
    },
  ) {
    this.#on = input.on
    this.#deps = deps
    this.#daemon = daemon
    this.#userId = input.userId
    this.#conversation = new Conversation(input.runtimeSessionId, new Said(input.redactor, deps.now))
    this.questions = new AgentQuestions(deps, daemon, { ...input, signal: this.#stop.signal })
    this.turn = input.turn
    this.#prompt = input.prompt
    if (this.turn === 'busy') this.#keepSoon()
  }

  start(): void {
    this.#followed = this.#follow()
  }

  /** The runtime session a prompt went to. */
  adopt(runtimeSessionId: string): void {
    this.#conversation.runtimeSessionId = runtimeSessionId
  }

  /** False when one is under way already. */
  beginTurn(prompt: AcceptedPrompt): boolean {
    const begins = this.turn === 'idle'
    if (begins) {
      this.#prompt = prompt
      this.#conversation.beginTurn()
    }
    this.#turnsBegun++
    this.#setTurn('busy', null)
    return begins
  }

  /** The prompt of this turn waits no more. A quick answer can have ended before that was written down. */
  promptSettled(): void {
    if (this.#endHeld === this.#turnsBegun) void this.#endTurn()
  }

  /** The turn under way ended, or the one that was to begin did not. */
  failTurn(failure: TurnFailure): void {
    this.#setTurn('error', failure)
  }

  /** A prompt that the agent did not get stands in the conversation, with the reason. Kept when this resolves. */
  async failPrompt(prompt: AcceptedPrompt, reason: string): Promise<void> {
    this.#conversation.failPrompt(prompt, reason)
    this.#touch(prompt.prompt_id)
    this.#feed()
    await this.#keep()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#followed
    await this.questions.settled()
    if (this.#feedTimer !== null) clearTimeout(this.#feedTimer)
    if (this.#releaseTimer !== null) clearTimeout(this.#releaseTimer)
    if (this.#keepTimer !== null) clearTimeout(this.#keepTimer)
    for (const messageId of this.#conversation.end()) {
      this.#unfed.add(messageId)
      this.#unkept.add(messageId)
    }
    this.#feed()
    await this.#keep()
  }

  async #follow(): Promise<void> {
    let waitMs = 100
    while (!this.#stop.signal.aborted) {
      try {
        await this.#followOnce(() => (waitMs = 100))
      } catch (error) {
        if (this.#stop.signal.aborted) return
        this.#deps.log.debug(
          { err: error, session_id: this.#daemon.sessionId },
          'the event stream of a sandbox was cut; reading it again',
        )
        await this.#lookAtRuntime()
      }
      await pause(waitMs, this.#stop.signal)
      waitMs = Math.min(waitMs * 2, reconnectMsMax)
    }
  }

  /** The stream first, then what is there: the other order would miss what happens in between. */
  async #followOnce(connected: () => void): Promise<void> {
    const response = await this.#ask('/event')
    if (!response.ok || response.body === null) throw new Error(`The event stream answered ${response.status}.`)
    connected()
    this.questions.sync()
    await this.#loadHistory()
    await this.#lookAtRuntime()
    const parser = createParser({ onEvent: ({ data }) => this.#onEvent(data), maxBufferSize: eventCharsMax })
    const decoder = new TextDecoder()
    for await (const chunk of response.body) parser.feed(decoder.decode(chunk, { stream: true }))
  }

  async #loadHistory(): Promise<void> {
    const id = this.#conversation.runtimeSessionId
    if (id === null) return
    const response = await this.#ask(`/session/${encodeURIComponent(id)}/message`)
    if (!response.ok) return
    const messageIds = this.#conversation.load(JSON.parse(await boundedText(response, historyBytesMax)))
    for (const messageId of messageIds) this.#touch(messageId)
    const last = messageIds.at(-1)
    if (this.turn === 'busy' && last !== undefined) await this.#catchUpWithTurn(id, last)
  }

  /** The daemon starts a runtime that died again and again, with growing pauses, until it gives it up. */
  async #lookAtRuntime(): Promise<void> {
    const outcome = await readHealth(this.#daemon.socket)
    if (outcome.kind !== 'ok' || this.#stop.signal.aborted) return
    const { status, runtime, runtime_starts: starts, error } = outcome.value
    const before = this.#runtimeStarts
    this.#runtimeStarts = starts
    if (status === 'failed') {
      this.#on.givenUp(error ?? 'The agent runtime ended and does not say why.')
      return
    }
    const isInTrouble = runtime !== 'ready' && error !== null
    if (isInTrouble !== this.#isInTrouble) this.#on.trouble(isInTrouble ? `${error} It is being started again.` : null)
    this.#isInTrouble = isInTrouble
    // What it was at went with it, and nobody will say that this turn has ended.
    if (before !== null && starts > before && this.turn === 'busy')
      this.#setTurn('error', {
        code: 'runtime_ended',
        message: 'The agent runtime ended during this turn and was started again.',
      })
  }

  /** A turn that ended before the stream was there, or while it was cut, would count as busy for ever. */
  async #catchUpWithTurn(runtimeSessionId: string, lastMessageId: string): Promise<void> {
    const message = this.#conversation.message(lastMessageId)
    if (message?.role !== 'assistant' || message.completed_at === null) return
    const status = await this.#statusOf(runtimeSessionId)
    if (status === 'idle') this.#onTurn('idle', null)
  }

  /** Null when the runtime does not say: another one than ours may know no such question. */
  async #statusOf(runtimeSessionId: string): Promise<string | null> {
    const response = await this.#ask('/session/status')
    const text = await boundedText(response, statusBytesMax)
    if (!response.ok) return null
    try {
      const statuses = JSON.parse(text) as Record<string, { type?: string } | undefined> | null
      return statuses === null ? null : (statuses[runtimeSessionId]?.type ?? 'idle')
    } catch {
      return null
    }
  }

  #ask(path: string): Promise<Response> {
    return askRuntime(this.#daemon, {
      method: 'GET',
      path,
      userId: this.#userId,
      role: 'member',
      signal: this.#stop.signal,
    })
  }

  #onEvent(data: string): void {
    let event: unknown
    try {
      event = JSON.parse(data)
    } catch {
      this.#deps.log.debug({ session_id: this.#daemon.sessionId }, 'a runtime event was not JSON')
      return
    }
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
    // An agent that is done waits for no answer: what a turn left open was withdrawn with it.
    this.questions.sync()
    void this.#endTurn()
  }

  async #endTurn(begun = this.#turnsBegun): Promise<void> {
    try {
      // Kept before it is told: whoever hears of the end finds the whole turn in the transcript.
      this.#feed()
      await this.#keep()
      // A prompt that waits for delivery begins the next turn: this one's end is not the end.
      const waiting = await acceptedPrompts(this.#deps.db, this.#daemon.sessionId)
      this.#endHeld = waiting.length > 0 ? begun : -1
      if (waiting.length > 0 || begun !== this.#turnsBegun) return
      // The event that says so may have been missed while the stream was cut.
      const failure = this.turn === 'busy' ? this.#conversation.failure() : null
      this.#setTurn(failure === null ? 'idle' : 'error', failure)
    } catch (error) {
      this.#deps.log.warn(
        { err: error, session_id: this.#daemon.sessionId },
        'the end of a turn could not be told; trying again',
      )
      await pause(keepMs, this.#stop.signal)
      if (!this.#stop.signal.aborted) await this.#endTurn(begun)
    }
  }

  #setTurn(status: 'busy' | 'idle' | 'error', error: TurnFailure | null): void {
    const turn = status === 'error' ? 'idle' : status
    if (turn === this.turn && status !== 'error') return
    this.turn = turn
    if (turn === 'idle') this.#ended.push(error)
    if (error !== null && error.code !== abortedCode) this.#showFailure(error)
    // What the turn said is told before that it ended.
    this.#feed()
    this.#keepSoon()
    this.#deps.feed.publish(this.#daemon.sessionId, { type: 'turn', status, error: error?.message ?? null })
  }

  /** The reason stays where the turn is: at its last message, or at its prompt when the runtime wrote none. */
  #showFailure({ message }: TurnFailure): void {
    const messageId = this.#conversation.failTurn(message)
    if (messageId !== null) this.#touch(messageId)
    else if (this.#prompt !== null && this.#conversation.isEmptyTurn) {
      this.#conversation.failPrompt(this.#prompt, message)
      this.#touch(this.#prompt.prompt_id)
    }
  }

  #touch(messageId: string): void {
    this.#unfed.add(messageId)
    this.#unkept.add(messageId)
    this.#feedTimer ??= setTimeout(() => this.#feed(), feedMs)
    this.#keepTimer ??= setTimeout(() => this.#keepSoon(), keepMs)
  }

  #feed(): void {
    if (this.#feedTimer !== null) clearTimeout(this.#feedTimer)
    this.#feedTimer = null
    for (const messageId of this.#unfed) {
      const message = this.#conversation.message(messageId)
      if (message !== null) this.#deps.feed.publish(this.#daemon.sessionId, { type: 'message', message })
      if (this.#conversation.holdsBack(messageId)) this.#heldBack.add(messageId)
    }
    this.#unfed.clear()
    if (this.#heldBack.size > 0 && !this.#stop.signal.aborted)
      this.#releaseTimer ??= setTimeout(() => this.#release(), releaseMs)
  }

  /** Shows what silence shows; what has grown meanwhile waits again. */
  #release(): void {
    this.#releaseTimer = null
    const messageIds = [...this.#heldBack]
    this.#heldBack.clear()
    for (const messageId of messageIds) if (this.#conversation.holdsBack(messageId)) this.#touch(messageId)
  }

  #keepSoon(): void {
    if (this.#keepTimer !== null) clearTimeout(this.#keepTimer)
    this.#keepTimer = null
    void this.#keep()
  }

  /** One write at a time, in order, so that an older state of a message never lands over a newer one. */
  #keep(): Promise<void> {
    this.#keeping = this.#keeping.then(async () => {
      const ids = [...this.#unkept]
      this.#unkept.clear()
      try {
        for (const id of ids) {
          const message = this.#conversation.message(id)
          if (message !== null) await this.#keepMessage(message)
        }
        const isBusy = this.turn === 'busy'
        const ended = [...this.#ended]
        if (isBusy !== this.#busyKept || ended.length > 0)
          await setBusy(this.#deps.db, this.#daemon, { isBusy, ended, at: this.#deps.now() })
        this.#ended.splice(0, ended.length)
        if (ended.length > 0) this.#on.turnKept()
        this.#busyKept = isBusy
        if (ids.length > 0) await this.#noteActivity()
      } catch (error) {
        for (const id of ids) this.#unkept.add(id)
        this.#deps.log.warn(
          { err: error, session_id: this.#daemon.sessionId },
          'messages could not be kept; trying again',
        )
        if (!this.#stop.signal.aborted) this.#keepTimer ??= setTimeout(() => this.#keepSoon(), keepMs)
      }
    })
    return this.#keeping
  }

  async #keepMessage(message: Message): Promise<void> {
    const { db, config } = this.#deps
    const { sessionId, generation } = this.#daemon
    this.#quota ??= await TranscriptQuota.open(db, config, sessionId)
    const kept = this.#quota.fit(message)
    if (kept !== null) await upsertMessage(db, sessionId, generation, kept)
  }

  async #noteActivity(): Promise<void> {
    const now = this.#deps.now()
    if (now.getTime() - this.#activeAt < activityMs) return
    this.#activeAt = now.getTime()
    await updateSession(this.#deps.db, this.#daemon.sessionId, { last_active_at: now.toISOString() })
  }
}
