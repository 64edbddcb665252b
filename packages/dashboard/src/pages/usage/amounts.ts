/** Amounts as people read them. */
const whole = new Intl.NumberFormat('en')

export function count(value: number): string {
  return whole.format(value)
}

export function duration(seconds: number): string {
  const hours = Math.floor(seconds / 3600)
  const minutes = Math.floor((seconds % 3600) / 60)
  if (hours > 0) return `${count(hours)} h ${minutes} min`
  return minutes > 0 ? `${minutes} min` : `${seconds} s`
}

/** Tokens of the month that runs, in UTC as the service counts them; all of them while `days` reach back to its first. */
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
