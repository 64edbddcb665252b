import { onlyOnce, reply } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { findDelivery, findWebhook, webhookArg } from './find.ts'
import { tellSent } from './sent.ts'

export const redeliver = command({
  summary: 'Send a delivery again with the same id; a waiting one is sent at once',
  scope: 'project',
  args: {
    delivery: { summary: 'Id of the delivery, or its first characters', hint: 'svc webhooks deliveries lists them.' },
    webhook: webhookArg,
  },
  examples: ['svc webhooks redeliver 4e5f6a7b', 'svc webhooks redeliver 4e5f6a7b 0a1b2c3d --json'],
  async run(ctx, { args }) {
    const at = await ctx.project()
    const webhook = await findWebhook(ctx, at, {
      named: args.webhook,
      command: `redeliver ${args.delivery}`,
    })
    const { delivery_id: deliveryId } = await findDelivery(at, { webhook, named: args.delivery })
    const path = { projectId: at.projectId, webhookId: webhook.webhook_id, deliveryId }
    const delivery = await reply(
      at.api.POST('/v1/projects/{projectId}/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver', {
        params: { path },
        headers: onlyOnce(ctx.io),
      }),
    )
    await tellSent(ctx, at, { webhook, delivery, wait: false })
  },
})
