/**
 * Replaces what matchers find in a text that comes in pieces. The last characters stay back until more follow or the text
 * ends. How many they are is a constant: were it the longest prefix of a secret, each chunk would answer whether the text
 * so far begins one, and an agent that reads its own session could ask (docs/decisions/0026).
 */
import type { Matcher, Watch } from './matcher.ts'

interface Run {
  from: number
  to: number
  name: string
  /** End of the find that gave the name: of those that begin together the longest does. */
  namedTo: number
}

export const markOf = (name: string) => `[redacted ${name}]`

/** Longer than any pattern that a growing text is searched for, with the line breaks that a tool puts into one (known.ts). */
export const heldBackChars = 160

export class StreamRedactor {
  readonly #watches: Watch[]
  readonly #heldBack: number
  /** What is not released yet: it begins at `#base` of the whole text. */
  #pending = ''
  #base = 0
  #length = 0
  /** In order, none overlapping another; the first may have begun, and been marked, before `#base`. */
  #runs: Run[] = []
  #isMarked = false

  constructor(matchers: readonly Matcher[], heldBack = heldBackChars) {
    this.#heldBack = heldBack
    this.#watches = matchers.map((matcher) => matcher.watch((from, to, name) => this.#cover(from, to, name)))
  }

  /** The text up to a fixed distance from its end. */
  push(chunk: string): string {
    this.#pending += chunk
    for (let at = 0; at < chunk.length; at++) {
      const code = chunk.charCodeAt(at)
      for (const watch of this.#watches) watch.step(code, this.#length)
      this.#length++
    }
    return this.upTo(this.#length - this.#heldBack)
  }

  /** What is left of the text before this place. */
  upTo(place: number): string {
    return this.#release(Math.max(this.#base, Math.min(place, this.#length)))
  }

  end(): string {
    return this.#release(this.#length)
  }

  /** Every character of every find is replaced; finds that overlap are one. */
  #cover(start: number, to: number, name: string): void {
    // A token goes on for as long as its characters do, so its beginning may be released already.
    const from = Math.max(start, this.#isMarked ? 0 : this.#base)
    let run: Run = { from, to, name, namedTo: to }
    for (let last = this.#runs.at(-1); last !== undefined && last.to > from; last = this.#runs.at(-1)) {
      this.#runs.pop()
      const isLeader = last.from < run.from || (last.from === run.from && last.namedTo >= run.namedTo)
      const leader = isLeader ? last : run
      run = { from: leader.from, to: Math.max(run.to, last.to), name: leader.name, namedTo: leader.namedTo }
    }
    this.#runs.push(run)
  }

  #release(certain: number): string {
    let out = ''
    let at = this.#base
    let done = 0
    for (const [index, run] of this.#runs.entries()) {
      if (run.from >= certain) break
      if (index > 0 || !this.#isMarked) out += this.#text(at, run.from) + markOf(run.name)
      at = Math.max(at, Math.min(run.to, certain))
      // One that ends just here may still grow: a token goes on for as long as its characters do.
      if (run.to < certain) done++
      this.#isMarked = run.to >= certain
    }
    if (done > 0) this.#runs.splice(0, done)
    if (this.#runs.length === 0) this.#isMarked = false
    if (at < certain) out += this.#text(at, certain)
    this.#pending = this.#pending.slice(certain - this.#base)
    this.#base = certain
    return out
  }

  #text(from: number, to: number): string {
    return this.#pending.slice(from - this.#base, to - this.#base)
  }
}
