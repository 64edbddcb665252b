/** Who takes longer than a boot does waits for something else, such as a clone or a project's own setup. */
const holdMs = 20_000

/**
 * How many sandboxes boot at a time. A boot is a second of computing; twenty at once on two cores would all end late
 * together, and on a busy machine later than anybody waits. In turns the first ones run soon.
 */
export class BootQueue {
  readonly #atOnce: number
  readonly #waiting: (() => void)[] = []
  #booting = 0

  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  load(): { booting: number; waiting: number } {
    return { booting: this.#booting, waiting: this.#waiting.length }
  }

  /** Rejects with the reason of `signal` when it gives up its place; what has begun hears of it itself. */
  async run<T>(signal: AbortSignal, boot: () => Promise<T>): Promise<T> {
    await this.#turn(signal)
    let holds = true
    const passOn = () => {
      if (!holds) return
      holds = false
      this.#booting--
      this.#waiting.shift()?.()
    }
    const timer = setTimeout(passOn, holdMs)
    try {
      return await boot()
    } finally {
      clearTimeout(timer)
      passOn()
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#booting < this.#atOnce) {
      this.#booting++
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener('abort', giveUp)
        this.#booting++
        resolve()
      }
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#waiting.push(begin)
    })
  }
}
