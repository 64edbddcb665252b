import { infiniteQueryOptions } from '@tanstack/react-query'
import { getPage, type Reply } from '../../api.ts'

export type AuditEvent = Reply<'/v1/accounts/{accountId}/audit'>[number]

export const auditPages = (accountId: string, filter: { action?: string; member?: string; project?: string }) =>
  infiniteQueryOptions({
    queryKey: ['account', accountId, 'audit', filter],
    queryFn: ({ signal, pageParam: cursor }) => {
      const { action, member: actor_user_id, project: project_id } = filter
      const query = { limit: 100, action, actor_user_id, project_id, cursor }
      return getPage('/v1/accounts/{accountId}/audit', { path: { accountId }, query }, signal)
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    select: ({ pages }) => pages.flatMap(({ data }) => data),
  })
