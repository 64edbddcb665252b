/** A start that outlasts this is blocked on a clone or setup, so its slot is released. */
const holdMs = 20_000
/** The load of the machine changes without an event. */
const lookEveryMs = 1_000

/** Whether another sandbox may boot beside `booting` others: null, or the reason why not. */
export type Admission = (booting: number) => string | null

/** `reason`: why the first one waits. The others wait for their turn too. */
export interface PlaceInLine {
  place: number
  of: number
  reason: string
}

interface Waiting {
  owner: string
  begin: () => void
  onPlace: ((place: PlaceInLine) => void) | undefined
  shown: string
}

interface Boot {
  /** Owners take turns, so that many starts of one do not delay another's. */
  owner?: string
  /** Called when the place in line changes, and not for a wait of less than a second. */
  onPlace?: (place: PlaceInLine) => void
}

/** Admits sandboxes to boot. A boot takes a second of CPU, so many at once would all finish late. */
export class BootQueue {
  readonly #admission: Admission
  /** In the order of their turns. */
  readonly #waiting: Waiting[] = []
  #booting = 0
  #timer: NodeJS.Timeout | null = null
  /** Owners by their last turn, the earliest first. */
  readonly #served = new Set<string>()

  constructor(admission: Admission) {
    this.#admission = admission
  }

  load(): { booting: number; waiting: number } {
    return { booting: this.#booting, waiting: this.#waiting.length }
  }

  /** Rejects with the reason of `signal` while waiting. A boot that has begun handles the signal itself. */
  async run<T>(signal: AbortSignal, boot: () => Promise<T>, options: Boot = {}): Promise<T> {
    await this.#turn(signal, options)
    let holds = true
    const passOn = () => {
      if (!holds) return
      holds = false
      this.#booting--
      this.#admit()
    }
    const timer = setTimeout(passOn, holdMs)
    try {
      return await boot()
    } finally {
      clearTimeout(timer)
      passOn()
    }
  }

  #turn(signal: AbortSignal, { owner = '', onPlace }: Boot): Promise<void> {
    signal.throwIfAborted()
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        owner,
        onPlace,
        shown: '',
        begin: () => {
          signal.removeEventListener('abort', giveUp)
          resolve()
        },
      }
      const giveUp = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(signal.reason)
        this.#admit()
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#waiting.push(waiting)
      this.#admit()
    })
  }

  #admit(): void {
    while (this.#waiting.length > 0) {
      const reason = this.#admission(this.#booting)
      if (reason !== null) return this.#lookAgain(reason)
      const next = inTurn(this.#waiting, this.#served)[0]!
      this.#waiting.splice(this.#waiting.indexOf(next), 1)
      // A set keeps the order of insertion.
      this.#served.delete(next.owner)
      this.#served.add(next.owner)
      this.#booting++
      next.begin()
    }
    if (this.#booting === 0) this.#served.clear()
  }

  #lookAgain(reason: string): void {
    if (this.#timer !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#admit()
      this.#showPlaces(reason)
    }, lookEveryMs).unref()
  }

  #showPlaces(reason: string): void {
    for (const [index, waiting] of inTurn(this.#waiting, this.#served).entries()) {
      const place = { place: index + 1, of: this.#waiting.length, reason }
      const shown = JSON.stringify(place)
      if (shown === waiting.shown) continue
      waiting.shown = shown
      waiting.onPlace?.(place)
    }
  }
}

/** One start of each owner per round, each owner's in their order; an owner that was served longest ago comes first. */
function inTurn(waiting: Waiting[], served: ReadonlySet<string>): Waiting[] {
  const order = [...served]
  const byOwner = [...Map.groupBy(waiting, ({ owner }) => owner)].toSorted(
    ([one], [other]) => order.indexOf(one) - order.indexOf(other),
  )
  const rounds = Math.max(0, ...byOwner.map(([, theirs]) => theirs.length))
  return Array.from({ length: rounds }, (_, round) =>
    byOwner.flatMap(([, theirs]) => theirs.slice(round, round + 1)),
  ).flat()
}

/** Where a cluster schedules sandboxes. It counts what they request, and the start of a runtime takes more: some seconds of a core. */
export const bootsElsewhere = 4

export const atMost =
  (atOnce: number): Admission =>
  (booting) =>
    booting < atOnce ? null : othersStart(booting)

export const othersStart = (booting: number) =>
  booting === 1 ? 'another sandbox is starting' : `${booting} other sandboxes are starting`
