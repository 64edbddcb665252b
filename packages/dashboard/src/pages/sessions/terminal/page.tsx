import { lossOfTerminal } from '@svc/contract/daemon/terminal'
import { getRouteApi } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { queries } from '../../../cache/query-client.ts'
import { useProject } from '../../../components/shell/project-shell.tsx'
import { SessionStatusNow } from '../../../components/session-status.tsx'
import { ReadSession } from '../read-session.tsx'
import type { Session } from '../queries.ts'
import { Button } from '../../../ui/form.tsx'
import { Empty, Notice } from '../../../ui/layout.tsx'
import { withCode } from '../../../ui/text.tsx'
import { Shell, type TerminalEnded } from './shell.tsx'
import { SessionLink } from '../../../components/links.tsx'

const route = getRouteApi('/shell/projects/$project/sessions/$sessionId/terminal')

/** A shell beside the agent, with the same user and work tree. */
export function TerminalPage() {
  const { sessionId } = route.useParams()
  return (
    <ReadSession sessionId={sessionId}>
      {(session) => <SessionTerminal key={session.session_id} session={session} />}
    </ReadSession>
  )
}

function SessionTerminal({ session }: { session: Session }) {
  const { slug } = useProject()
  const { session_id: sessionId, project_id: projectId, status, sandbox } = session
  const [ended, setEnded] = useState<TerminalEnded | null>(null)
  const [opened, setOpened] = useState(status === 'running' ? 1 : 0)
  // A shell stays until it has ended by itself: the end of its session may be known here before.
  if (opened === 0 && status === 'running') setOpened(1)
  const back = useRef<HTMLAnchorElement>(null)
  return (
    <div className="flex h-page min-h-96 flex-col gap-3">
      <header className="flex flex-wrap items-center gap-2">
        <h1 className="text-xl font-semibold">
          Terminal for{' '}
          <SessionLink ref={back} project={slug} sessionId={sessionId}>
            {session.name}
          </SessionLink>
        </h1>
        <SessionStatusNow session={session} />
      </header>
      {ended !== null && (
        <Loss
          session={session}
          ended={ended}
          onOpen={() => {
            setEnded(null)
            setOpened(opened + 1)
          }}
        />
      )}
      {opened > 0 ? (
        <>
          <Shell
            key={opened}
            projectId={projectId}
            sessionId={sessionId}
            generation={sandbox?.generation ?? 0}
            onEnd={(end) => {
              setEnded(end)
              void queries.invalidateQueries({ queryKey: ['project', projectId, 'sessions', sessionId] })
            }}
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
  )
}

function Loss({ session, ended, onOpen }: { session: Session; ended: TerminalEnded; onOpen: () => void }) {
  const { kind, says, why } = lossOfTerminal(ended.generation, session)
  const isRunning = session.status === 'running'
  return (
    <Notice
      tone="neutral"
      title={ended.reason ?? says}
      action={isRunning && <Button onClick={onOpen}>Open new terminal</Button>}
    >
      {ended.reason === null && (
        <>
          {why !== null && <p>{withCode(why)}</p>}
          {kind === 'over' && <p>Restart the session or send a prompt to open a new terminal.</p>}
        </>
      )}
    </Notice>
  )
}
