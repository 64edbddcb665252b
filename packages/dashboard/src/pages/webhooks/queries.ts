import { queryOptions } from '@tanstack/react-query'
import { get, type Reply } from '../../api.ts'

export type Webhook = Reply<'/v1/projects/{projectId}/webhooks'>['webhooks'][number]
export type Delivery = Reply<'/v1/projects/{projectId}/webhooks/{webhookId}/deliveries'>['deliveries'][number]

/** No event reports deliveries. */
const deliveriesMs = 5_000

export const webhooks = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'webhooks'],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/webhooks', { path: { projectId } }, signal),
    refetchInterval: deliveriesMs,
  })

export const deliveries = (projectId: string, webhookId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'webhooks', webhookId],
    queryFn: ({ signal }) =>
      get(
        '/v1/projects/{projectId}/webhooks/{webhookId}/deliveries',
        {
          path: { projectId, webhookId },
          query: { limit: 10 },
        },
        signal,
      ),
    refetchInterval: deliveriesMs,
  })

export const hostWebhook = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'host-webhook'],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/host-webhook', { path: { projectId } }, signal),
  })
