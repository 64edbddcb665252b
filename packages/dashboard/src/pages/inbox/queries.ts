import { keepPreviousData } from '@tanstack/react-query'
import type { Reply } from '../../api.ts'
import { live, read } from '../../cache/read.ts'
import { requests } from '../../prefetch/requests.ts'

export type Inbox = Reply<'/v1/inbox'>
export type InboxItem = Inbox['items'][number]
export type InboxGroup = InboxItem['group']
export type View = 'open' | 'snoozed' | 'done'

/** The first items of each group, of all projects or one. */
export const inbox = (view: View, projectId: string | null, each: number) =>
  read(['inbox', view, projectId, each], ...requests.inbox(view, projectId, each), {
    ...live,
    // More rows or another filter must not empty the page meanwhile.
    placeholderData: keepPreviousData,
  })
