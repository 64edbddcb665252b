/**
 * Shares one question among many askers without ever handing out an answer older than the asking: an asker may join
 * only a flight that started after it came. So at most one runs and one waits per key, whatever the number of askers.
 */
interface Flights<Q, A> {
  running: Promise<A>
  next: { question: Q; answer: Promise<A> } | null
}

export class LiveFlights<Q, A> {
  #flights = new Map<string, Flights<Q, A>>()
  readonly #ask: (question: Q) => Promise<A>
  readonly #join: (one: Q, other: Q) => Q

  constructor(ask: (question: Q) => Promise<A>, join: (one: Q, other: Q) => Q) {
    this.#ask = ask
    this.#join = join
  }

  ask(key: string, question: Q): Promise<A> {
    const flights = this.#flights.get(key)
    if (!flights) return this.#start(key, question)
    if (flights.next) {
      flights.next.question = this.#join(flights.next.question, question)
      return flights.next.answer
    }
    const waiting = {
      question,
      answer: flights.running.then(
        () => this.#startNext(key),
        () => this.#startNext(key),
      ),
    }
    flights.next = waiting
    return waiting.answer
  }

  #start(key: string, question: Q): Promise<A> {
    const running = this.#ask(question)
    const flights: Flights<Q, A> = { running, next: null }
    this.#flights.set(key, flights)
    const land = () => {
      if (this.#flights.get(key) === flights && !flights.next) this.#flights.delete(key)
    }
    running.then(land, land)
    return running
  }

  #startNext(key: string): Promise<A> {
    const next = this.#flights.get(key)?.next
    if (!next) throw new Error('A waiting flight was started twice.')
    return this.#start(key, next.question)
  }
}
