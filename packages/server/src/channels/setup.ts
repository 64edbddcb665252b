import type { z } from 'zod'
import type { chatSetup } from '@svc/contract'
import { chatPlatforms } from '@svc/contract'
import type { Deps } from '../deps.ts'
import { platformOf } from './platforms.ts'

/** The URLs and app manifest that a platform needs to reach a project. */
export function setupsOf({ config }: Pick<Deps, 'config'>, projectId: string): z.input<typeof chatSetup>[] {
  return chatPlatforms.map((platform) => {
    const endpoint = `${config.publicUrl}/v1/channels/${platform}/${projectId}`
    const urls = { events: `${endpoint}/events`, interactions: `${endpoint}/interactions` }
    return {
      platform,
      events_url: urls.events,
      interactions_url: urls.interactions,
      app_manifest: platformOf(config, platform).appManifest(urls) as Record<string, never>,
      warning: config.publicUrl.startsWith('https://')
        ? null
        : `The chat platform can only reach public https URLs, not ${config.publicUrl}. Put a TLS proxy in front of the server and set SVC_PUBLIC_URL.`,
    }
  })
}
