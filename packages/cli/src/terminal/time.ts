const units = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

export function ago(iso: string, now: number): string {
  const seconds = (now - Date.parse(iso)) / 1000
  // Clocks of two machines differ a little: a moment in the future is now.
  if (Number.isNaN(seconds)) return iso
  if (seconds < -60) return iso
  if (seconds < 60) return 'just now'
  for (const [unit, size] of units) {
    const count = Math.floor(seconds / size)
    if (count >= 1) return `${count} ${unit}${count === 1 ? '' : 's'} ago`
  }
  return 'just now'
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}
