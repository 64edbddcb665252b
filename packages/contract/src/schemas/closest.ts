/** The name that a mistyped word most likely means, or null. */
export function closest(word: string, names: readonly string[]): string | null {
  const limit = Math.max(1, Math.floor(word.length / 3))
  let best: { name: string; distance: number } | null = null
  for (const name of names) {
    const found = distance(word.toLowerCase(), name.toLowerCase())
    if (found <= limit && (best === null || found < best.distance)) best = { name, distance: found }
  }
  return best?.name ?? null
}

/** Insertions, deletions, replacements and swapped neighbours between two words. */
function distance(a: string, b: string): number {
  if (a.length > 64) return Infinity
  const rows: number[][] = Array.from({ length: a.length + 1 }, (_, i) => [i])
  rows[0] = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      rows[i]![j] = Math.min(
        rows[i - 1]![j]! + 1,
        rows[i]![j - 1]! + 1,
        rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1),
        swapped ? rows[i - 2]![j - 2]! + 1 : Infinity,
      )
    }
  }
  return rows[a.length]![b.length]!
}
