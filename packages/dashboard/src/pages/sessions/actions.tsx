import { Menu } from '@base-ui/react/menu'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { sessionMoves } from '@svc/contract/schemas/session-moves'
import { Ellipsis } from 'lucide-react'
import { useState } from 'react'
import { ApiError } from '../../api.ts'
import { Failure, type Sending, useSend } from '../../components/requests.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { paths } from '../../paths.ts'
import { BarActions } from '../../ui/frame.tsx'
import { Button, buttonClass } from '../../ui/form.tsx'
import { withCode } from '../../ui/text.tsx'
import { MenuItem, MenuPopup, MenuSeparator } from '../../ui/menu.tsx'
import { scrollToPanel } from './panel/place.ts'
import { amountOf } from './banner.tsx'
import { pathOf, sandboxReadiness, type Session, unfinishedWork } from './queries.ts'
import { goneReason, isWithoutAgent, RestartWithAgent, useAgentGone } from './restart-with-agent.tsx'

/** The reason that a move is disabled, or null. */
function refuse(move: keyof typeof sessionMoves, { status }: Session): string | null {
  const from: readonly string[] = sessionMoves[move].from
  return from.includes(status) ? null : `The session is ${status}`
}

const notRunning = ({ status }: Session) => (status === 'running' ? null : `The session is ${status}`)

/** Where no restart can work. Only a failed session asks for sandboxes, which says so in its notice, too. */
function useStartRefusal(session: Session): string | null {
  const { data } = useQuery({ ...sandboxReadiness, enabled: session.status === 'failed' })
  const agentGone = useAgentGone(session)
  return data?.driver === 'none' ? data.problem : agentGone
}

/** A refused start may be the first to say that the agent is gone. */
const startKeys = ({ project_id: id }: Session) => [
  ['project', id, 'sessions'],
  ['project', id, 'agents'],
]

/** In the bar. What fails shows where this is rendered. */
export function SessionActions({ session }: { session: Session }) {
  const { slug, account_id: accountId } = useProject()
  const roleRefusal = useWriteRefusal(accountId)
  const startRefusal = useStartRefusal(session)
  const navigate = useNavigate()
  const path = pathOf(session)
  const refetch = [['project', session.project_id, 'sessions']]
  const request = (may: MayDiscard) => ({ path, query: may?.discard === true ? { discard: 'true' as const } : {} })
  const stop = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/stop', { request, refetch })
  const restart = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/restart', {
    request,
    refetch: startKeys(session),
  })
  const refresh = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/refresh', { path, refetch })
  const remove = useSend('DELETE', '/v1/projects/{projectId}/sessions/{sessionId}', {
    request,
    refetch,
    onSuccess: () => navigate({ to: paths.sessions, params: { project: slug } }),
  })
  const branchOff = useSend('POST', '/v1/projects/{projectId}/sessions', {
    request: () => ({
      path: { projectId: session.project_id },
      body: {
        base_ref: session.branch_name,
        name: `From ${session.name}`.slice(0, 200),
        agent_name: session.agent_name,
      },
    }),
    once: true,
    refetch,
    onSuccess: ({ session_id }) => navigate({ to: paths.session, params: { project: slug, sessionId: session_id } }),
  })
  const ends = [['Stop', stop] as const, ['Restart', restart] as const, ['Delete', remove] as const]
  const unsaved = ends.find(([, { error }]) => isUnsaved(error))
  const error = [stop, refresh, restart, remove, branchOff].find(({ isError }) => isError)?.error
  const isLive = session.status === 'running' || session.status === 'provisioning'
  return (
    <>
      <BarActions>
        <FilesLink sessionId={path.sessionId} />
        {isLive ? (
          <>
            <Button
              kind="quiet"
              disabledReason={roleRefusal ?? notRunning(session)}
              onClick={() =>
                void navigate({ to: paths.terminal, params: { project: slug, sessionId: path.sessionId } })
              }
            >
              Terminal
            </Button>
            <PreviewLink sessionId={path.sessionId} />
            <Button
              disabledReason={roleRefusal ?? refuse('stop', session)}
              action={stop}
              title="Ends the sandbox. The branch and the conversation stay."
            >
              Stop session
            </Button>
          </>
        ) : (
          <Button disabledReason={roleRefusal ?? startRefusal ?? refuse('restart', session)} action={restart}>
            Restart session
          </Button>
        )}
        <MoreActions
          session={session}
          refresh={session.status === 'running' ? () => refresh.mutate() : null}
          restart={session.status === 'running' ? () => restart.mutate() : null}
          branchOff={() => branchOff.mutate()}
          remove={remove}
          isReadOnly={roleRefusal !== null}
        />
      </BarActions>
      {isWithoutAgent(restart.error)
        ? isLive && <NotRestarted session={session} reset={restart.reset} />
        : error != null && unsaved === undefined && <Failure error={error} />}
      {unsaved !== undefined && <UnsavedWork verb={unsaved[0]} end={unsaved[1]} />}
    </>
  )
}

/** The prompt box says it for a session that is not live. */
function NotRestarted({ session, reset }: { session: Session; reset: () => void }) {
  const reason = goneReason(session, useProject())
  return <RestartWithAgent session={session} reason={reason} onRestarted={reset} />
}

type MayDiscard = { discard: boolean } | void
type End = Pick<Sending<MayDiscard>, 'error' | 'isPending' | 'mutate' | 'reset'>

const isUnsaved = (error: unknown) => error instanceof ApiError && error.code === 'work_not_saved'

/** The session still runs, because its end would lose work. */
function UnsavedWork({ verb, end }: { verb: string; end: End }) {
  return (
    <ConfirmDialog
      open
      onOpenChange={(isOpen) => isOpen || end.reset()}
      title={`${verb} the session and lose its newest work?`}
      verb={`${verb} anyway`}
      busy={end.isPending}
      onConfirm={() => end.mutate({ discard: true })}
    >
      {withCode(end.error?.message ?? '')}
      <span className="mt-2 block">Push the work, or try again once it can be saved.</span>
    </ConfirmDialog>
  )
}

/** Of any session: without a sandbox they are what was saved. On a phone the panel has this link. */
function FilesLink({ sessionId }: { sessionId: string }) {
  const { slug } = useProject()
  return (
    <Link
      to={paths.sessionFiles}
      params={{ project: slug, sessionId }}
      className={`${buttonClass('quiet')} max-sm:hidden`}
    >
      Files
    </Link>
  )
}

/** To the pane beside the conversation. */
function PreviewLink({ sessionId }: { sessionId: string }) {
  const { slug } = useProject()
  return (
    <Link
      to={paths.session}
      params={{ project: slug, sessionId }}
      search={(before) => ({ ...before, panel: 'preview' })}
      resetScroll={false}
      onClick={scrollToPanel}
      className={buttonClass('quiet')}
    >
      Preview
    </Link>
  )
}

function MoreActions({
  session,
  refresh,
  restart,
  branchOff,
  remove,
  isReadOnly,
}: {
  session: Session
  /** Null while it is not possible. */
  refresh: (() => void) | null
  restart: (() => void) | null
  branchOff: () => void
  remove: { isPending: boolean; mutate: () => void }
  isReadOnly: boolean
}) {
  const [isConfirming, setConfirming] = useState(false)
  if (isReadOnly) return null
  return (
    <>
      <Menu.Root>
        <Menu.Trigger aria-label="More actions" className={`${buttonClass('quiet')} px-1.5!`}>
          <Ellipsis aria-hidden className="size-4" />
        </Menu.Trigger>
        <MenuPopup align="end">
          {refresh !== null && <MenuItem onClick={refresh}>Refresh from the default branch</MenuItem>}
          {restart !== null && <MenuItem onClick={restart}>Restart with a new sandbox</MenuItem>}
          <MenuItem onClick={branchOff}>Start a session from this branch</MenuItem>
          <MenuSeparator />
          <MenuItem onClick={() => setConfirming(true)}>Delete session</MenuItem>
        </MenuPopup>
      </Menu.Root>
      <ConfirmDialog
        open={isConfirming}
        onOpenChange={setConfirming}
        title={`Delete “${session.name}”?`}
        verb="Delete session"
        busy={remove.isPending}
        onConfirm={() => {
          setConfirming(false)
          remove.mutate()
        }}
      >
        This deletes the sandbox and the conversation. The branch and its change requests stay.
        {isConfirming && <LostWork session={session} />}
      </ConfirmDialog>
    </>
  )
}

function LostWork({ session }: { session: Session }) {
  const { data: saved } = useQuery(unfinishedWork(session))
  if (saved === undefined || saved.saved_at === null) return null
  return (
    <span className="mt-2 block text-warn">
      Unpushed work goes with it: {amountOf(saved)}. For thirty days, only the operator of this server can get it back.
    </span>
  )
}
