/** Takes turns through a list that may grow: a run of a job reads a few of its items, and the next run those behind them. */
export class Rotation {
  /** After a restart the turns go on anywhere, so that no item waits behind the same others again. */
  #after: string | null = null

  next(items: readonly string[], max: number): string[] {
    const sorted = items.toSorted()
    if (sorted.length <= max) return sorted
    const after = this.#after ?? sorted[Math.floor(Math.random() * sorted.length)]!
    const later = sorted.findIndex((item) => item > after)
    const from = later < 0 ? 0 : later
    const taken = [...sorted, ...sorted].slice(from, from + max)
    this.#after = taken.at(-1)!
    return taken
  }
}
