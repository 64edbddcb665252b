/** Replaces what matchers find in a text that comes in pieces. What comes out is the same wherever the pieces end. */
import type { Matcher, Watch } from './matcher.ts'

interface Run {
  from: number
  to: number
  name: string
  /** End of the find that gave the name: of those that begin together the longest does. */
  namedTo: number
}

export const markOf = (name: string) => `[redacted ${name}]`

export class StreamRedactor {
  readonly #watches: Watch[]
  /** What is not decided yet: it begins at `#base` of the whole text. */
  #pending = ''
  #base = 0
  #length = 0
  /** In order, none overlapping another; the first may have begun, and been marked, before `#base`. */
  #runs: Run[] = []
  #isMarked = false

  constructor(matchers: readonly Matcher[]) {
    this.#watches = matchers.map((matcher) => matcher.watch((from, to, name) => this.#cover(from, to, name)))
  }

  /** The part of the text that is certain now. The rest may be the beginning of something, and comes later. */
  push(chunk: string): string {
    this.#pending += chunk
    for (let at = 0; at < chunk.length; at++) {
      const code = chunk.charCodeAt(at)
      for (const watch of this.#watches) watch.step(code, this.#length)
      this.#length++
    }
    let certain = this.#length
    for (const watch of this.#watches) certain = Math.min(certain, watch.begins(this.#length))
    return this.#release(certain)
  }

  end(): string {
    return this.#release(this.#length)
  }

  /** Every character of every find is replaced; finds that overlap are one. */
  #cover(from: number, to: number, name: string): void {
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
