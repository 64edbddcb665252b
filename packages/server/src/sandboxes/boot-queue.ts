/** A start that outlasts this is blocked on a clone or setup, so its slot is released. */
const holdMs = 20_000

/** Limits how many sandboxes boot at a time. A boot takes a second of CPU, so many at once would all finish late. */
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

  /** Rejects with the reason of `signal` while waiting. A boot that has begun handles the signal itself. */
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
