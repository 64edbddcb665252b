import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { paths } from '../paths.ts'
import type { Session } from '../queries.ts'
import { Row } from '../ui/card.tsx'
import { Time } from '../ui/time.tsx'
import { SessionStatus } from './status.tsx'

export function SessionRow({ session, slug, children }: { session: Session; slug: string; children: ReactNode }) {
  return (
    <Row>
      <SessionStatus status={session.status} />
      <span className="min-w-0 flex-1 basis-40">
        <Link
          to={paths.session}
          params={{ project: slug, sessionId: session.session_id }}
          className="font-medium hover:underline"
        >
          {session.name}
        </Link>
        {session.error !== null && <span className="block text-sm text-bad">{session.error}</span>}
      </span>
      <span className="min-w-0 text-sm text-dim">{children}</span>
      <Time at={session.last_active_at} />
    </Row>
  )
}
