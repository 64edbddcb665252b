import { infiniteQueryOptions } from '@tanstack/react-query'
import { getPage, type Reply } from '../../api.ts'

export type AuditEvent = Reply<'/v1/accounts/{accountId}/audit'>[number]

export const auditPages = (accountId: string, filter: { action?: string; member?: string; project?: string }) =>
  infiniteQueryOptions({
    queryKey: ['account', accountId, 'audit', filter],
    queryFn: ({ signal, pageParam: cursor }) =>
      getPage(
        '/v1/accounts/{accountId}/audit',
        {
          path: { accountId },
          query: {
            limit: 100,
            action: filter.action,
            actor_user_id: filter.member,
            project_id: filter.project,
            cursor,
          },
        },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
  })
