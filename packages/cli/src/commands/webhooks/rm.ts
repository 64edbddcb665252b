import { confirm } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { findWebhook, shortId, webhookArg } from './find.ts'

export const rm = command({
  summary: 'Remove a webhook and its deliveries',
  scope: 'project',
  args: { webhook: webhookArg },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc webhooks rm', 'svc webhooks rm 0a1b2c3d --yes'],
  async run(ctx, { args, flags }) {
    const webhook = await findWebhook(ctx, { named: args.webhook, command: 'rm' })
    const { webhook_id: webhookId, url } = webhook
    await confirm(ctx, {
      question: `Stop sending events to ${url}?`,
      yes: flags.yes,
      corrected: `svc webhooks rm ${shortId(webhook)} --yes`,
    })
    const path = { webhookId }
    await ctx.project.delete('/webhooks/{webhookId}', { path })
    ctx.out.done({ ok: true, webhook_id: webhookId }, 'Removed the webhook to ', bold(url))
  },
})
