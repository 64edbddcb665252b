import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import { SessionStatusNow } from '../../components/session-status.tsx'
import { BarHeading } from '../../ui/frame.tsx'
import { TwoPane } from '../../ui/layout.tsx'
import { useTitle } from '../../ui/title.ts'
import { Approvals } from '../connectors/approvals.tsx'
import { SessionActions } from './actions.tsx'
import { Banner } from './banner.tsx'
import { Conversation } from './conversation/conversation.tsx'
import { Questions } from './conversation/questions.tsx'
import { PromptBox } from './conversation/prompt-box.tsx'
import { useDraft } from './conversation/use-draft.ts'
import { useConversation } from './conversation/use-conversation.ts'
import { useSessionStream } from './conversation/use-session-stream.ts'
import { SessionPanel } from './panel/panel.tsx'
import type { Session } from './queries.ts'
import { ReadSession } from './read-session.tsx'

const route = getRouteApi('/shell/projects/$project/sessions/$sessionId')

export function SessionPage() {
  const { sessionId } = route.useParams()
  return (
    <ReadSession sessionId={sessionId}>{(session) => <LiveSession key={sessionId} initial={session} />}</ReadSession>
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
  const { message, part = null, panel } = route.useSearch()
  const target = useMemo(() => (message === undefined ? null : { message, part }), [message, part])
  const busy = stream.turn === 'busy' && now.status === 'running'
  const { isLoaded, isReconnecting } = stream
  const draft = useDraft(now)
  return (
    <>
      <BarHeading>
        <div className="flex min-w-0 items-center gap-2">
          <h1 className="min-w-0 truncate font-semibold">{now.name}</h1>
          <SessionStatusNow session={now} isBusy={isLoaded ? busy : now.is_busy} />
        </div>
      </BarHeading>
      <TwoPane
        label="What comes of it"
        wide={panel === 'preview'}
        panel={<SessionPanel session={now} messages={conversation.messages} busy={busy} />}
      >
        <div className="flex min-h-[calc(100dvh-var(--spacing-bar)-var(--spacing-notices))] flex-col">
          <div className="flex flex-1 flex-col gap-4 px-4 py-4 md:px-6">
            <Conversation
              address={`/v1/projects/${now.project_id}/sessions/${now.session_id}`}
              conversation={conversation}
              session={now}
              busy={busy}
              isLoaded={isLoaded}
              isReconnecting={isReconnecting}
              target={target}
              outgoing={draft.outgoing}
              onEdit={draft.takeBack}
            />
            {/* Where the page opens, and where the next prompt is written. */}
            {!isReconnecting && <Banner session={now} busy={busy} last={conversation.messages.at(-1)} />}
            <SessionActions session={now} />
            <Questions session={now} questions={stream.questions} />
            <Approvals sessionId={now.session_id} />
          </div>
          <PromptBox session={now} busy={busy} draft={draft} />
        </div>
      </TwoPane>
    </>
  )
}
