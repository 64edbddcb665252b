import { isDraft } from '@svc/contract/schemas/change-request-moves'
import type { StateNow } from '../pages/change-requests/merge/landing.ts'
import type { ChangeRequest } from '../pages/change-requests/queries.ts'
import { Badge, type Tone } from '../ui/text.tsx'

const landing: Record<StateNow, [word: string, tone: Tone]> = {
  ready: ['ready', 'good'],
  confirm: ['to confirm', 'warn'],
  base_merged: ['base merged', 'warn'],
  collides: ['collides', 'warn'],
  empty: ['nothing to merge', 'neutral'],
  checking: ['checking', 'neutral'],
  unreachable: ['unreachable', 'warn'],
  failing: ['checks failed', 'bad'],
  conflicts: ['conflicts', 'bad'],
  manifest_invalid: ['svc.toml invalid', 'bad'],
  branch_deleted: ['branch deleted', 'bad'],
  blocked: ['not ready', 'warn'],
}

/** The state of a change request as whether it can land. */
export function LandingBadge({
  cr,
  state,
}: {
  cr: Pick<ChangeRequest, 'status' | 'metadata'>
  /** Null while it is unknown. */
  state: StateNow | null
}) {
  if (cr.status !== 'open' || isDraft(cr) || state === null) return <ChangeRequestStatus cr={cr} />
  const [word, tone] = landing[state]
  return <Badge tone={tone}>{word}</Badge>
}

const changeRequestTones: Record<string, Tone> = { open: 'good', merged: 'merged', closed: 'neutral' }

function ChangeRequestStatus({ cr }: { cr: Pick<ChangeRequest, 'status' | 'metadata'> }) {
  const { status } = cr
  if (status === 'open' && isDraft(cr)) return <Badge tone="neutral">draft</Badge>
  return <Badge tone={changeRequestTones[status] ?? 'neutral'}>{status}</Badge>
}
