/** Forwards a response event by event and counts its usage. An event that contains a key of this server is replaced. */
import { parseJson } from '@svc/contract'
import { errorInShape, isUsageOnly, type Tokens, UsageReader } from '../shapes.ts'
import { type Shape, withheldAnswer } from '../upstreams/upstreams.ts'

/** Events are short; a longer one is forwarded without parsing. */
const eventBytesMax = 4 * 1024 * 1024

export interface Metering {
  shape: Shape
  hidesCount: boolean
  estimated: { in: number }
  /** Replaces a text that contains a key of this server. */
  guard: (text: string) => string
  /** Called exactly once; with null when the call did not happen. */
  ended: (tokens: Tokens | null) => void
}

export function meteredStream(body: ReadableStream<Uint8Array>, metering: Metering): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const usage = new UsageReader(metering.shape)
  const events = new EventSplitter()
  let isEnded = false
  const end = () => {
    if (isEnded) return
    isEnded = true
    metering.ended(usage.tokens(metering.estimated))
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await reader.read()
            if (done) {
              const rest = events.rest()
              if (rest.length > 0) controller.enqueue(guarded(rest, metering))
              end()
              controller.close()
              return
            }
            const whole = events.push(value)
            for (const event of whole) usage.read(event.data)
            const shown = whole
              .filter((event) => !metering.hidesCount || !isUsageOnly(event.data))
              .map((event) => guarded(event.raw, metering))
            if (shown.length > 0) {
              controller.enqueue(Buffer.concat(shown))
              return
            }
          }
        } catch (error) {
          end()
          controller.error(error)
        }
      },
      async cancel(reason) {
        end()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

function guarded(raw: Buffer, { shape, guard }: Metering): Buffer {
  const text = raw.toString('utf8')
  if (guard(text) === text) return raw
  const body = errorInShape(shape, { error: withheldAnswer, code: 'model_upstream_failed' }, 'unavailable')
  return Buffer.from(`${shape === 'anthropic' ? 'event: error\n' : ''}data: ${JSON.stringify(body)}\n\n`)
}

/** A response that is not streamed. */
export function meteredBody(text: string, metering: Metering): void {
  const usage = new UsageReader(metering.shape)
  usage.read(parseJson(text))
  metering.ended(usage.tokens(metering.estimated))
}

/** Splits server-sent events without changing their bytes. */
class EventSplitter {
  #pending: Buffer = Buffer.alloc(0)

  push(chunk: Uint8Array): { raw: Buffer; data: unknown }[] {
    this.#pending = this.#pending.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#pending, chunk])
    const found: { raw: Buffer; data: unknown }[] = []
    for (let end = endOfEvent(this.#pending); end !== -1; end = endOfEvent(this.#pending)) {
      const raw = this.#pending.subarray(0, end)
      this.#pending = this.#pending.subarray(end)
      found.push({ raw, data: dataOf(raw) })
    }
    if (this.#pending.length > eventBytesMax) found.push({ raw: this.rest(), data: null })
    return found
  }

  rest(): Buffer {
    const rest = this.#pending
    this.#pending = Buffer.alloc(0)
    return rest
  }
}

/** The offset after the first event, or -1. */
function endOfEvent(bytes: Buffer): number {
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at + 1] === 10) return at + 2
    if (bytes[at + 1] === 13 && bytes[at + 2] === 10) return at + 3
  }
  return -1
}

function dataOf(raw: Buffer): unknown {
  const lines = raw.toString('utf8').split(/\r?\n/)
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).replace(/^ /, ''))
  return parseJson(data.join('\n'))
}
