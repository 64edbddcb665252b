import type { ApiClient } from '@svc/contract/api'
import { reply } from '../../api.ts'
import { pick } from '../../ask.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import type { Webhook, WebhookDelivery } from '../../wire.ts'

export const webhookArg = {
  summary: 'Its id or address (default: the only one there is)',
  names: 'webhook',
  optional: true,
} as const

const prefixMin = 4
/** Older ones are found by their whole id. */
const deliveriesSearched = 1000

interface Where {
  api: ApiClient
  projectId: string
}

/** By id, the first characters of it, or the address; without any, the only one, or a picker. */
export async function findWebhook(
  ctx: Context,
  { api, projectId }: Where,
  input: { named: string | undefined; command: string },
): Promise<Webhook> {
  const { named, command } = input
  const { webhooks } = await reply(api.GET('/v1/projects/{projectId}/webhooks', { params: { path: { projectId } } }))
  if (webhooks.length === 0)
    throw new Refusal('not_found', 'This project has no webhook', { next: ['svc webhooks add <url>'] })
  if (named === undefined) {
    if (webhooks.length === 1) return webhooks[0]!
    return pick(ctx, {
      question: 'Which webhook?',
      missing: '<webhook>',
      corrected: `svc webhooks ${command} ${shortId(webhooks[0]!)}`,
      choices: webhooks.map((webhook) => ({ value: webhook, label: webhook.url, hint: webhook.state })),
    })
  }
  const found = webhooks.filter(({ webhook_id: id, url }) => url === named || begins(id, named))
  return onlyOne(found, { what: 'webhook', named, next: 'svc webhooks ls' })
}

export async function findDelivery(
  { api, projectId }: Where,
  { webhook, named }: { webhook: Webhook; named: string },
): Promise<Pick<WebhookDelivery, 'delivery_id'>> {
  if (named.length === 36) return { delivery_id: named.toLowerCase() }
  const { deliveries } = await reply(
    api.GET('/v1/projects/{projectId}/webhooks/{webhookId}/deliveries', {
      params: { path: { projectId, webhookId: webhook.webhook_id }, query: { limit: deliveriesSearched } },
    }),
  )
  const found = deliveries.filter(({ delivery_id: id }) => begins(id, named))
  return onlyOne(found, { what: 'delivery', named, next: `svc webhooks deliveries ${shortId(webhook)}` })
}

export const shortId = ({ webhook_id: id }: Pick<Webhook, 'webhook_id'>) => id.slice(0, 8)

function begins(id: string, named: string): boolean {
  return named.length >= prefixMin && id.startsWith(named.toLowerCase())
}

function onlyOne<T>(found: T[], { what, named, next }: { what: string; named: string; next: string }): T {
  if (found.length === 1) return found[0]!
  if (found.length === 0) throw new Refusal('not_found', `No ${what} ${JSON.stringify(named)}`, { next: [next] })
  throw new Refusal('ambiguous', `${found.length} could be meant by ${JSON.stringify(named)}`, {
    hint: 'Give the whole id.',
    next: [next],
  })
}
