import { useSyncExternalStore } from 'react'

const steps: [string, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** Not by `Intl.RelativeTimeFormat`: its first use takes longer than rendering a page's header. */
export function ago(iso: string, now: number): string {
  const seconds = (now - Date.parse(iso)) / 1000
  const [unit, size] = steps.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1]
  if (Math.abs(seconds) < 10) return 'just now'
  const count = Math.round(Math.abs(seconds) / size)
  const counted = `${count} ${unit}${count === 1 ? '' : 's'}`
  return seconds > 0 ? `${counted} ago` : `in ${counted}`
}

/** A relative time that updates itself, with the exact time on hover. */
export function Time({ at }: { at: string }) {
  const text = useSyncExternalStore(everyTick, () => ago(at, Date.now()))
  return (
    <time dateTime={at} title={new Date(at).toString()} className="text-sm whitespace-nowrap text-dim">
      {text}
    </time>
  )
}

const tickMs = 10_000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** One timer for all times on the page. */
function everyTick(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    for (const each of listeners) each()
  }, tickMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
