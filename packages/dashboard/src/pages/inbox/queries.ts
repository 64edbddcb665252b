import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { get, type Reply } from '../../api.ts'
import { live } from '../../cache/read.ts'
import { requests } from '../../prefetch/requests.ts'

export type Inbox = Reply<'/v1/inbox'> & { askedAt: number }
export type InboxItem = Inbox['items'][number]
export type InboxGroup = InboxItem['group']
export type View = 'open' | 'snoozed' | 'done'

/** The first items of each group, of all projects or one, and when they were requested. */
export const inbox = (view: View, projectId: string | null, each: number) =>
  queryOptions({
    ...live,
    queryKey: ['inbox', view, projectId, each],
    queryFn: async ({ signal }): Promise<Inbox> => {
      const askedAt = performance.now()
      return { ...(await get(...requests.inbox(view, projectId, each), signal)), askedAt }
    },
    // More rows or another filter must not empty the page meanwhile.
    placeholderData: keepPreviousData,
  })
