import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Read } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { ChangeRequestStatus, SessionStatus } from '../../components/status.tsx'
import { changeRequestsOfBranch } from '../change-requests/queries.ts'
import { type Session, session } from './queries.ts'
import { Notice } from '../../ui/layout.tsx'
import { Time } from '../../ui/text.tsx'
import { useTitle } from '../../ui/title.ts'
import { SessionActions } from './actions.tsx'
import { Conversation } from './conversation/conversation.tsx'
import { Questions } from './conversation/questions.tsx'
import { PromptBox } from './conversation/prompt-box.tsx'
import { RefreshNotice } from './refresh-notice.tsx'
import { Timeline } from './timeline.tsx'
import { Approvals } from '../connectors/approvals.tsx'
import { UnfinishedWork } from './unfinished-work.tsx'
import { useConversation } from './conversation/use-conversation.ts'
import { useSessionStream } from './conversation/use-session-stream.ts'
import { ChangeRequestLink } from '../../components/links.tsx'

const route = getRouteApi('/shell/projects/$project/sessions/$sessionId')

export function SessionPage() {
  const { project_id } = useProject()
  const { sessionId } = route.useParams()
  return (
    <Read query={session(project_id, sessionId)} what="the session">
      {(session) => <LiveSession key={sessionId} initial={session} />}
    </Read>
  )
}

function LiveSession({ initial }: { initial: Session }) {
  const stream = useSessionStream(initial.project_id, initial.session_id)
  const now = stream.session ?? initial
  useTitle(now.name)
  const conversation = useConversation(
    { projectId: initial.project_id, sessionId: initial.session_id },
    { newest: stream.messages, isWhole: stream.isWhole },
  )
  const busy = stream.turn === 'busy' && now.status === 'running'
  const isStarting = now.status === 'provisioning'
  // A session that ended in a turn has the reason as its own error already.
  const turnError = busy || isStarting || now.last_turn_error?.message === now.error ? null : now.last_turn_error
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-start justify-between gap-3">
        <div className="flex min-w-0 flex-col gap-1">
          <h1 className="flex flex-wrap items-center gap-2 text-xl font-semibold">
            {now.name}{' '}
            <SessionStatus
              status={now.status}
              isBusy={stream.isLoaded ? busy : now.is_busy}
              waitingFor={now.waiting_for}
              isAsleep={now.asleep_since != null}
            />
          </h1>
          <p className="text-sm text-dim">
            {now.agent_name}
            {now.model !== null && ` · ${now.model}`} · from {now.base_ref} · active <Time at={now.last_active_at} />
          </p>
        </div>
        <SessionActions session={now} />
      </header>
      {now.error !== null && (
        <Notice tone={now.status === 'failed' ? 'bad' : 'neutral'} title={now.error}>
          {now.status === 'failed' ? 'Restart the session or send a prompt. It starts again from its branch.' : null}
        </Notice>
      )}
      {turnError !== null && (
        <Notice title="The last turn failed">
          {turnError.message} (<Time at={turnError.at} />)
        </Notice>
      )}
      <RefreshNotice session={now} />
      <UnfinishedWork session={now} />
      <SessionChangeRequests session={now} />
      <Timeline session={now} />
      <Approvals sessionId={now.session_id} />
      <Conversation
        address={`/v1/projects/${now.project_id}/sessions/${now.session_id}`}
        conversation={conversation}
        session={now}
        busy={busy}
        isTurnOver={stream.isLoaded && !busy}
        isReconnecting={stream.isReconnecting}
      />
      <Questions session={now} questions={stream.questions} />
      <PromptBox session={now} busy={busy} />
    </div>
  )
}

function SessionChangeRequests({ session }: { session: Session }) {
  const { slug } = useProject()
  const { data: own = [] } = useQuery(changeRequestsOfBranch(session.project_id, session.branch_name))
  if (own.length === 0) return null
  return (
    <ul aria-label="Change requests" className="flex flex-col gap-1">
      {own.map((cr) => (
        <li key={cr.cr_id} className="flex flex-wrap items-center gap-2">
          <ChangeRequestStatus cr={cr} />
          <ChangeRequestLink project={slug} number={cr.number} className="font-medium hover:underline">
            #{cr.number} {cr.title}
          </ChangeRequestLink>
        </li>
      ))}
    </ul>
  )
}
