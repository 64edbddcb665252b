import type { InboxItem } from '@svc/sdk'
import { at, ids } from './ids.ts'

export const anInboxItem = (changes: Partial<InboxItem> = {}): InboxItem => ({
  ...{ key: `change_request.${ids.cr}`, kind: 'change_request', group: 'review', state: 'ready', version: 'c0ffee' },
  project: { project_id: ids.project, slug: 'app', name: 'App' },
  ...{ title: 'Add a greeting', why: '2 of 2 checks pass', task: null, number: 3, cr_id: ids.cr, question_id: null },
  ...{ session: null, author: 'Ada', additions: 3, deletions: 1 },
  ...{ updated_at: at(60), snoozed_until: null },
  ...changes,
})

export const inboxAnswers = {
  getInbox: ({ query }: { query: { view?: string } }) => ({
    items: query.view === 'snoozed' ? [] : [anInboxItem()],
    counts: { answer: 0, review: 1, unblock: 0, running: 0 },
    ...{ snoozed: 0, done: 0 },
  }),
  putAwayInboxItem: () => ({ ok: true }),
  restoreInboxItem: () => ({ ok: true }),
}
