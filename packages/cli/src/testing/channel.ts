import type { Channel, ChannelLink } from '@svc/sdk'
import { at, ids } from './ids.ts'

export const aChannel = (changes: Partial<Channel> = {}): Channel => ({
  ...{ channel_id: '88888888-8888-4888-8888-888888888888', platform: 'slack', bot_name: 'svc' },
  ...{ workspace_id: 'T0ACME', workspace_name: 'Acme', conversation_id: 'C0DEVTEAM', conversation_name: 'dev' },
  ...{ shared_externally: false, allow_unlinked: false, agent: null, events: [], error: null, waiting: 0 },
  ...{ connected_by: ids.user, created_at: at(3600), updated_at: at(3600) },
  ...changes,
})

const aLink = (changes: Partial<ChannelLink> = {}): ChannelLink => ({
  ...{ link_id: '99999999-9999-4999-8999-999999999999', account_id: ids.account, platform: 'slack', user_id: ids.user },
  ...{
    workspace_id: 'T0ACME',
    workspace_name: 'Acme',
    chat_user_id: 'U0ADA',
    chat_user_name: 'Ada',
    created_at: at(3600),
  },
  ...changes,
})

export const channelAnswers = {
  listChannels: () => ({
    channels: [aChannel()],
    errors: [],
    setup: [
      {
        ...{ platform: 'slack', events_url: 'http://127.0.0.1/e', interactions_url: 'http://127.0.0.1/i' },
        app_manifest: { display_information: { name: 'svc' } },
        warning: 'Slack reaches only https addresses.',
      },
    ],
  }),
  connectChannel: () => aChannel(),
  getChannel: () => ({
    ...aChannel(),
    threads: [{ session_id: null, started_by: null, author: 'Ada', created_at: at(3600) }],
    deliveries: [
      {
        kind: 'answer',
        status: 'failed',
        attempts: 3,
        error: 'Slack refused it: x',
        updated_at: at(3600),
        sent_at: null,
      },
    ],
    links: [aLink()],
  }),
  editChannel: () => aChannel(),
  testChannel: () => ({ sent: true, error: null }),
  claimLinkCode: () => ({
    ...{ platform: 'slack', workspace_name: 'Acme', chat_user_id: 'U0ADA', chat_user_name: 'Ada' },
    ...{ chat_user_email: 'ada@example.com', project_id: '33333333-3333-4333-8333-333333333333', project_name: 'app' },
    ...{ account_name: 'Home', user_name: 'Ada', user_email: 'ada@example.com', expires_at: at(3600) },
  }),
  linkChatUser: () => aLink(),
  listChannelLinks: () => [aLink()],
}
