import type { z } from 'zod'
import type { chatSetup } from '@svc/contract'
import { chatPlatforms } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { platformOf } from './platforms.ts'

/** What each platform has to be told to reach a project. */
export function setupsOf({ config }: Pick<Deps, 'config'>, projectId: string): z.input<typeof chatSetup>[] {
  return chatPlatforms.map((platform) => {
    const door = `${config.publicUrl}/v1/channels/${platform}/${projectId}`
    const urls = { events: `${door}/events`, interactions: `${door}/interactions` }
    return {
      platform,
      events_url: urls.events,
      interactions_url: urls.interactions,
      app_manifest: platformOf(config, platform).appManifest(urls) as Record<string, never>,
      warning: config.publicUrl.startsWith('https://')
        ? null
        : `${platform} reaches only https addresses of the open internet. Put a proxy with a certificate in front and set SVC_PUBLIC_URL; ${config.publicUrl} cannot be reached from there.`,
    }
  })
}
