import { queryOptions } from '@tanstack/react-query'
import { get, type Reply } from '../../api.ts'

export type Usage = Reply<'/v1/accounts/{accountId}/usage'>
export type Storage = Reply<'/v1/projects/{projectId}/usage'>['storage']

export const accountUsage = (accountId: string, days: number) =>
  queryOptions({
    queryKey: ['account', accountId, 'usage', days],
    queryFn: ({ signal }) => get('/v1/accounts/{accountId}/usage', { path: { accountId }, query: { days } }, signal),
  })

export const projectUsage = (projectId: string, days: number) =>
  queryOptions({
    queryKey: ['project', projectId, 'usage', days],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/usage', { path: { projectId }, query: { days } }, signal),
  })
