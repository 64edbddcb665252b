import * as contract from '@svc/contract'
import type { Deps } from '../deps.ts'
import { wantsPage } from '../http/event-channel.ts'
import { handle, type Mounted, ok } from '../http/mount.ts'
import { countOpenWork } from './item-store.ts'
import { putAwayItem, restoreItem } from './put-away.ts'
import { readInbox } from './read.ts'
import { followedProjects, streamInbox } from './stream.ts'

export function inboxRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.getInboxRoute, async ({ query, caller }) => readInbox(deps, caller.actor.user_id, query)),
    handle(contract.countOpenWorkRoute, async ({ caller }) =>
      countOpenWork(deps.db, { userId: caller.actor.user_id, now: deps.now() }),
    ),
    handle(contract.putAwayInboxItemRoute, async ({ body, params, caller }) =>
      ok(putAwayItem(deps, { ...body, key: params.key, userId: caller.actor.user_id })),
    ),
    handle(contract.restoreInboxItemRoute, async ({ params, caller }) =>
      ok(restoreItem(deps, { key: params.key, userId: caller.actor.user_id })),
    ),
    handle(contract.streamInboxRoute, async ({ query, caller, request: { headers, signal } }) => {
      const { user_id: userId } = caller.actor
      if (!wantsPage(headers.get('accept'))) return streamInbox(deps, { userId, signal, recent: query.recent })
      return { type: 'ready' as const, project_ids: await followedProjects(deps, userId) }
    }),
  ]
}
