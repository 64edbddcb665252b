import type { Webhook, WebhookDelivery } from '@svc/sdk'
import { command } from '../../arguments/command.ts'
import { findDelivery, findWebhook, shortId, webhookArg } from './webhooks.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { bold, green } from '../../terminal/output.ts'

export const ping = command({
  summary: 'Send a ping to a webhook, even if it is paused',
  scope: 'project',
  args: { webhook: webhookArg },
  flags: { wait: { kind: 'switch', summary: 'Wait until the receiver accepts it; fail if it does not' } },
  examples: ['svc webhooks ping', 'svc webhooks ping 0a1b2c3d --wait'],
  async run(ctx, { args, flags }) {
    const webhook = await findWebhook(ctx, { named: args.webhook, command: 'ping' })
    const path = { webhookId: webhook.webhook_id }
    const delivery = await ctx.project.post('/webhooks/{webhookId}/ping', { path, once: true })
    await tellSent(ctx, { webhook, delivery, wait: flags.wait })
  },
})

export const redeliver = command({
  summary: 'Send a delivery again with the same id; a waiting one is sent at once',
  scope: 'project',
  args: {
    delivery: { summary: 'Id of the delivery, or its first characters', hint: 'svc webhooks deliveries lists them.' },
    webhook: webhookArg,
  },
  examples: ['svc webhooks redeliver 4e5f6a7b', 'svc webhooks redeliver 4e5f6a7b 0a1b2c3d --json'],
  async run(ctx, { args }) {
    const webhook = await findWebhook(ctx, {
      named: args.webhook,
      command: `redeliver ${args.delivery}`,
    })
    const { delivery_id: deliveryId } = await findDelivery(ctx.project, { webhook, named: args.delivery })
    const path = { webhookId: webhook.webhook_id, deliveryId }
    const delivery = await ctx.project.post('/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver', {
      path,
      once: true,
    })
    await tellSent(ctx, { webhook, delivery, wait: false })
  },
})

const lookEveryMs = 250
/** A receiver has ten seconds, and other deliveries may be ahead. */
const waitMaxMs = 60_000
const newest = 100

interface Asked {
  webhook: Webhook
  delivery: WebhookDelivery
  wait: boolean
}

/** With `wait`, resolves when the receiver accepts it and throws when the attempt fails. */
export async function tellSent(ctx: Context, { webhook, delivery, wait }: Asked): Promise<void> {
  const { out } = ctx
  const sent = wait ? await untilTried(ctx, { webhook, delivery }) : delivery
  if (out.json) return out.document(sent)
  const name = sent.event_id === null ? sent.event_type : `${sent.event_type} ${sent.event_id}`
  if (wait) return out.line(green('✓ '), bold(webhook.url), ` accepted ${name}: ${sent.http_status}, ${sent.ms} ms`)
  out.line(green('✓ '), 'Sending to ', bold(webhook.url), `: ${name}`)
  out.note(`See the result: ${ctx.next(`svc webhooks deliveries ${shortId(webhook)} --limit 5`)}`)
}

async function untilTried(
  { io, out, project }: Context,
  { webhook, delivery }: Omit<Asked, 'wait'>,
): Promise<WebhookDelivery> {
  const { webhook_id: webhookId } = webhook
  const next = [`svc webhooks show ${shortId(webhook)}`]
  const began = io.now()
  while (io.now() - began < waitMaxMs) {
    const { deliveries } = await project.get('/webhooks/{webhookId}/deliveries', {
      path: { webhookId },
      query: { limit: newest },
    })
    const found = deliveries.find(({ delivery_id: id }) => id === delivery.delivery_id)
    const wasTried = found !== undefined && found.attempts > delivery.attempts
    if (found?.status === 'delivered') return found
    if (found === undefined || found.status === 'failed' || wasTried)
      throw new Refusal('not_delivered', `${webhook.url} did not accept it: ${found?.error ?? 'it no longer exists'}`, {
        ...(found?.answer ? { lines: [found.answer] } : {}),
        detail: { delivery_id: delivery.delivery_id, http_status: found?.http_status ?? null },
        next,
      })
    out.passing('waiting for the receiver')
    await io.sleep(lookEveryMs)
  }
  throw new Refusal('timed_out', 'Timed out: not sent within a minute', { next })
}
