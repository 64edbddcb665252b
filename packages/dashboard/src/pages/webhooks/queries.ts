import { queryOptions } from '@tanstack/react-query'
import type { operations } from '@svc/contract/api'
import { api, reply } from '../../api.ts'

type Answered<Name extends 'listWebhooks' | 'listDeliveries'> =
  operations[Name]['responses'][200]['content']['application/json']
export type Webhook = Answered<'listWebhooks'>['webhooks'][number]
export type Delivery = Answered<'listDeliveries'>['deliveries'][number]

/** No event tells of deliveries. */
const askedMs = 5_000

export const webhooks = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'webhooks'],
    queryFn: ({ signal }) =>
      reply(api.GET('/v1/projects/{projectId}/webhooks', { params: { path: { projectId } }, signal })),
    refetchInterval: askedMs,
  })

export const deliveries = (projectId: string, webhookId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'webhooks', webhookId],
    queryFn: ({ signal }) =>
      reply(
        api.GET('/v1/projects/{projectId}/webhooks/{webhookId}/deliveries', {
          params: { path: { projectId, webhookId }, query: { limit: 10 } },
          signal,
        }),
      ),
    refetchInterval: askedMs,
  })

export const hostWebhook = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'host-webhook'],
    queryFn: ({ signal }) =>
      reply(api.GET('/v1/projects/{projectId}/host-webhook', { params: { path: { projectId } }, signal })),
  })
