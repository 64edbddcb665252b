import { ServiceError } from '@svc/contract/errors'
import { createParser } from 'eventsource-parser'
import type { Context } from './context.ts'
import { Refusal } from './errors.ts'

/** The largest event in memory. */
const charactersMax = 32 * 1024 * 1024

interface StreamedEvent {
  event: string
  data: string
  id: string | null
}

/** `of` names the source of the events in an error. */
export async function* streamedEvents(stream: ReadableStream<Uint8Array>, of: string): AsyncGenerator<StreamedEvent> {
  const waiting: StreamedEvent[] = []
  const parser = createParser({
    maxBufferSize: charactersMax,
    onEvent: ({ event, data, id }) => waiting.push({ event: event ?? 'message', data, id: id ?? null }),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded')
        throw new Refusal('bad_answer', `An event of ${of} is too large to follow`, { cause: error })
    },
  })
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    yield* waiting.splice(0)
  }
}

/** Attempts go on for this long in all, since the upgrade of a server may take two minutes. */
const patienceMs = 150_000
const pauseMs = 500
const pauseMsMax = 3_000

interface Guidance {
  hint?: () => string
  /** The command that continues. */
  next: readonly string[]
}

/** A server that stops, restarts or cannot be reached for a while. */
export class Outage {
  readonly #ctx: Pick<Context, 'io' | 'out'>
  readonly #guidance: Guidance
  #isReached: boolean
  #waitedMs = 0

  constructor(ctx: Pick<Context, 'io' | 'out'>, { isReached, ...guidance }: Guidance & { isReached: boolean }) {
    this.#ctx = ctx
    this.#isReached = isReached
    this.#guidance = guidance
  }

  /** The server answers. */
  over(): void {
    this.#isReached = true
    this.#waitedMs = 0
  }

  /** Waits before the next attempt. Throws when the server was never reached, does not come back, or when the error is final. */
  async wait(error: unknown): Promise<void> {
    const { io, out } = this.#ctx
    if (!this.#isReached || !isPassing(error)) throw error
    if (this.#waitedMs >= patienceMs)
      throw new Refusal('unreachable', `The server did not come back: ${(error as Error).message}`, {
        hint: this.#guidance.hint?.(),
        next: this.#guidance.next,
        cause: error,
      })
    if (this.#waitedMs === 0) out.progress('Reconnecting…')
    const ms = Math.min(pauseMsMax, Math.max(pauseMs, this.#waitedMs))
    this.#waitedMs += ms
    await io.sleep(ms)
  }

  /** Repeats a request that may be repeated. */
  async until<T>(request: () => Promise<T>): Promise<T> {
    for (;;)
      try {
        const answer = await request()
        this.over()
        return answer
      } catch (error) {
        await this.wait(error)
      }
  }
}

interface Endless {
  /** Names the source of the events in an error. */
  of: string
  after: string | null
  signal: AbortSignal
  outage: Outage
  open: (headers: Record<string, string>) => Promise<ReadableStream<Uint8Array>>
}

/** Never ends: reopens a stream that ends or breaks after its last event. */
export async function* endlessEvents({ io }: Pick<Context, 'io'>, options: Endless): AsyncGenerator<StreamedEvent> {
  const { outage, signal } = options
  let lastId = options.after
  for (;;) {
    try {
      const after: Record<string, string> = lastId === null ? {} : { 'Last-Event-ID': lastId }
      const stream = await options.open({ Accept: 'text/event-stream', ...after })
      for await (const event of streamedEvents(stream, options.of)) {
        outage.over()
        lastId = event.id ?? lastId
        yield event
      }
      // The server ends every stream after a while, so an end is no failure.
      await io.sleep(pauseMs)
    } catch (error) {
      if (signal.aborted) throw error
      await outage.wait(error)
    }
    signal.throwIfAborted()
  }
}

/** A refusal is final; a broken connection or an unavailable server is retried. */
function isPassing(error: unknown): boolean {
  // In progress: the first attempt of a request still runs, or ended with its server.
  if (error instanceof ServiceError) return ['unavailable', 'internal', 'idempotency_in_progress'].includes(error.code)
  // A reverse proxy answers so while the server behind it is away.
  if (error instanceof Refusal && error.code === 'bad_answer')
    return [502, 503, 504].includes(Number(error.detail.status))
  return !(error instanceof Refusal) || error.code === 'unreachable' || error.code === 'timed_out'
}
