import { onlyOnce, reply } from '../../api.ts'
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
    const at = await ctx.project()
    const webhook = await findWebhook(ctx, at, { named: args.webhook, command: 'ping' })
    const path = { projectId: at.projectId, webhookId: webhook.webhook_id }
    const delivery = await reply(
      at.api.POST('/v1/projects/{projectId}/webhooks/{webhookId}/ping', {
        params: { path },
        headers: onlyOnce(ctx.io),
      }),
    )
    await tellSent(ctx, at, { webhook, delivery, wait: flags.wait })
  },
})
