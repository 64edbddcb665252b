import * as contract from '@svc/contract'
import type { Deps } from '../deps.ts'
import { handle, type Mounted, ok } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import { createWebhook, deleteWebhook, editWebhook, pingWebhook, redeliver } from './change.ts'
import { listDeliveries, listWebhooks, presentDelivery, presentWebhook, requireWebhook } from './store.ts'

export function webhookRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.listWebhooksRoute, async ({ project }) => ({
      webhooks: (await listWebhooks(deps.db, project.project_id)).map(presentWebhook),
    })),
    handle(contract.createWebhookRoute, async ({ project, caller, body, request }) => {
      const { resourceId: webhookId, isRepetition } = request
      return createWebhook(deps, { ...body, project, caller, webhookId, isRepetition })
    }),
    handle(contract.updateWebhookRoute, async ({ project, caller, params, body }) =>
      editWebhook(deps, { ...body, ...params, project, caller }),
    ),
    handle(contract.deleteWebhookRoute, ({ project, caller, params }) =>
      ok(deleteWebhook(deps, { ...params, project, caller })),
    ),
    handle(contract.listDeliveriesRoute, async ({ project, params, query }) => {
      const { webhook_id } = await requireWebhook(deps.db, project.project_id, params.webhookId)
      const { rows, next } = await listDeliveries(deps.db, webhook_id, query)
      return new Page({ deliveries: rows.map(presentDelivery) }, next)
    }),
    handle(contract.redeliverRoute, async ({ project, caller, params }) =>
      presentDelivery(await redeliver(deps, { ...params, project, caller })),
    ),
    handle(contract.pingWebhookRoute, async ({ project, caller, params, request }) =>
      presentDelivery(await pingWebhook(deps, { ...params, project, caller, deliveryId: request.resourceId })),
    ),
  ]
}
