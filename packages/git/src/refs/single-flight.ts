/**
 * Shares one question among many callers without ever returning an answer older than the call: a caller may join only
 * a flight that starts after it arrived. So each key has at most one running and one pending flight, however many
 * callers there are.
 */
interface Flights<Q, A> {
  /** Callers of the running flight, or of the last one. */
  askers: number
  next: Waiting<Q, A> | null
  /** With this many callers the next flight starts at once; Infinity unless it waits for a crowd. */
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
 * Readers that ask again immediately arrive one by one, and a flight that starts with the first of them makes all
 * others wait for another flight: fifty readers then share flights of about ten. So an expensive flight waits for
 * returning readers up to twice as long as the last flight took, and once more while they still arrive. A few callers
 * never wait.
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
      // At the end of this event loop turn, with all callers that arrive in it.
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

  /** Turns a synchronous exception into a rejection. */
  #begin(question: Q): Promise<A> {
    try {
      return this.#ask(question)
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  #land(key: string, flights: Flights<Q, A>, tookMs: number): void {
    if (!this.#isDear || flights.askers < crowdMin) return this.#leave(key, flights)
    // Some callers may not return.
    flights.crowd = Math.ceil((flights.askers + (flights.next?.askers ?? 0)) * 0.9)
    this.#gather(key, flights, Math.min(tookMs, gatherMsMax / gathersMax), gathersMax)
  }

  #gather(key: string, flights: Flights<Q, A>, ms: number, times: number): void {
    const before = flights.next?.askers ?? 0
    flights.gathering = setTimeout(() => {
      // The first of them may need that long to return.
      const mayCome = times === gathersMax || (flights.next?.askers ?? 0) > before
      if (mayCome && times > 1) this.#gather(key, flights, ms, times - 1)
      else this.#leave(key, flights)
    }, ms)
  }
}
