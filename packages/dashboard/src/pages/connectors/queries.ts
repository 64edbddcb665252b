import { queryOptions } from '@tanstack/react-query'
import type { operations } from '@svc/contract/api'
import { api, reply } from '../../api.ts'

type Answered<Name extends 'listConnectors' | 'listConnectorApprovals'> =
  operations[Name]['responses'][200]['content']['application/json']
export type Connector = Answered<'listConnectors'>['connectors'][number]
export type ConnectorTool = Connector['tools'][number]
export type Policy = ConnectorTool['policy']
export type Approval = Answered<'listConnectorApprovals'>['approvals'][number]

/** No event tells that an agent asks; it waits for two minutes. */
const askedMs = 5_000

export const connectors = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'connectors'],
    queryFn: ({ signal }) =>
      reply(api.GET('/v1/projects/{projectId}/connectors', { params: { path: { projectId } }, signal })),
    refetchInterval: 30_000,
  })

/** Calls that wait for a person: of the project, or of one session. */
export const approvals = (projectId: string, sessionId?: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'connectors', 'approvals', sessionId ?? 'all'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/connector-approvals', {
          params: { path: { projectId }, query: sessionId === undefined ? {} : { session_id: sessionId } },
          signal,
        }),
      ),
    refetchInterval: askedMs,
    select: ({ approvals }) => approvals,
  })
