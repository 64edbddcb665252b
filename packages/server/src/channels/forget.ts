import type { Deps } from '../deps.ts'
import { deleteOldEvents } from './ingress/inbox-store.ts'
import { deleteOldCodes } from './links/link-store.ts'
import { deleteOldMessages } from './outbox/outbox-store.ts'

export async function deleteOldChannelRows(deps: Pick<Deps, 'db' | 'now'>): Promise<void> {
  await deleteOldEvents(deps.db)
  await deleteOldMessages(deps.db)
  await deleteOldCodes(deps.db, deps.now())
}
