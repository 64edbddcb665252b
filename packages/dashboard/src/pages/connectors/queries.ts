import { queryOptions } from '@tanstack/react-query'
import { get, type Reply } from '../../api.ts'
import { liveMs } from '../../cache/query-client.ts'

export type Connector = Reply<'/v1/projects/{projectId}/connectors'>['connectors'][number]
export type ConnectorTool = Connector['tools'][number]
export type Policy = ConnectorTool['policy']
export type Approval = Reply<'/v1/projects/{projectId}/connector-approvals'>['approvals'][number]

/** No event reports a pending approval, and the agent waits for it only two minutes. */
const approvalsMs = 5_000

export const connectors = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'connectors'],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/connectors', { path: { projectId } }, signal),
    refetchInterval: liveMs,
  })

/** Calls that wait for a person: in the project, or in one session. */
export const approvals = (projectId: string, sessionId?: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'connectors', 'approvals', sessionId ?? 'all'],
    queryFn: ({ signal }) =>
      get(
        '/v1/projects/{projectId}/connector-approvals',
        {
          path: { projectId },
          query: { session_id: sessionId },
        },
        signal,
      ),
    refetchInterval: approvalsMs,
    select: ({ approvals }) => approvals,
  })
