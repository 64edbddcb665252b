import { command } from '../../arguments/command.ts'
import { findWebhook, webhookArg } from './find.ts'
import { deliveryColumns, printWebhook } from './options.ts'

const deliveriesShown = 10

export const show = command({
  summary: 'Show a webhook, why it is paused, and its newest deliveries',
  scope: 'project',
  args: { webhook: webhookArg },
  examples: ['svc webhooks show', 'svc webhooks show 0a1b2c3d --json'],
  async run(ctx, { args }) {
    const webhook = await findWebhook(ctx, { named: args.webhook, command: 'show' })
    const { deliveries } = await ctx.project.get('/webhooks/{webhookId}/deliveries', {
      path: { webhookId: webhook.webhook_id },
      query: { limit: deliveriesShown },
    })
    const { out } = ctx
    if (out.json) return out.document({ ...webhook, deliveries })
    printWebhook(out, webhook)
    out.section(deliveries, deliveryColumns(out))
    if (webhook.state === 'paused')
      out.note(
        `To continue where it stopped: ${ctx.next(`svc webhooks edit ${webhook.webhook_id.slice(0, 8)} --resume`)}`,
      )
  },
})
