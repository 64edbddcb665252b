/**
 * Redacts a text that arrives in pieces. The last characters are held back until more follow or the text ends. Their
 * number is constant: if it were the longest prefix of a secret, each chunk would reveal whether the text so far
 * starts one, which an agent could exploit in its own session (docs/decisions/0026).
 */
import type { Matcher, Watch } from './matcher.ts'

interface Run {
  from: number
  to: number
  name: string
  /** The end of the find that set the name: the longest of those with the same start. */
  namedTo: number
}

export const markOf = (name: string) => `[redacted ${name}]`

/** Longer than any pattern for growing text, with the line breaks that tools insert (known.ts). */
export const heldBackChars = 160

export class StreamRedactor {
  readonly #watches: Watch[]
  readonly #heldBack: number
  /** The unreleased text, which starts at `#base` of the whole text. */
  #pending = ''
  #base = 0
  #length = 0
  #lineStart = 0
  /** Ordered and disjoint. The first may start before `#base` and be marked already. */
  #runs: Run[] = []
  #isMarked = false

  constructor(matchers: readonly Matcher[], heldBack = heldBackChars) {
    this.#heldBack = heldBack
    this.#watches = matchers.map((matcher) => matcher.watch((from, to, name) => this.#cover(from, to, name)))
  }

  /** Where the last line begins of which something may be missing from the released text. A line break in a find ends no line. */
  get lineStart(): number {
    return this.#lineStart
  }

  /** Returns the text up to a fixed distance from its end. */
  push(chunk: string): string {
    this.#pending += chunk
    for (let at = 0; at < chunk.length; at++) {
      const code = chunk.charCodeAt(at)
      for (const watch of this.#watches) watch.step(code, this.#length)
      this.#length++
    }
    return this.upTo(this.#length - this.#heldBack)
  }

  /** Returns the remaining text before this position. */
  upTo(place: number): string {
    return this.#release(Math.max(this.#base, Math.min(place, this.#length)))
  }

  end(): string {
    return this.#release(this.#length)
  }

  /** Redacts every character of every find; overlapping finds merge. */
  #cover(start: number, to: number, name: string): void {
    // A token continues while its characters do, so its start may be released already.
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
      // A find that ends here may still grow: a token continues while its characters do.
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
    const text = this.#pending.slice(from - this.#base, to - this.#base)
    const lastBreak = text.lastIndexOf('\n')
    if (lastBreak !== -1) this.#lineStart = from + lastBreak + 1
    return text
  }
}
