import type { Deps } from '../deps.ts'
import { forgetOldEvents } from './inbox-store.ts'
import { forgetOldCodes } from './link-store.ts'
import { forgetOldMessages } from './outbox-store.ts'

export async function forgetOldChat(deps: Pick<Deps, 'db' | 'now'>): Promise<void> {
  await forgetOldEvents(deps.db)
  await forgetOldMessages(deps.db)
  await forgetOldCodes(deps.db, deps.now())
}
