import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { sessionMoves } from '@svc/contract/session-moves'
import { useState } from 'react'
import { api, reply } from '../../api.ts'
import { askAgain } from '../../ask-again.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { useProject } from '../../components/project-shell.tsx'
import { useWriteRefusal } from '../../components/role.ts'
import { paths } from '../../paths.ts'
import type { Session } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { isWithoutAgent, RestartWithAgent } from './restart-with-agent.tsx'

/** Why a move is off now, or null. */
function refuse(move: keyof typeof sessionMoves, { status }: Session): string | null {
  const from: readonly string[] = sessionMoves[move].from
  return from.includes(status) ? null : `The session is ${status}`
}

export function SessionActions({ session }: { session: Session }) {
  const { slug, account_id: accountId } = useProject()
  const mayNot = useWriteRefusal(accountId)
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [asks, setAsks] = useState(false)
  const params = { params: { path: { projectId: session.project_id, sessionId: session.session_id } } }
  const settle = {
    onSettled: askAgain(queries, ['project', session.project_id, 'sessions']),
  }
  const stop = useMutation({
    mutationFn: () => reply(api.POST('/v1/projects/{projectId}/sessions/{sessionId}/stop', params)),
    ...settle,
  })
  const restart = useMutation({
    mutationFn: () => reply(api.POST('/v1/projects/{projectId}/sessions/{sessionId}/restart', params)),
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
  const error = [stop, restart, preview, remove].find(({ isError }) => isError)?.error
  const alive = session.status === 'running' || session.status === 'provisioning'
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
          disabledReason={mayNot ?? (session.status === 'running' ? null : `The session is ${session.status}`)}
          onClick={() =>
            void navigate({ to: paths.terminal, params: { project: slug, sessionId: session.session_id } })
          }
        >
          Terminal
        </Button>
        <Button
          disabledReason={mayNot ?? (alive ? refuse('stop', session) : `The session is ${session.status}`)}
          busy={stop.isPending}
          onClick={() => stop.mutate()}
        >
          Stop
        </Button>
        <Button
          disabledReason={mayNot ?? refuse('restart', session)}
          busy={restart.isPending}
          onClick={() => restart.mutate()}
        >
          Restart
        </Button>
        <Button kind="quiet" disabledReason={mayNot} onClick={() => setAsks(true)}>
          Delete
        </Button>
      </div>
      {isWithoutAgent(restart.error) ? (
        <RestartWithAgent session={session} onRestarted={restart.reset} />
      ) : (
        error != null && <Failure error={error} />
      )}
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title={`Delete ${session.name}?`}
        verb="Delete"
        busy={remove.isPending}
        onConfirm={() => remove.mutate()}
      >
        Its sandbox and its conversation go. Its branch stays, and so do its change requests.
      </ConfirmDialog>
    </>
  )
}
