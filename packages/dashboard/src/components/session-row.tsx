import type { ReactNode } from 'react'
import type { ChangeRequest } from '../pages/change-requests/queries.ts'
import type { Session } from '../pages/sessions/queries.ts'
import { Row } from '../ui/layout.tsx'
import { Time } from '../ui/text.tsx'
import { SessionStatus } from './status.tsx'
import { ChangeRequestLink, SessionLink } from './links.tsx'

export function SessionRow({
  session,
  slug,
  open,
  children,
}: {
  session: Session
  slug: string
  /** The open change requests of its project that are loaded. */
  open: readonly ChangeRequest[]
  children: ReactNode
}) {
  const proposed = open.find(
    ({ origin_session_id, head_ref }) => origin_session_id === session.session_id || head_ref === session.branch_name,
  )
  return (
    <Row>
      <SessionStatus
        status={session.status}
        isBusy={session.is_busy}
        waitingFor={session.waiting_for}
        isProposed={proposed !== undefined}
        isAsleep={session.asleep_since != null}
      />
      <span className="min-w-0 flex-1 basis-40">
        <SessionLink project={slug} sessionId={session.session_id} className="font-medium hover:underline">
          {session.name}
        </SessionLink>
        {session.error !== null && (
          <span className={`block text-sm ${session.status === 'failed' ? 'text-bad' : 'text-dim'}`}>
            {session.error}
          </span>
        )}
      </span>
      {proposed !== undefined && (
        <ChangeRequestLink project={slug} number={proposed.number} className="text-sm text-accent underline">
          Review #{proposed.number}
        </ChangeRequestLink>
      )}
      <span className="min-w-0 text-sm text-dim">{children}</span>
      <Time at={session.last_active_at} />
    </Row>
  )
}
