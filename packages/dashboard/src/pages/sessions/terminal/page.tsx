import { getRouteApi } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { SessionStatus } from '../../../components/status.tsx'
import { ReadSession } from '../read-session.tsx'
import { Button } from '../../../ui/form.tsx'
import { Empty, Notice } from '../../../ui/layout.tsx'
import { Shell } from './shell.tsx'
import { SessionLink } from '../../../components/links.tsx'

const route = getRouteApi('/shell/projects/$project/sessions/$sessionId/terminal')

/** A shell beside the agent, with the same user and work tree. */
export function TerminalPage() {
  const { slug } = useProject()
  const { sessionId } = route.useParams()
  const [ended, setEnded] = useState<string | null>(null)
  const [opened, setOpened] = useState(1)
  const back = useRef<HTMLAnchorElement>(null)
  return (
    <ReadSession sessionId={sessionId}>
      {({ name, status, is_busy: isBusy, waiting_for: waitingFor, asleep_since: asleepSince, project_id }) => (
        <div className="flex h-page min-h-96 flex-col gap-3">
          <header className="flex flex-wrap items-center gap-2">
            <h1 className="text-xl font-semibold">
              Terminal for{' '}
              <SessionLink ref={back} project={slug} sessionId={sessionId}>
                {name}
              </SessionLink>
            </h1>
            <SessionStatus status={status} isBusy={isBusy} waitingFor={waitingFor} isAsleep={asleepSince != null} />
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
                    Open new terminal
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
                The shell runs as the agent's user. Press Ctrl+Shift+↑ to leave the terminal.
              </p>
            </>
          ) : (
            <Empty>The session is {status} and has no sandbox. Restart it or send a prompt to open a terminal.</Empty>
          )}
        </div>
      )}
    </ReadSession>
  )
}
