/**
 * Aho-Corasick over UTF-16 code units in flat arrays: it finds all patterns in one pass. npm's implementations search
 * whole strings; this one takes a text in pieces.
 */

export class Automaton {
  /** Nodes; 0 is the root. `first` and `next` form the list of a node's children. */
  #codes = new Uint16Array(64)
  #first = new Int32Array(64)
  #next = new Int32Array(64)
  #fail = new Int32Array(64)
  /** The longest pattern that ends at a node, plus one; 0 for none. */
  #ends = new Int32Array(64)
  #size = 1
  /** Children of the root: an array for the first 256 codes, a map for others. */
  readonly #roots = new Int32Array(256)
  readonly #otherRoots = new Map<number, number>()
  readonly #lengths: number[] = []

  /** The first of equal patterns wins. */
  constructor(patterns: readonly string[]) {
    for (const [index, pattern] of patterns.entries()) {
      this.#lengths.push(pattern.length)
      if (pattern.length > 0) this.#insert(pattern, index)
    }
    this.#link()
  }

  get nodes(): number {
    return this.#size
  }

  step(state: number, code: number): number {
    for (let at = state; at !== 0; at = this.#fail[at]!) {
      const child = this.#childOf(at, code)
      if (child !== 0) return child
    }
    return this.#rootOf(code)
  }

  /** The index of the longest pattern that ends here, or -1. */
  endOf(state: number): number {
    return this.#ends[state]! - 1
  }

  lengthOf(pattern: number): number {
    return this.#lengths[pattern]!
  }

  #rootOf(code: number): number {
    return code < 256 ? this.#roots[code]! : (this.#otherRoots.get(code) ?? 0)
  }

  #childOf(node: number, code: number): number {
    let child = this.#first[node]!
    while (child !== 0 && this.#codes[child] !== code) child = this.#next[child]!
    return child
  }

  #insert(pattern: string, index: number): void {
    let node = 0
    for (let at = 0; at < pattern.length; at++) {
      const code = pattern.charCodeAt(at)
      const child = node === 0 ? this.#rootOf(code) : this.#childOf(node, code)
      node = child === 0 ? this.#add(node, code) : child
    }
    if (this.#ends[node] === 0) this.#ends[node] = index + 1
  }

  #add(parent: number, code: number): number {
    if (this.#size === this.#codes.length) this.#grow()
    const node = this.#size++
    this.#codes[node] = code
    if (parent !== 0) {
      this.#next[node] = this.#first[parent]!
      this.#first[parent] = node
    } else if (code < 256) this.#roots[code] = node
    else this.#otherRoots.set(code, node)
    return node
  }

  #grow(): void {
    const wider = <T extends Uint16Array | Int32Array>(from: T, into: T): T => (into.set(from), into)
    const size = this.#size * 2
    this.#codes = wider(this.#codes, new Uint16Array(size))
    this.#first = wider(this.#first, new Int32Array(size))
    this.#next = wider(this.#next, new Int32Array(size))
    this.#fail = wider(this.#fail, new Int32Array(size))
    this.#ends = wider(this.#ends, new Int32Array(size))
  }

  /** Breadth first, so that the shorter fallback of each node is already linked. */
  #link(): void {
    const queue = new Int32Array(this.#size)
    let length = 0
    for (const node of [...this.#roots, ...this.#otherRoots.values()]) if (node !== 0) queue[length++] = node
    for (let at = 0; at < length; at++) {
      const node = queue[at]!
      if (this.#ends[node] === 0) this.#ends[node] = this.#ends[this.#fail[node]!]!
      for (let child = this.#first[node]!; child !== 0; child = this.#next[child]!) {
        this.#fail[child] = this.step(this.#fail[node]!, this.#codes[child]!)
        queue[length++] = child
      }
    }
  }
}
