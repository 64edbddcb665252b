/** The manifest for "From a manifest" at https://api.slack.com/apps. */
export function slackAppManifest(urls: { events: string; interactions: string }): Record<string, unknown> {
  return {
    display_information: { name: 'svc', description: 'Coding agents that work on the repository of this project' },
    features: { bot_user: { display_name: 'svc', always_online: true } },
    oauth_config: {
      scopes: {
        bot: [
          'app_mentions:read',
          'channels:history',
          'channels:read',
          'chat:write',
          'groups:history',
          'groups:read',
          'users:read',
          'users:read.email',
        ],
      },
    },
    settings: {
      event_subscriptions: {
        request_url: urls.events,
        bot_events: ['app_mention', 'message.channels', 'message.groups'],
      },
      interactivity: { is_enabled: true, request_url: urls.interactions },
      org_deploy_enabled: false,
      socket_mode_enabled: false,
      token_rotation_enabled: false,
    },
  }
}
