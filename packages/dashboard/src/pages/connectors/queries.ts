import type { Reply } from '../../api.ts'
import { live, read } from '../../cache/read.ts'

export type Connector = Reply<'/v1/projects/{projectId}/connectors'>['connectors'][number]
export type ConnectorTool = Connector['tools'][number]
export type Policy = ConnectorTool['policy']
export type Approval = Reply<'/v1/projects/{projectId}/connector-approvals'>['approvals'][number]

/** No event reports a pending approval, and the agent waits for it only two minutes. */
const approvalsMs = 5_000

export const connectors = (projectId: string) =>
  read(['project', projectId, 'connectors'], '/v1/projects/{projectId}/connectors', { path: { projectId } }, live)

export const approvals = (projectId: string, sessionId?: string) =>
  read(
    ['project', projectId, 'connectors', 'approvals', sessionId ?? 'all'],
    '/v1/projects/{projectId}/connector-approvals',
    { path: { projectId }, query: { session_id: sessionId } },
    { refetchInterval: approvalsMs, select: ({ approvals }) => approvals },
  )
