import { queryOptions } from '@tanstack/react-query'
import { api, reply } from '../../api.ts'

/** A refusal or a pull request of somebody else is seen this late at most. */
const liveMs = 30_000

export const pullRequest = (projectId: string, crId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'change-request', crId, 'pull-request'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/change-requests/{crId}/pull-request', {
          params: { path: { projectId, crId } },
          signal,
        }),
      ),
    refetchInterval: liveMs,
  })
