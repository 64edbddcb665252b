import type { ReactNode } from 'react'
import { Badge } from './text.tsx'

/** The used part of a limit. `words` name a limit that is reached. */
export function Meter({
  of,
  label,
  words,
  used,
  limit,
  nearAt = limit * 0.8,
  text,
}: {
  of: ReactNode
  label: string
  words: { reached: string; near: string }
  used: number
  limit: number
  nearAt?: number
  text: string
}) {
  const reached = used >= limit
  const near = !reached && used >= nearAt
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="min-w-0 flex-1 font-medium">{of}</span>
        {reached && <Badge tone="bad">{words.reached}</Badge>}
        {near && <Badge tone="warn">{words.near}</Badge>}
        <span className="text-dim">{text}</span>
      </p>
      <progress
        aria-label={label}
        max={Math.max(1, limit)}
        value={limit === 0 ? 1 : Math.min(used, limit)}
        className={`meter h-2 w-full ${reached ? 'text-bad' : near ? 'text-warn' : 'text-accent'}`}
      />
    </>
  )
}
