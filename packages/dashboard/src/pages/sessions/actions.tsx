import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { sessionMoves } from '@svc/contract/schemas/session-moves'
import { api, reply } from '../../api.ts'
import { Failure, useSend } from '../../components/requests.tsx'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { paths } from '../../paths.ts'
import { pathOf, type Session } from './queries.ts'
import { Button } from '../../ui/form.tsx'
import { isWithoutAgent, RestartWithAgent } from './restart-with-agent.tsx'

/** The reason that a move is disabled, or null. */
function refuse(move: keyof typeof sessionMoves, { status }: Session): string | null {
  const from: readonly string[] = sessionMoves[move].from
  return from.includes(status) ? null : `The session is ${status}`
}

export function SessionActions({ session }: { session: Session }) {
  const { slug, account_id: accountId } = useProject()
  const roleRefusal = useWriteRefusal(accountId)
  const navigate = useNavigate()
  const path = pathOf(session)
  const refetch = [['project', session.project_id, 'sessions']]
  const stop = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/stop', { path, refetch })
  const restart = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/restart', { path, refetch })
  const refresh = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/refresh', { path, refetch })
  const preview = useMutation({
    mutationFn: () => reply(api.GET('/v1/projects/{projectId}/sessions/{sessionId}/preview', { params: { path } })),
    onSuccess: ({ url }) => window.open(url, '_blank', 'noopener'),
  })
  const remove = useSend('DELETE', '/v1/projects/{projectId}/sessions/{sessionId}', {
    path,
    refetch,
    onSuccess: () => navigate({ to: paths.sessions, params: { project: slug } }),
  })
  const error = [stop, refresh, restart, preview, remove].find(({ isError }) => isError)?.error
  const notRunning = session.status === 'running' ? null : `The session is ${session.status}`
  const isLive = session.status === 'running' || session.status === 'provisioning'
  return (
    <>
      <div className="flex flex-wrap gap-2">
        <Button disabledReason={notRunning} action={preview}>
          Preview
        </Button>
        <Button
          disabledReason={roleRefusal ?? notRunning}
          onClick={() => void navigate({ to: paths.terminal, params: { project: slug, sessionId: path.sessionId } })}
        >
          Terminal
        </Button>
        <Button disabledReason={roleRefusal ?? (isLive ? refuse('stop', session) : notRunning)} action={stop}>
          Stop
        </Button>
        <Button disabledReason={roleRefusal ?? refuse('refresh', session)} action={refresh}>
          Refresh
        </Button>
        <Button disabledReason={roleRefusal ?? refuse('restart', session)} action={restart}>
          Restart
        </Button>
        <ConfirmButton
          verb="Delete session"
          label="Delete"
          disabledReason={roleRefusal}
          title={`Delete ${session.name}?`}
          action={remove}
          given={undefined}
        >
          This deletes the sandbox and the conversation. The branch and its change requests stay.
        </ConfirmButton>
      </div>
      {isWithoutAgent(restart.error) ? (
        <RestartWithAgent session={session} onRestarted={restart.reset} />
      ) : (
        error != null && <Failure error={error} />
      )}
    </>
  )
}
