const format = new Intl.NumberFormat('en')

export function count(value: number): string {
  return format.format(value)
}

export function duration(seconds: number): string {
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  if (hours > 0) return `${count(hours)} h ${minutes} min`
  return minutes > 0 ? `${minutes} min` : `${seconds} s`
}

/** Tokens of the current month, in UTC. `models` must reach back to its first day. */
export function tokensThisMonth(
  models: readonly { day: string; project_id: string; tokens_in: number; tokens_out: number }[],
  projectId: string,
  today: string,
): number {
  const month = today.slice(0, 7)
  return models
    .filter((row) => row.project_id === projectId && row.day.startsWith(month))
    .reduce((total, row) => total + row.tokens_in + row.tokens_out, 0)
}
