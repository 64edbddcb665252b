/** Server-sent events to one reader, who may be slow or disconnect at any time. */
const heartbeatMs = 15_000
/** A reader this far behind is disconnected and reconnects; memory is not its buffer. */
const queueBytesMax = 4 * 1024 * 1024

/** A client that does not ask for JSON only gets a stream. */
export function wantsPage(accept: string | null): boolean {
  return accept !== null && accept.includes('application/json') && !accept.includes('text/event-stream')
}

/** A reply that `tell` writes to. Whatever it opens ends when the reader disconnects; see EventChannel.onClose. */
export function eventStream(signal: AbortSignal, feed: (channel: EventChannel) => Promise<void>): Response {
  let channel: EventChannel | null = null
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const made = new EventChannel(controller)
        channel = made
        signal.addEventListener('abort', () => made.close(), { once: true })
        if (signal.aborted) made.close()
        void feed(made)
      },
      pull: () => channel?.wake(),
      cancel: () => channel?.close(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  )
  return new Response(stream, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  })
}

export class EventChannel {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>
  readonly #encoder = new TextEncoder()
  readonly #heartbeat: NodeJS.Timeout
  #isClosed = false
  #wake: () => void = () => {}
  #closed: () => void = () => {}

  constructor(controller: ReadableStreamDefaultController<Uint8Array>) {
    this.#controller = controller
    this.#heartbeat = setInterval(() => this.sendNow(': still here\n\n'), heartbeatMs)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Waits for a reader who is far behind. */
  async send(text: string): Promise<void> {
    while (!this.#isClosed && this.#behind() > queueBytesMax)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    this.sendNow(text)
  }

  /** Disconnects a reader who is far behind: it reconnects and reads the current state. */
  sendNow(text: string): void {
    if (this.#isClosed) return
    if (this.#behind() > queueBytesMax) this.close()
    else this.#controller.enqueue(this.#encoder.encode(text))
  }

  /** The reader took something. */
  wake(): void {
    this.#wake()
  }

  onClose(closed: () => void): void {
    this.#closed = closed
    if (this.#isClosed) closed()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#heartbeat)
    this.#closed()
    this.#wake()
    try {
      this.#controller.close()
    } catch {
      closedByReader()
    }
  }

  #behind(): number {
    return -(this.#controller.desiredSize ?? 0)
  }
}

function closedByReader(): void {}
