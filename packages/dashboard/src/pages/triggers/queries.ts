import { queryOptions } from '@tanstack/react-query'
import { get, type Reply } from '../../api.ts'
import { liveMs } from '../../cache/query-client.ts'

export type Trigger = Reply<'/v1/projects/{projectId}/triggers'>['triggers'][number]

export const triggers = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'triggers'],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/triggers', { path: { projectId } }, signal),
    refetchInterval: liveMs,
  })

export const trigger = (projectId: string, slug: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'triggers', slug],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/triggers/{slug}', { path: { projectId, slug } }, signal),
    refetchInterval: liveMs,
  })
