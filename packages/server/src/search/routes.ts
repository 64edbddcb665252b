import { searchEverythingRoute } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { findChangeRequests, findSessions } from './store.ts'

export function searchRoutes(deps: Deps): Mounted[] {
  return [
    handle(searchEverythingRoute, async ({ query, caller }) => {
      const search = { text: query.text, firstProjectId: query.project_id, userId: caller.actor.user_id }
      const [changeRequests, sessions] = await Promise.all([
        findChangeRequests(deps.db, search),
        findSessions(deps.db, search),
      ])
      return { change_requests: changeRequests, sessions }
    }),
  ]
}
