import type { ReactNode } from 'react'

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'merged' | 'accent'

const tones: Record<Tone, string> = {
  neutral: 'text-dim border-line-strong',
  good: 'text-good border-good',
  warn: 'text-warn border-warn',
  bad: 'text-bad border-bad',
  merged: 'text-merged border-merged',
  accent: 'text-accent border-accent',
}

/** A state as a word. The color only repeats it. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center rounded-full border px-2 text-xs leading-5 font-medium whitespace-nowrap ${tones[tone]}`}
    >
      {children}
    </span>
  )
}
