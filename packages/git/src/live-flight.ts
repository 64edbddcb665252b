/**
 * Shares one question among many askers without ever handing out an answer older than the asking: an asker may join
 * only a flight that started after it came. So at most one runs and one waits per key, whatever the number of askers.
 */
interface Flights<Q, A> {
  /** Of those whose question is on its way. 0: a crowd was answered just now, and comes back. */
  askers: number
  next: Waiting<Q, A> | null
  /** With so many the next flight is full. */
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
 * next one waits for them, no longer than the last one took. A few askers are never made to wait.
 */
const crowdMin = 8
const gatherMsMax = 25

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
    const flights = this.#flights.get(key)
    if (!flights) return this.#start(key, question, 1)
    const { next } = flights
    if (!next) {
      const { promise: answer, resolve: settle } = Promise.withResolvers<A>()
      flights.next = { question, askers: 1, answer, settle }
      return answer
    }
    next.question = this.#join(next.question, question)
    next.askers++
    if (flights.askers === 0 && next.askers >= flights.crowd) this.#goOn(key, flights)
    return next.answer
  }

  #start(key: string, question: Q, askers: number): Promise<A> {
    const flights: Flights<Q, A> = { askers, next: null, crowd: 0, gathering: undefined }
    this.#flights.set(key, flights)
    const startedAt = performance.now()
    // What it throws at once is told to its askers, too.
    const running = (async () => this.#ask(question))()
    const land = () => this.#land(key, flights, performance.now() - startedAt)
    running.then(land, land)
    return running
  }

  #land(key: string, flights: Flights<Q, A>, tookMs: number): void {
    if (!this.#isDear || flights.askers < crowdMin) return this.#goOn(key, flights)
    // Somebody may have gone for good.
    flights.crowd = Math.ceil((flights.askers + (flights.next?.askers ?? 0)) * 0.9)
    flights.askers = 0
    flights.gathering = setTimeout(() => this.#goOn(key, flights), Math.min(tookMs, gatherMsMax))
  }

  #goOn(key: string, { next, gathering }: Flights<Q, A>): void {
    clearTimeout(gathering)
    this.#flights.delete(key)
    if (next) next.settle(this.#start(key, next.question, next.askers))
  }
}
