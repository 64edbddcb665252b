/** Maps the platform names of svc.toml to their implementations. */
import type { Config } from '../config.ts'
import type { ChatPlatform } from './platform.ts'
import { slackPlatform } from './slack/slack.ts'

export type PlatformName = 'slack'

export function platformOf(config: Pick<Config, 'slackApiUrl'>, name: PlatformName): ChatPlatform {
  switch (name) {
    case 'slack':
      return slackPlatform(config.slackApiUrl)
    default:
      return name satisfies never
  }
}
