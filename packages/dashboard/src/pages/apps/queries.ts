import { queryOptions } from '@tanstack/react-query'
import { get, type Reply } from '../../api.ts'
import { liveMs } from '../../cache/query-client.ts'

export type App = Reply<'/v1/projects/{projectId}/apps/{slug}'>

export const apps = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'apps'],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/apps', { path: { projectId } }, signal),
    refetchInterval: 2_000,
  })

export const appLog = (projectId: string, slug: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'apps', slug, 'log'],
    queryFn: ({ signal }) =>
      get('/v1/projects/{projectId}/apps/{slug}/logs', { path: { projectId, slug }, query: { lines: 300 } }, signal),
    refetchInterval: liveMs,
  })
