import { queryOptions } from '@tanstack/react-query'
import { api, reply } from '../../api.ts'
import { liveMs } from '../../queries.ts'

export const triggers = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'triggers'],
    queryFn: ({ signal }) =>
      reply(api.GET('/v1/projects/{projectId}/triggers', { params: { path: { projectId } }, signal })),
    refetchInterval: liveMs,
  })

export const trigger = (projectId: string, slug: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'triggers', slug],
    queryFn: ({ signal }) =>
      reply(api.GET('/v1/projects/{projectId}/triggers/{slug}', { params: { path: { projectId, slug } }, signal })),
    refetchInterval: liveMs,
  })
