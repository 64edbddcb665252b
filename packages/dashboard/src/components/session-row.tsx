import type { ReactNode } from 'react'
import type { ChangeRequest } from '../pages/change-requests/queries.ts'
import type { Session } from '../pages/sessions/queries.ts'
import { Avatar } from '../ui/avatar.tsx'
import { Row } from '../ui/layout.tsx'
import { Time, withCode } from '../ui/text.tsx'
import { ChangeRequestLink, SessionLink } from './links.tsx'
import { SessionStatus } from './session-status.tsx'

/** The state first, then the name with one line of why, then what came of it and who did it. */
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
  children?: ReactNode
}) {
  const proposed = open.find(
    ({ origin_session_id, head_ref }) => origin_session_id === session.session_id || head_ref === session.branch_name,
  )
  const why = whyOf(session)
  const task = taskOf(session)
  return (
    <Row>
      <span className="w-32 flex-none max-sm:w-full">
        <SessionStatus session={session} isProposed={proposed !== undefined} />
      </span>
      <span className="min-w-0 flex-1 basis-40">
        <span className="flex min-w-0 items-baseline gap-x-2 max-sm:flex-col">
          <SessionLink
            project={slug}
            sessionId={session.session_id}
            className={`flex-none truncate font-medium hover:underline max-w-full ${task === null ? '' : 'sm:max-w-[70%]'}`}
            title={session.name}
          >
            {session.name}
          </SessionLink>
          {task !== null && (
            <span className="max-w-full min-w-0 truncate text-sm text-dim" title={task}>
              {task}
            </span>
          )}
        </span>
        {why !== null && (
          <span className={`line-clamp-2 text-sm ${session.status === 'failed' ? 'text-bad' : 'text-dim'}`}>
            {withCode(why)}
          </span>
        )}
      </span>
      {proposed !== undefined && (
        <ChangeRequestLink project={slug} number={proposed.number} className="text-sm text-accent underline">
          Review #{proposed.number}
        </ChangeRequestLink>
      )}
      {children !== undefined && <span className="min-w-0 text-sm text-dim">{children}</span>}
      <span className="flex items-center gap-1.5 text-sm text-dim max-sm:w-full">
        <Avatar name={session.agent_name} of="agent" />
        {session.agent_name} · <Time at={session.last_active_at} />
      </span>
    </Row>
  )
}

/** Null when the name says it: the service names a session after the beginning of its first prompt. */
function taskOf({ name, task = null }: Session): string | null {
  return task === null || task.startsWith(name.replace(/…$/, '')) ? null : task
}

function whyOf({ status, error, waiting_for: waitingFor, last_turn_error: turnError, base_ref: base }: Session) {
  if (waitingFor === 'person') return 'The agent asked a question and waits for your answer.'
  if (error !== null) return error
  if (turnError !== null) return `The last turn failed: ${turnError.message}`
  return status === 'queued' ? 'Waits for a place to start.' : `Started from ${base}`
}
