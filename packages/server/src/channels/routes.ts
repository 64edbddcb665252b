import {
  claimLinkCodeRoute,
  connectChannelRoute,
  disconnectChannelRoute,
  editChannelRoute,
  getChannelRoute,
  linkChatUserRoute,
  listChannelLinksRoute,
  listChannelsRoute,
  testChannelRoute,
  unlinkChatUserRoute,
} from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted, ok } from '../http/mount.ts'
import { connectChannel, disconnectChannel, editChannel } from './connect.ts'
import { linksOfUser, linksOfWorkspace, presentLink } from './links/link-store.ts'
import { claimLinkCode, linkChatUser, unlinkChatUser } from './links/links.ts'
import { newestMessages } from './outbox/outbox-store.ts'
import { channelErrors } from './manifest-issues.ts'
import { setupsOf } from './setup.ts'
import { listChannels, newestThreads, presentChannel, presentChannels, requireChannel } from './store.ts'
import { testChannel } from './test-message.ts'

const shown = 50

export function channelRoutes(deps: Deps): Mounted[] {
  return [
    handle(listChannelsRoute, async ({ project, request }) => ({
      errors: await channelErrors(deps, project, request.signal),
      channels: await presentChannels(deps.db, await listChannels(deps.db, project.project_id)),
      setup: setupsOf(deps, project.project_id),
    })),
    handle(connectChannelRoute, async ({ project, caller, body, request }) => {
      const row = await connectChannel(deps, { ...body, project, caller, channelId: request.resourceId })
      return presentChannel(deps.db, row)
    }),
    handle(getChannelRoute, async ({ project, params }) => {
      const row = await requireChannel(deps.db, project.project_id, params.channelId)
      const links = await linksOfWorkspace(deps.db, row)
      const threads = await newestThreads(deps.db, row.channel_id, shown)
      return {
        ...(await presentChannel(deps.db, row)),
        links: links.map(presentLink),
        threads: threads.map(({ chat_user_name, ...thread }) => ({ ...thread, author: chat_user_name })),
        deliveries: await newestMessages(deps.db, row.channel_id, shown),
      }
    }),
    handle(editChannelRoute, async ({ project, caller, params, body }) => {
      const row = await editChannel(deps, { ...params, ...body, project, caller })
      return presentChannel(deps.db, row)
    }),
    handle(disconnectChannelRoute, ({ project, caller, params }) =>
      ok(disconnectChannel(deps, { ...params, project, caller })),
    ),
    handle(testChannelRoute, async ({ project, caller, params }) => testChannel(deps, { ...params, project, caller })),
    handle(claimLinkCodeRoute, async ({ caller, body }) => claimLinkCode(deps, { ...body, caller })),
    handle(linkChatUserRoute, async ({ caller, body }) => presentLink(await linkChatUser(deps, { ...body, caller }))),
    handle(listChannelLinksRoute, async ({ caller }) =>
      (await linksOfUser(deps.db, caller.actor.user_id)).map(presentLink),
    ),
    handle(unlinkChatUserRoute, ({ caller, params }) => ok(unlinkChatUser(deps, { ...params, caller }))),
  ]
}
