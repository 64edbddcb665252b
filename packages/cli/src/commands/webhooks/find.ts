import type { Webhook, WebhookDelivery } from '@svc/sdk'
import { findOne, uuid } from '../../arguments/find-one.ts'
import { pick } from '../../terminal/ask.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import type { ProjectClient } from '../../requests.ts'

export const webhookArg = {
  summary: 'Id or URL of the webhook (default: the only one)',
  names: 'webhook',
  optional: true,
} as const

/** An older delivery needs its whole id. */
const deliveriesSearched = 1000

/** Without an argument: the only webhook, or a picker. */
export async function findWebhook(
  ctx: Context,
  input: { named: string | undefined; command: string },
): Promise<Webhook> {
  const { named, command } = input
  const { webhooks } = await ctx.project.get('/webhooks')
  if (webhooks.length === 0)
    throw new Refusal('not_found', 'This project has no webhooks', { next: ['svc webhooks add <url>'] })
  if (named === undefined) {
    if (webhooks.length === 1) return webhooks[0]!
    return pick(ctx, {
      question: 'Which webhook?',
      missing: '<webhook>',
      corrected: `svc webhooks ${command} ${shortId(webhooks[0]!)}`,
      choices: webhooks.map((webhook) => ({ value: webhook, label: webhook.url, hint: webhook.state })),
    })
  }
  return findOne(webhooks, named, {
    what: ['webhook', 'webhooks'],
    id: (webhook) => webhook.webhook_id,
    isNamed: (webhook) => webhook.url === named,
    next: ['svc webhooks ls'],
  })
}

export async function findDelivery(
  project: ProjectClient,
  { webhook, named }: { webhook: Webhook; named: string },
): Promise<Pick<WebhookDelivery, 'delivery_id'>> {
  if (uuid.test(named)) return { delivery_id: named.toLowerCase() }
  const { deliveries } = await project.get('/webhooks/{webhookId}/deliveries', {
    path: { webhookId: webhook.webhook_id },
    query: { limit: deliveriesSearched },
  })
  return findOne(deliveries, named, {
    what: ['delivery', 'deliveries'],
    id: (delivery) => delivery.delivery_id,
    next: [`svc webhooks deliveries ${shortId(webhook)}`],
  })
}

export const shortId = ({ webhook_id: id }: Pick<Webhook, 'webhook_id'>) => id.slice(0, 8)
