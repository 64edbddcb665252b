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

/** About three minutes: a server upgrade may take that long. */
const failuresMax = 20
const pauseMs = 500
const pauseMsMax = 10_000

/** Never ends: reopens a stream that ends or breaks after its last event. */
export async function* endlessEvents(
  { io, out }: Pick<Context, 'io' | 'out'>,
  options: {
    /** Names the source of the events in an error. */
    of: string
    after: string | null
    signal: AbortSignal
    open: (headers: Record<string, string>) => Promise<ReadableStream<Uint8Array>>
  },
): AsyncGenerator<StreamedEvent> {
  let lastId = options.after
  let hasBegun = false
  let failures = 0
  for (;;) {
    try {
      const after: Record<string, string> = lastId === null ? {} : { 'Last-Event-ID': lastId }
      const stream = await options.open({ Accept: 'text/event-stream', ...after })
      for await (const event of streamedEvents(stream, options.of)) {
        hasBegun = true
        failures = 0
        lastId = event.id ?? lastId
        yield event
      }
    } catch (error) {
      if (options.signal.aborted || !hasBegun || !isPassing(error) || ++failures > failuresMax) throw error
      out.passing('Reconnecting…')
    }
    // The server ends every stream after a while, so an end is no failure.
    await io.sleep(Math.min(pauseMsMax, pauseMs * 2 ** Math.max(0, failures - 1)))
    options.signal.throwIfAborted()
  }
}

/** A refusal is final; a broken connection or an unavailable server is retried. */
function isPassing(error: unknown): boolean {
  if (error instanceof ServiceError) return error.code === 'unavailable' || error.code === 'internal'
  return !(error instanceof Refusal) || error.code === 'unreachable' || error.code === 'timed_out'
}
