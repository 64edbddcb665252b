/**
 * Shares one question among many askers without ever handing out an answer older than the asking: an asker may join
 * only a flight that started after it came. So at most one runs and one waits per key, whatever the number of askers.
 */
interface Flights<Q, A> {
  /** Of those whose question is on its way, or was the last to be. */
  askers: number
  next: Waiting<Q, A> | null
  /** With so many the next flight need not wait for more; Infinity unless it waits for a crowd. */
  crowd: number
  gathering: ReturnType<typeof setTimeout> | undefined
}

interface Waiting<Q, A> {
  question: Q
  askers: number
  answer: Promise<A>
  settle: (answer: Promise<A>) => void
}

/**
 * Readers who ask again as soon as they are answered come back one by one, and a flight that leaves with the first of
 * them makes all others wait for another one: fifty readers then share a flight by tens. So where a flight is dear the
 * next one waits for them twice as long as the last one took, and once more while they still come. A few askers are
 * never made to wait.
 */
const crowdMin = 8
const gatherMsMax = 25
const gathersMax = 3

export class LiveFlights<Q, A> {
  #flights = new Map<string, Flights<Q, A>>()
  readonly #ask: (question: Q) => Promise<A>
  readonly #join: (one: Q, other: Q) => Q
  readonly #isDear: boolean

  constructor(ask: (question: Q) => Promise<A>, join: (one: Q, other: Q) => Q, options: { isDear?: boolean } = {}) {
    this.#ask = ask
    this.#join = join
    this.#isDear = options.isDear ?? false
  }

  ask(key: string, question: Q): Promise<A> {
    let flights = this.#flights.get(key)
    if (!flights) {
      flights = { askers: 0, next: null, crowd: Infinity, gathering: undefined }
      this.#flights.set(key, flights)
      // At the end of this turn of the event loop, with all who come in it.
      const made = flights
      setImmediate(() => this.#leave(key, made))
    }
    const { next } = flights
    if (!next) {
      const { promise: answer, resolve: settle } = Promise.withResolvers<A>()
      flights.next = { question, askers: 1, answer, settle }
      return answer
    }
    next.question = this.#join(next.question, question)
    next.askers++
    if (next.askers >= flights.crowd) this.#leave(key, flights)
    return next.answer
  }

  #leave(key: string, flights: Flights<Q, A>): void {
    const { next, gathering } = flights
    clearTimeout(gathering)
    if (next === null) return void this.#flights.delete(key)
    flights.askers = next.askers
    flights.next = null
    flights.crowd = Infinity
    const startedAt = performance.now()
    const running = this.#begin(next.question)
    const land = () => this.#land(key, flights, performance.now() - startedAt)
    running.then(land, land)
    next.settle(running)
  }

  /** What it throws at once is told to its askers, too. */
  #begin(question: Q): Promise<A> {
    try {
      return this.#ask(question)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  #land(key: string, flights: Flights<Q, A>, tookMs: number): void {
    if (!this.#isDear || flights.askers < crowdMin) return this.#leave(key, flights)
    // Somebody may have gone for good.
    flights.crowd = Math.ceil((flights.askers + (flights.next?.askers ?? 0)) * 0.9)
    this.#gather(key, flights, Math.min(tookMs, gatherMsMax / gathersMax), gathersMax)
  }

  #gather(key: string, flights: Flights<Q, A>, ms: number, times: number): void {
    const before = flights.next?.askers ?? 0
    flights.gathering = setTimeout(() => {
      // The first of them may need that long to be back.
      const mayCome = times === gathersMax || (flights.next?.askers ?? 0) > before
      if (mayCome && times > 1) this.#gather(key, flights, ms, times - 1)
      else this.#leave(key, flights)
    }, ms)
  }
}
