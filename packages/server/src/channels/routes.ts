import * as contract from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted, ok } from '../http/mount.ts'
import { connectChannel, disconnectChannel, editChannel } from './connect.ts'
import { linksOfUser, linksOfWorkspace } from './links/link-store.ts'
import { claimLinkCode, linkChatUser, unlinkChatUser } from './links/links.ts'
import { newestMessages } from './outbox/outbox-store.ts'
import { channelErrors } from './manifest-issues.ts'
import { setupsOf } from './setup.ts'
import { listChannels, newestThreads, presentChannel, presentChannels, requireChannel } from './store.ts'
import { testChannel } from './test-message.ts'

const shown = 50

export function channelRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.listChannelsRoute, async ({ project, request }) => ({
      errors: await channelErrors(deps, project, request.signal),
      channels: await presentChannels(deps.db, await listChannels(deps.db, project.project_id)),
      setup: setupsOf(deps, project.project_id),
    })),
    handle(contract.connectChannelRoute, async ({ project, caller, body, request }) => {
      const row = await connectChannel(deps, { ...body, project, caller, channelId: request.resourceId })
      return presentChannel(deps.db, row)
    }),
    handle(contract.getChannelRoute, async ({ project, params }) => {
      const row = await requireChannel(deps.db, project.project_id, params.channelId)
      const links = await linksOfWorkspace(deps.db, row)
      const threads = await newestThreads(deps.db, row.channel_id, shown)
      return {
        ...(await presentChannel(deps.db, row)),
        links,
        threads: threads.map(({ chat_user_name, ...thread }) => ({ ...thread, author: chat_user_name })),
        deliveries: await newestMessages(deps.db, row.channel_id, shown),
      }
    }),
    handle(contract.editChannelRoute, async ({ project, caller, params, body }) => {
      const row = await editChannel(deps, { ...params, ...body, project, caller })
      return presentChannel(deps.db, row)
    }),
    handle(contract.disconnectChannelRoute, ({ project, caller, params }) =>
      ok(disconnectChannel(deps, { ...params, project, caller })),
    ),
    handle(contract.testChannelRoute, async ({ project, caller, params }) =>
      testChannel(deps, { ...params, project, caller }),
    ),
    handle(contract.claimLinkCodeRoute, async ({ caller, body }) => claimLinkCode(deps, { ...body, caller })),
    handle(contract.linkChatUserRoute, async ({ caller, body }) => linkChatUser(deps, { ...body, caller })),
    handle(contract.listChannelLinksRoute, async ({ caller }) => linksOfUser(deps.db, caller.actor.user_id)),
    handle(contract.unlinkChatUserRoute, ({ caller, params }) => ok(unlinkChatUser(deps, { ...params, caller }))),
  ]
}
