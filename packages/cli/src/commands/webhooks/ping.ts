import { command } from '../../arguments/command.ts'
import { findWebhook, webhookArg } from './find.ts'
import { tellSent } from './sent.ts'

export const ping = command({
  summary: 'Send a ping to a webhook, even if it is paused',
  scope: 'project',
  args: { webhook: webhookArg },
  flags: { wait: { kind: 'switch', summary: 'Wait until the receiver accepts it; fail if it does not' } },
  examples: ['svc webhooks ping', 'svc webhooks ping 0a1b2c3d --wait'],
  async run(ctx, { args, flags }) {
    const project = await ctx.project()
    const webhook = await findWebhook(ctx, project, { named: args.webhook, command: 'ping' })
    const path = { webhookId: webhook.webhook_id }
    const delivery = await project.post('/webhooks/{webhookId}/ping', { path, once: true })
    await tellSent(ctx, project, { webhook, delivery, wait: flags.wait })
  },
})
