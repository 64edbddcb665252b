/** What the pages ask of the service, with the keys under which answers are kept. */
import { queryOptions } from '@tanstack/react-query'
import { api, reply } from './api.ts'

/** Until an event says that something moved, this is how old an answer may get while it is looked at. */
const liveMs = 5_000

export const me = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => reply(api.GET('/v1/accounts/me', { signal })),
  staleTime: 60_000,
})

export const projects = queryOptions({
  queryKey: ['projects'],
  queryFn: ({ signal }) => reply(api.GET('/v1/projects', { params: { query: { limit: 1000 } }, signal })),
})

export const changeRequests = (projectId: string, status: 'open' | 'merged' | 'closed' | 'all') =>
  queryOptions({
    queryKey: ['project', projectId, 'change-requests', status],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests', {
          params: { path: { projectId }, query: { status, limit: 100 } },
          signal,
        }),
      ),
    refetchInterval: liveMs,
    select: ({ change_requests }) => change_requests,
  })

export const sessions = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'sessions'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/sessions', {
          params: { path: { projectId }, query: { limit: 100 } },
          signal,
        }),
      ),
    refetchInterval: liveMs,
  })

export const mergePreview = (projectId: string, crId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-request', crId, 'preview'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests/{crId}/merge-preview', {
          params: { path: { projectId, crId } },
          signal,
        }),
      ),
    refetchInterval: liveMs,
  })
