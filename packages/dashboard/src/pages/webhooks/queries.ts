import type { Reply } from '../../api.ts'
import { read } from '../../cache/read.ts'

export type Webhook = Reply<'/v1/projects/{projectId}/webhooks'>['webhooks'][number]
export type Delivery = Reply<'/v1/projects/{projectId}/webhooks/{webhookId}/deliveries'>['deliveries'][number]

/** No event reports deliveries. */
const polled = { refetchInterval: 5_000 }

export const webhooks = (projectId: string) =>
  read(['project', projectId, 'webhooks'], '/v1/projects/{projectId}/webhooks', { path: { projectId } }, polled)

export const deliveries = (projectId: string, webhookId: string) =>
  read(
    ['project', projectId, 'webhooks', webhookId],
    '/v1/projects/{projectId}/webhooks/{webhookId}/deliveries',
    { path: { projectId, webhookId }, query: { limit: 10 } },
    polled,
  )

export const hostWebhook = (projectId: string) =>
  read(['project', projectId, 'host-webhook'], '/v1/projects/{projectId}/host-webhook', { path: { projectId } })
