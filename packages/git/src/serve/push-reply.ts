import { keepAlivePkt, remarkPkt, writeReport, type PushReport } from '../receive/push-report.ts'

const keepAliveMs = 5000

/** The reply to a push that begins before its result is known: what the push waits for, and empty packets for proxies. */
export class PushReply {
  readonly #capabilities: Set<string>
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null
  #said: string | null = null

  constructor(capabilities: Set<string>) {
    this.#capabilities = capabilities
  }

  /**
   * Shows the pusher why the push waits. Before the reply begins, only the newest line is kept. `quiet` does not matter: it
   * is no progress, and git sends that from every program without a terminal.
   */
  readonly say = (line: string): void => {
    if (line === this.#said || !this.#hasSideBand) return
    this.#said = line
    this.#controller?.enqueue(remarkPkt(line))
  }

  /** Starts at once, since the host or the copy may be slow. The push goes on when the pusher disconnects. */
  stream(received: PushReport, result: Promise<PushReport>): ReadableStream<Uint8Array> {
    let timer: ReturnType<typeof setInterval> | undefined
    const end = () => {
      clearInterval(timer)
      this.#controller = null
    }
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller
        if (this.#said !== null) controller.enqueue(remarkPkt(this.#said))
        if (this.#hasSideBand) timer = setInterval(() => controller.enqueue(keepAlivePkt()), keepAliveMs)
        const finish = (report: PushReport) => {
          if (this.#controller === null) return
          end()
          // Refs that receive-pack refused keep its reason; the others get the result of landing.
          const refs = new Map([...received.refs, ...report.refs])
          controller.enqueue(writeReport({ ...report, refs }, this.#capabilities))
          controller.close()
        }
        result.then(finish, (error: unknown) => {
          end()
          controller.error(error)
        })
      },
      cancel: end,
    })
  }

  get #hasSideBand(): boolean {
    return this.#capabilities.has('side-band-64k')
  }
}
