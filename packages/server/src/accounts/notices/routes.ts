import { dismissNoticesRoute, listNoticesRoute } from '@svc/contract'
import { requireBrowser } from '../../auth/fresh-sign-in.ts'
import type { Deps } from '../../deps.ts'
import { handle, type Mounted } from '../../http/mount.ts'
import { dismissNotices, listNotices } from './store.ts'

export function noticeRoutes(deps: Deps): Mounted[] {
  return [
    handle(listNoticesRoute, async ({ caller }) => ({ notices: await listNotices(deps.db, caller.actor) })),
    handle(dismissNoticesRoute, async ({ caller, body }) => {
      // A token must not hide its own actions from its owner.
      requireBrowser(caller.actor)
      await dismissNotices(deps.db, caller.actor.user_id, body.up_to)
      return { ok: true }
    }),
  ]
}
