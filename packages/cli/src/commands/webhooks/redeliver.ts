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
    const project = await ctx.project()
    const webhook = await findWebhook(ctx, project, {
      named: args.webhook,
      command: `redeliver ${args.delivery}`,
    })
    const { delivery_id: deliveryId } = await findDelivery(project, { webhook, named: args.delivery })
    const path = { webhookId: webhook.webhook_id, deliveryId }
    const delivery = await project.post('/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver', { path, once: true })
    await tellSent(ctx, project, { webhook, delivery, wait: false })
  },
})
