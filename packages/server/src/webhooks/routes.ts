import {
  createWebhookRoute,
  deleteWebhookRoute,
  listDeliveriesRoute,
  listWebhooksRoute,
  pingWebhookRoute,
  redeliverRoute,
  updateWebhookRoute,
} from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted, ok } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import { createWebhook, deleteWebhook, editWebhook, pingWebhook, redeliver } from './change.ts'
import { listDeliveries, listWebhooks, presentDelivery, presentWebhook, requireWebhook } from './store.ts'

export function webhookRoutes(deps: Deps): Mounted[] {
  return [
    handle(listWebhooksRoute, async ({ project }) => ({
      webhooks: (await listWebhooks(deps.db, project.project_id)).map(presentWebhook),
    })),
    handle(createWebhookRoute, async ({ project, caller, body, request }) => {
      const { resourceId: webhookId, isRepetition } = request
      return createWebhook(deps, { ...body, project, caller, webhookId, isRepetition })
    }),
    handle(updateWebhookRoute, async ({ project, caller, params, body }) =>
      editWebhook(deps, { ...body, ...params, project, caller }),
    ),
    handle(deleteWebhookRoute, ({ project, caller, params }) =>
      ok(deleteWebhook(deps, { ...params, project, caller })),
    ),
    handle(listDeliveriesRoute, async ({ project, params, query }) => {
      const { webhook_id } = await requireWebhook(deps.db, project.project_id, params.webhookId)
      const { rows, next } = await listDeliveries(deps.db, webhook_id, query)
      return new Page({ deliveries: rows.map(presentDelivery) }, next)
    }),
    handle(redeliverRoute, async ({ project, caller, params }) =>
      presentDelivery(await redeliver(deps, { ...params, project, caller })),
    ),
    handle(pingWebhookRoute, async ({ project, caller, params, request }) =>
      presentDelivery(await pingWebhook(deps, { ...params, project, caller, deliveryId: request.resourceId })),
    ),
  ]
}
