/** Invitations, sent and received, and what was made in the person's name. */
import { queryOptions } from '@tanstack/react-query'
import type { operations } from '@svc/contract/api'
import { api, reply } from './api.ts'

export type SecurityNotice =
  operations['listNotices']['responses'][200]['content']['application/json']['notices'][number]
export type ReceivedInvitation = operations['readInvitation']['responses'][200]['content']['application/json']

export const invitations = (accountId: string) =>
  queryOptions({
    queryKey: ['account', accountId, 'invitations'],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/accounts/{accountId}/invitations', {
          params: { path: { accountId }, query: { limit: 1000 } },
          signal,
        }),
      ),
  })

export const receivedInvitations = queryOptions({
  queryKey: ['received-invitations'],
  queryFn: ({ signal }) => reply(api.GET('/v1/invitations', { params: { query: { limit: 1000 } }, signal })),
})

/** Once a visit: what happens meanwhile is shown at the next one. */
export const notices = queryOptions({
  queryKey: ['notices'],
  queryFn: ({ signal }) => reply(api.GET('/v1/accounts/notices', { signal })),
  staleTime: Infinity,
})
