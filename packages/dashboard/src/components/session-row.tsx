import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { paths } from '../paths.ts'
import type { ChangeRequest, Session } from '../queries.ts'
import { Row } from '../ui/card.tsx'
import { Time } from '../ui/time.tsx'
import { SessionStatus } from './status.tsx'

export function SessionRow({
  session,
  slug,
  open,
  children,
}: {
  session: Session
  slug: string
  /** The open change requests of its project, as far as they are known. */
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
      />
      <span className="min-w-0 flex-1 basis-40">
        <Link
          to={paths.session}
          params={{ project: slug, sessionId: session.session_id }}
          className="font-medium hover:underline"
        >
          {session.name}
        </Link>
        {session.error !== null && (
          <span className={`block text-sm ${session.status === 'failed' ? 'text-bad' : 'text-dim'}`}>
            {session.error}
          </span>
        )}
      </span>
      {proposed !== undefined && (
        <Link
          to={paths.changeRequest}
          params={{ project: slug, number: String(proposed.number) }}
          className="text-sm text-accent underline"
        >
          Review #{proposed.number}
        </Link>
      )}
      <span className="min-w-0 text-sm text-dim">{children}</span>
      <Time at={session.last_active_at} />
    </Row>
  )
}
