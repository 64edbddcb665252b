import type { Session } from './queries.ts'
import { Notice } from '../../ui/layout.tsx'
import { Time } from '../../ui/text.tsx'

export function RefreshNotice({ session: { refresh, status } }: { session: Session }) {
  if (refresh === null || status !== 'running') return null
  if (refresh.status === 'waiting')
    return <Notice title={refresh.error ?? "The refresh starts when the agent's turn ends."} />
  if (refresh.status === 'failed') return <Notice tone="bad" title={refresh.error ?? 'The refresh failed.'} />
  return (
    <>
      {refresh.error !== null && <Notice tone="warn" title={refresh.error} />}
      {refresh.needs_restart.length > 0 && (
        <Notice tone="warn" title="Restart the session to apply the rest of svc.toml">
          {refresh.needs_restart.join(', ')}
        </Notice>
      )}
      {refresh.applied.length > 0 && refresh.settled_at !== null && (
        <p className="text-sm text-dim">
          Refreshed <Time at={refresh.settled_at} />: {refresh.applied.join(', ')}
        </p>
      )}
    </>
  )
}
