/** Server-sent events as they come. */
import { createParser } from 'eventsource-parser'
import { Refusal } from './errors.ts'

/** An event is held whole before it is handed on. */
const charactersMax = 32 * 1024 * 1024

export interface StreamedEvent {
  event: string
  data: string
  id: string | null
}

/** `of` says in an error whose events they are. */
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
