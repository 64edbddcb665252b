import { queryOptions } from '@tanstack/react-query'
import type { operations } from '@svc/contract/api'
import { api, reply } from '../../api.ts'

export type Usage = operations['accountUsage']['responses'][200]['content']['application/json']

export type Storage = operations['projectUsage']['responses'][200]['content']['application/json']['storage']

export const accountUsage = (accountId: string, days: number) =>
  queryOptions({
    queryKey: ['account', accountId, 'usage', days],
    queryFn: ({ signal }) =>
      reply(api.GET('/v1/accounts/{accountId}/usage', { params: { path: { accountId }, query: { days } }, signal })),
  })

export const projectUsage = (projectId: string, days: number) =>
  queryOptions({
    queryKey: ['project', projectId, 'usage', days],
    queryFn: ({ signal }) =>
      reply(api.GET('/v1/projects/{projectId}/usage', { params: { path: { projectId }, query: { days } }, signal })),
  })
