/** How long the server keeps what is only looked back at: `SVC_KEEP_EVENTS=90d`, or `forever`. */
import { retentionKinds, type RetentionKind } from '@svc/contract'
import { parseDuration } from '../backup/duration.ts'
import type { Settings } from './settings.ts'

/** In days. Null: for ever. */
export type KeepDays = Readonly<Record<RetentionKind, number | null>>

const dayMs = 86_400_000
/** Shorter than that, what a server still works on could be deleted. */
const leastDays = 7
/** A hundred years. PostgreSQL has no time that is some thousand years ago. */
const mostDays = 36_500
const defaults: KeepDays = {
  events: 30,
  deliveries: 30,
  checks: 30,
  deploys: 90,
  firings: 90,
  transcripts: 365,
  branches: null,
  audit: null,
}

export const retentionSetting = (kind: RetentionKind) => `SVC_KEEP_${kind.toUpperCase()}`

export function readRetention(settings: Settings): { keepDays: KeepDays } {
  const keepDays = { ...defaults }
  for (const kind of retentionKinds) {
    const text = settings.text(retentionSetting(kind))
    if (text === null) continue
    const ms = parseDuration(text)
    if (text === 'forever') keepDays[kind] = null
    else if (ms !== null && ms >= leastDays * dayMs && ms <= mostDays * dayMs && ms % dayMs === 0)
      keepDays[kind] = ms / dayMs
    else
      settings.refuse(retentionSetting(kind), 'must be days or weeks such as 90d or 26w, from 7d to 36500d, or forever')
  }
  return { keepDays }
}
