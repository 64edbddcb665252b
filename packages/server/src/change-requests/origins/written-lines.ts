/** Repeats what tool calls wrote into one file, in order. Knows which call wrote a line that no later call removed. Pure. */
import type { FileWrite } from '@svc/contract/schemas/file-writes'

/** Enough to say which one removed a line of the base. Each removed line is looked up in all of them. */
const wholesMax = 50

/**
 * It keeps lines, not their places: a command or a person may change the file between two calls, and then no place is
 * known. Whoever reads it has to accept that one text can stand for several lines.
 */
export class WrittenLines {
  /** The call of each occurrence of a line, oldest first. */
  #live = new Map<string, number[]>()
  readonly #removedBy = new Map<string, number>()
  /** One of several calls that wrote this line had its occurrence removed, and which is not known. */
  readonly #unsure = new Set<string>()
  /** Until the next call. */
  readonly #counts = new Map<string, Map<number, number>>()
  readonly #wholes: { call: number; lines: Set<string> }[] = []

  /** `call` grows with time. */
  apply(call: number, { kind, removed, added }: Pick<FileWrite, 'kind' | 'removed' | 'added'>): void {
    this.#counts.clear()
    if (kind === 'whole') return this.#replace(call, added)
    for (const line of removed) {
      const writers = this.#live.get(line)
      if (writers !== undefined && writers.at(0) !== writers.at(-1)) this.#unsure.add(line)
      writers?.pop()
      this.#removedBy.set(line, call)
    }
    for (const line of added) this.#push(line, call)
  }

  /** A line that was there before keeps the call that wrote it first. */
  #replace(call: number, lines: string[]): void {
    const before = this.#live
    this.#live = new Map()
    const kept = new Map<string, number>()
    for (const line of lines) {
      const at = kept.get(line) ?? 0
      kept.set(line, at + 1)
      this.#push(line, before.get(line)?.[at] ?? call)
    }
    for (const [line, writers] of before) {
      const left = kept.get(line) ?? 0
      if (left >= writers.length) continue
      this.#removedBy.set(line, call)
      if (left > 0 && writers.at(0) !== writers.at(-1)) this.#unsure.add(line)
    }
    if (this.#wholes.length < wholesMax) this.#wholes.push({ call, lines: new Set(lines) })
  }

  #push(line: string, call: number): void {
    const calls = this.#live.get(line)
    if (calls === undefined) this.#live.set(line, [call])
    else calls.push(call)
  }

  /** The calls whose occurrences of this line are still there. */
  writersOf(line: string): readonly number[] {
    return this.#live.get(line) ?? []
  }

  /** How many of those occurrences each call has. Known once per line, as a file may have one line twenty thousand times. */
  countsOf(line: string): ReadonlyMap<number, number> {
    let counts = this.#counts.get(line)
    if (counts === undefined) {
      counts = new Map<number, number>()
      for (const call of this.writersOf(line)) counts.set(call, (counts.get(call) ?? 0) + 1)
      this.#counts.set(line, counts)
    }
    return counts
  }

  /** Which of its writers the line that is left belongs to is not known. */
  isUnsure(line: string): boolean {
    return this.#unsure.has(line)
  }

  /** The last call that removed this line, or the first that wrote the whole file without it. Null while the line is there. */
  removerOf(line: string): number | null {
    if (this.writersOf(line).length > 0) return null
    return this.#removedBy.get(line) ?? this.#wholes.find(({ lines }) => !lines.has(line))?.call ?? null
  }
}
