import { once } from 'node:events'
import type { Logger } from 'pino'
import { withDeadline } from '../deadline.ts'

/** A container engine kills the server ten seconds after its signal. */
const endMsMax = 9_500
/** The share of open requests, jobs and sandboxes. The rest is for closing the database. */
const drainMsMax = 7_000

/** Time for the last output of a process that has ended its work. */
const leaveMs = 250

type ShutdownOptions = { log: Pick<Logger, 'info' | 'error'>; exit?: (code: number) => void; endMs?: number }

/** The end of the server from its first signal on. It has a deadline, and names what does not end by then. */
export class Shutdown {
  readonly #stopping = new AbortController()
  readonly #pending = new Set<string>()
  readonly #options: ShutdownOptions
  #beganAt = 0
  #deadline: Timer | undefined

  constructor(options: ShutdownOptions) {
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Later signals change nothing. False when the server stops for another reason already. */
  begin(reason: string): boolean {
    if (this.signal.aborted) return this.signal.reason === reason
    this.#beganAt = performance.now()
    this.#options.log.info({ signal: reason }, 'stopping')
    this.#deadline = setTimeout(() => this.#exit(), this.#options.endMs ?? endMsMax).unref()
    this.#stopping.abort(reason)
    return true
  }

  async requested(): Promise<void> {
    if (!this.signal.aborted) await once(this.signal, 'abort')
  }

  /** Waits for a part of the start or the end. */
  async wait<T>(name: string, work: Promise<T>): Promise<T> {
    this.#pending.add(name)
    try {
      return await work
    } finally {
      this.#pending.delete(name)
    }
  }

  /** The same for work of callers, agents and foreign hosts. The end goes on without what fails, or takes longer than its share. */
  async drain(name: string, work: Promise<unknown>): Promise<void> {
    const spentMs = this.signal.aborted ? performance.now() - this.#beganAt : 0
    const ended = work.catch((error: unknown) =>
      this.#options.log.error({ err: error, part: name }, 'a part of the server failed to end; the others go on'),
    )
    await withDeadline(this.wait(name, ended), Math.max(0, drainMsMax - spentMs), () => null)
  }

  /** Call when everything is closed. Work that the end did not wait for, such as a git of a cut request, does not keep the process. */
  over(): void {
    if (this.#pending.size > 0) return this.#exit()
    clearTimeout(this.#deadline)
    this.#options.log.info('stopped')
    setTimeout(() => this.#end(0), leaveMs).unref()
  }

  #exit(): void {
    const unfinished = [...this.#pending]
    this.#options.log.error(
      { unfinished: unfinished.join(', ') || 'a step of the start, or an open connection' },
      'the server exits although not everything has ended; the next start continues the work',
    )
    this.#end(1)
  }

  #end(code: number): void {
    const exit = this.#options.exit ?? process.exit
    exit(code)
  }
}
