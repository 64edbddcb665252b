const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]
const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

export function ago(iso: string, now: number): string {
  const seconds = (Date.parse(iso) - now) / 1000
  const [unit, size] = steps.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1]
  return Math.abs(seconds) < 10
    ? 'just now'
    : words.format(Math.round(seconds / size), unit as Intl.RelativeTimeFormatUnit)
}

/** How long ago, with the exact time behind it. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()} className="whitespace-nowrap text-dim">
      {ago(at, Date.now())}
    </time>
  )
}
