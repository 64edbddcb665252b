import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { Answer } from '../../../components/answer.tsx'
import { useProject } from '../../../components/project-shell.tsx'
import { SessionStatus } from '../../../components/status.tsx'
import { paths } from '../../../paths.ts'
import { session } from '../../../queries.ts'
import { Button } from '../../../ui/button.tsx'
import { Empty } from '../../../ui/card.tsx'
import { Notice } from '../../../ui/notice.tsx'
import { Shell } from './shell.tsx'

const route = getRouteApi('/shell/projects/$project/sessions/$sessionId/terminal')

/** A shell beside the agent: as the same user, in the same work tree. */
export function TerminalPage() {
  const { project_id, slug } = useProject()
  const { sessionId } = route.useParams()
  const found = useQuery(session(project_id, sessionId))
  const [ended, setEnded] = useState<string | null>(null)
  const [opened, setOpened] = useState(1)
  const back = useRef<HTMLAnchorElement>(null)
  return (
    <Answer of={found} what="the session">
      {({ name, status, is_busy: isBusy, waiting_for: waitingFor }) => (
        <div className="flex flex-col gap-3">
          <header className="flex flex-wrap items-center gap-2">
            <h1 className="text-xl font-semibold">
              Terminal of{' '}
              <Link
                ref={back}
                to={paths.session}
                params={{ project: slug, sessionId }}
                className="text-accent underline"
              >
                {name}
              </Link>
            </h1>
            <SessionStatus status={status} isBusy={isBusy} waitingFor={waitingFor} />
          </header>
          {ended !== null && (
            <Notice
              tone="neutral"
              title={ended}
              action={
                status === 'running' && (
                  <Button
                    onClick={() => {
                      setEnded(null)
                      setOpened(opened + 1)
                    }}
                  >
                    Open another
                  </Button>
                )
              }
            />
          )}
          {status === 'running' || ended !== null ? (
            <>
              <Shell
                key={opened}
                projectId={project_id}
                sessionId={sessionId}
                onEnd={setEnded}
                onLeave={() => back.current?.focus()}
              />
              <p className="text-sm text-dim">
                You are the user the agent is. Ctrl+Shift+↑ leaves the terminal for the page.
              </p>
            </>
          ) : (
            <Empty>
              The session is {status}, so there is no sandbox to look into. A prompt or a restart makes one.
            </Empty>
          )}
        </div>
      )}
    </Answer>
  )
}
