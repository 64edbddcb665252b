import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { sessionMoves } from '@svc/contract/schemas/session-moves'
import { api, reply } from '../../api.ts'
import { useInvalidate } from '../../cache/invalidate.ts'
import { ConfirmButton } from '../../components/confirm-button.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { paths } from '../../paths.ts'
import type { Session } from './queries.ts'
import { Button } from '../../ui/button.tsx'
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
  const params = { params: { path: { projectId: session.project_id, sessionId: session.session_id } } }
  const settle = { onSettled: useInvalidate(['project', session.project_id, 'sessions']) }
  const stop = useMutation({
    mutationFn: () => reply(api.POST('/v1/projects/{projectId}/sessions/{sessionId}/stop', params)),
    ...settle,
  })
  const restart = useMutation({
    mutationFn: () => reply(api.POST('/v1/projects/{projectId}/sessions/{sessionId}/restart', params)),
    ...settle,
  })
  const refresh = useMutation({
    mutationFn: () => reply(api.POST('/v1/projects/{projectId}/sessions/{sessionId}/refresh', params)),
    ...settle,
  })
  const preview = useMutation({
    mutationFn: () => reply(api.GET('/v1/projects/{projectId}/sessions/{sessionId}/preview', params)),
    onSuccess: ({ url }) => window.open(url, '_blank', 'noopener'),
  })
  const remove = useMutation({
    mutationFn: () => reply(api.DELETE('/v1/projects/{projectId}/sessions/{sessionId}', params)),
    ...settle,
    onSuccess: () => navigate({ to: paths.sessions, params: { project: slug } }),
  })
  const error = [stop, refresh, restart, preview, remove].find(({ isError }) => isError)?.error
  const isLive = session.status === 'running' || session.status === 'provisioning'
  return (
    <>
      <div className="flex flex-wrap gap-2">
        <Button
          disabledReason={session.status === 'running' ? null : `The session is ${session.status}`}
          busy={preview.isPending}
          onClick={() => preview.mutate()}
        >
          Preview
        </Button>
        <Button
          disabledReason={roleRefusal ?? (session.status === 'running' ? null : `The session is ${session.status}`)}
          onClick={() =>
            void navigate({ to: paths.terminal, params: { project: slug, sessionId: session.session_id } })
          }
        >
          Terminal
        </Button>
        <Button
          disabledReason={roleRefusal ?? (isLive ? refuse('stop', session) : `The session is ${session.status}`)}
          busy={stop.isPending}
          onClick={() => stop.mutate()}
        >
          Stop
        </Button>
        <Button
          disabledReason={roleRefusal ?? refuse('refresh', session)}
          busy={refresh.isPending}
          onClick={() => refresh.mutate()}
        >
          Refresh
        </Button>
        <Button
          disabledReason={roleRefusal ?? refuse('restart', session)}
          busy={restart.isPending}
          onClick={() => restart.mutate()}
        >
          Restart
        </Button>
        <ConfirmButton
          verb="Delete session"
          label="Delete"
          disabledReason={roleRefusal}
          title={`Delete ${session.name}?`}
          busy={remove.isPending}
          onConfirm={() => remove.mutate()}
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
