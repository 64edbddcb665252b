import { command } from '../../arguments/command.ts'
import { limitFlag } from '../../arguments/limit.ts'
import { findWebhook, shortId, webhookArg } from './find.ts'
import { deliveryColumns } from './options.ts'

export const deliveries = command({
  summary: 'List the deliveries of a webhook and their results, newest first',
  about: ['Kept for thirty days. --json includes the start of each response.'],
  scope: 'project',
  args: { webhook: webhookArg },
  flags: { limit: limitFlag },
  examples: ['svc webhooks deliveries', 'svc webhooks deliveries 0a1b2c3d --limit 5 --json'],
  async run(ctx, { args, flags }) {
    const { limit } = flags
    const webhook = await findWebhook(ctx, { named: args.webhook, command: 'deliveries' })
    const { data, cursor } = await ctx.project.page('/webhooks/{webhookId}/deliveries', {
      path: { webhookId: webhook.webhook_id },
      query: { limit },
    })
    const { out } = ctx
    out.list(
      data,
      data.deliveries,
      `No deliveries yet. ${ctx.next(`svc webhooks ping ${shortId(webhook)}`)} tries it.`,
      deliveryColumns(out),
    )
    if (cursor !== null && limit < 1000) out.note(`There are more: --limit ${Math.min(1000, limit * 10)}`)
  },
})
