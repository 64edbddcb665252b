import type { ReactNode } from 'react'
import { Badge } from '../../ui/badge.tsx'
import { count } from './amounts.ts'

/** The used part of a spend cap. */
export function CapMeter({
  of,
  label,
  tokens,
  taken,
}: {
  of: ReactNode
  label: string
  tokens: number
  taken: number
}) {
  const reached = taken >= tokens
  const near = !reached && taken >= tokens * 0.8
  return (
    <div className="flex flex-col gap-1.5 px-4 py-3 text-sm">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="min-w-0 flex-1 font-medium">{of}</span>
        {reached && <Badge tone="bad">cap reached</Badge>}
        {near && <Badge tone="warn">almost reached</Badge>}
        <span className="text-dim">
          {count(taken)} of {count(tokens)} tokens
        </span>
      </p>
      <progress
        aria-label={label}
        max={Math.max(1, tokens)}
        value={tokens === 0 ? 1 : Math.min(taken, tokens)}
        className={`meter h-2 w-full ${reached ? 'text-bad' : near ? 'text-warn' : 'text-accent'}`}
      />
    </div>
  )
}
