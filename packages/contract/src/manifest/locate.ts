/**
 * Finds the position of each key of a TOML text. The parser has accepted the text, so this does not validate it. A
 * parser that keeps a tree of positions is five times slower on the largest manifest.
 */
import type { Path } from './fields.ts'

export interface Spot {
  key: number
  /** Offsets of the value; of a table, its header line. */
  value: number
  end: number
}

export interface Located {
  get(path: Path): Spot | null
}

/** Deeper than any key of the manifest. Deeper levels are skipped. */
const depthMax = 6

export function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - (before.lastIndexOf('\n') + 1) + 1 }
}

export function locate(text: string): Located {
  const walk = new Walk(text)
  walk.document()
  return { get: (path) => walk.spots.get(nameOf(path)) ?? null }
}

const nameOf = (path: Path) => JSON.stringify(path)

class Walk {
  readonly spots = new Map<string, Spot>()
  /** The number of entries of each list of tables so far. */
  readonly #entries = new Map<string, number>()
  #at = 0
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }

  document(): void {
    let table: Path = []
    for (;;) {
      this.#skip()
      if (this.#at >= this.#text.length) return
      if (this.#text[this.#at] === '[') table = this.#header()
      else this.#pair(table)
    }
  }

  #header(): Path {
    const start = this.#at
    const isList = this.#text.startsWith('[[', start)
    this.#at += isList ? 2 : 1
    const keys = this.#keys()
    this.#at += isList ? 2 : 1
    const above = this.#resolve(keys.slice(0, isList ? -1 : undefined))
    const path = isList ? this.#nextEntry([...above, keys.at(-1) ?? ''], start) : above
    this.#keep(path, { key: start, value: start, end: this.#at })
    return path
  }

  #nextEntry(list: Path, start: number): Path {
    if (list.length > depthMax) return list
    const name = nameOf(list)
    const index = this.#entries.get(name) ?? 0
    this.#entries.set(name, index + 1)
    if (index === 0) this.#keep(list, { key: start, value: start, end: this.#at })
    return [...list, index]
  }

  /** `[a.b]` after `[[a]]` belongs to the last entry of `a`. */
  #resolve(keys: string[]): Path {
    const path: (string | number)[] = []
    for (const key of keys) {
      path.push(key)
      if (path.length > depthMax) return path
      const count = this.#entries.get(nameOf(path))
      if (count !== undefined) path.push(count - 1)
    }
    return path
  }

  #pair(table: Path): void {
    const start = this.#at
    const keys = this.#keys()
    this.#at++ // the equals sign
    this.#blank()
    const path = table.length > depthMax ? table : [...table, ...keys.slice(0, depthMax + 1)]
    const value = this.#at
    this.#value(path)
    this.#keep(path, { key: start, value, end: this.#at })
    // The tables that a dotted key creates.
    for (let length = table.length + 1; length < path.length; length++)
      this.#keep(path.slice(0, length), { key: start, value: start, end: this.#at })
  }

  #keep(path: Path, spot: Spot): void {
    if (path.length > depthMax) return
    const name = nameOf(path)
    if (!this.spots.has(name)) this.spots.set(name, spot)
  }

  #keys(): string[] {
    const keys: string[] = []
    for (;;) {
      this.#blank()
      keys.push(this.#key())
      this.#blank()
      if (this.#text[this.#at] !== '.') return keys
      this.#at++
    }
  }

  #key(): string {
    const start = this.#at
    const quote = this.#text[start]
    if (quote === '"' || quote === "'") {
      this.#quoted(quote)
      const inside = this.#text.slice(start + 1, this.#at - 1)
      return quote === '"' ? unescaped(inside) : inside
    }
    this.#match(/[A-Za-z0-9_-]*/y)
    // A character that no bare key has. The parser accepted it, so skip it; the loop must advance.
    if (this.#at === start) this.#at++
    return this.#text.slice(start, this.#at)
  }

  #value(path: Path): void {
    const first = this.#text[this.#at]
    if (first === '"' || first === "'") this.#quoted(first)
    else if (first === '[') this.#list(path)
    else if (first === '{') this.#inlineTable(path)
    else this.#match(/[^,\]}#\r\n]*/y, true)
  }

  #list(path: Path): void {
    this.#at++
    for (let index = 0; ; index++) {
      this.#skip()
      if (this.#at >= this.#text.length || this.#text[this.#at] === ']') break
      const start = this.#at
      const item = path.length > depthMax ? path : [...path, index]
      this.#value(item)
      this.#keep(item, { key: start, value: start, end: this.#at })
      this.#skip()
      if (this.#text[this.#at] === ',') this.#at++
    }
    this.#at++
  }

  #inlineTable(path: Path): void {
    this.#at++
    for (;;) {
      this.#skip()
      if (this.#at >= this.#text.length || this.#text[this.#at] === '}') break
      this.#pair(path)
      this.#skip()
      if (this.#text[this.#at] === ',') this.#at++
    }
    this.#at++
  }

  #quoted(quote: string): void {
    const triple = quote.repeat(3)
    const isTriple = this.#text.startsWith(triple, this.#at)
    const end = isTriple ? triple : quote
    this.#at += end.length
    while (this.#at < this.#text.length && !this.#text.startsWith(end, this.#at))
      this.#at += quote === '"' && this.#text[this.#at] === '\\' ? 2 : 1
    this.#at += end.length
    if (!isTriple) return
    // Up to two quotes may precede the closing three.
    for (let more = 0; more < 2 && this.#text[this.#at] === quote; more++) this.#at++
  }

  #match(pattern: RegExp, trimEnd = false): void {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += (trimEnd ? found.trimEnd() : found).length
  }

  #blank(): void {
    this.#match(/[ \t]*/y)
  }

  #skip(): void {
    for (;;) {
      this.#match(/[ \t\r\n]*/y)
      if (this.#text[this.#at] !== '#') return
      this.#match(/[^\n]*/y)
    }
  }
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  const named: Record<string, string> = { b: '\b', t: '\t', n: '\n', f: '\f', r: '\r', e: '\x1b' }
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))/g, (_, u4, u8, x2, one) => {
    const code = u4 ?? u8 ?? x2
    return code === undefined ? (named[one] ?? one) : String.fromCodePoint(Math.min(parseInt(code, 16), 0x10ffff))
  })
}
