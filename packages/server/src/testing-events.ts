import type { EventSourceMessage } from 'eventsource-parser'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { until } from './testing-until.ts'

/** The server-sent events of a response, as they come. */
export function eventsOf(body: ReadableStream<Uint8Array>): ReadableStream<EventSourceMessage> {
  return body.pipeThrough<string>(new TextDecoderStream() as never).pipeThrough(new EventSourceParserStream())
}

/** Gives each event to `take` in the background; `find` waits for the first one, past or future, that fits. */
export function readInBackground<Event>(response: Response, take: (message: EventSourceMessage) => Event) {
  if (response.status !== 200 || response.body === null) throw new Error(`The stream answered ${response.status}.`)
  const seen: Event[] = []
  const reader = eventsOf(response.body).getReader()
  const ended = (async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) seen.push(take(next.value))
  })()
  return {
    seen,
    ended,
    find: (what: string, fits: (event: Event) => boolean) =>
      until(`an event comes: ${what}`, () => seen.find(fits) ?? null),
    async close() {
      await reader.cancel()
      await ended
    },
  }
}
