import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api.ts'
import { Failure, useSend } from '../../components/requests.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { Button, Form, Select } from '../../ui/form.tsx'
import { Notice } from '../../ui/layout.tsx'
import type { Project } from '../projects/queries.ts'
import { agents, pathOf, type Session } from './queries.ts'

/** The start failed because the session's agent is not on the default branch. */
export const isWithoutAgent = (error: unknown) => error instanceof ApiError && error.code === 'agent_not_found'

/** Why a start of the session can only fail, or null: its agent is not on the default branch. A live session keeps its agent. */
export function useAgentGone({ status, agent_name: own }: Session, agent: string = own): string | null {
  const project = useProject()
  const { data: names, isPlaceholderData } = useQuery(agents(project))
  const isLive = status === 'running' || status === 'provisioning' || status === 'queued'
  if (isLive || names === undefined || isPlaceholderData || names.includes(agent)) return null
  return goneReason({ agent_name: agent }, project)
}

export const goneReason = ({ agent_name: agent }: Pick<Session, 'agent_name'>, project: Project) =>
  `The agent ${agent} no longer exists on ${project.default_branch}`

/** `reason`: null where the conversation says it already. */
export function RestartWithAgent({
  session,
  reason,
  onRestarted,
}: {
  session: Session
  reason: string | null
  onRestarted: () => void
}) {
  const project = useProject()
  const { data: names = [] } = useQuery(agents(project))
  const [agent, setAgent] = useState('build')
  const restart = useSend('POST', '/v1/projects/{projectId}/sessions/{sessionId}/restart', {
    path: pathOf(session),
    onSuccess: onRestarted,
    refetch: [['project', session.project_id, 'sessions']],
  })
  return (
    <Notice title={reason ?? 'Restart the session with another agent to continue'}>
      {reason !== null && <p>Restart the session with another agent to continue.</p>}
      <Form className="mt-2 flex flex-wrap items-end gap-3" onSubmit={() => restart.mutate({ agent })}>
        <Select label="Agent" options={names.map((name) => [name, name] as const)} value={agent} onChange={setAgent} />
        <Button type="submit" kind="primary" busy={restart.isPending}>
          Restart with {agent}
        </Button>
      </Form>
      {restart.isError && <Failure error={restart.error} />}
    </Notice>
  )
}
