import { reply } from '../../api.ts'
import { confirm } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { findWebhook, shortId, webhookArg } from './find.ts'

export const rm = command({
  summary: 'Remove a webhook and its deliveries',
  scope: 'project',
  args: { webhook: webhookArg },
  flags: { yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc webhooks rm', 'svc webhooks rm 0a1b2c3d --yes'],
  async run(ctx, { args, flags }) {
    const at = await ctx.project()
    const webhook = await findWebhook(ctx, at, { named: args.webhook, command: 'rm' })
    const { webhook_id: webhookId, url } = webhook
    await confirm(ctx, {
      question: `Stop sending events to ${url}?`,
      yes: flags.yes,
      corrected: `svc webhooks rm ${shortId(webhook)} --yes`,
    })
    const path = { projectId: at.projectId, webhookId }
    await reply(at.api.DELETE('/v1/projects/{projectId}/webhooks/{webhookId}', { params: { path } }))
    const { out } = ctx
    if (out.json) return out.document({ ok: true, webhook_id: webhookId })
    out.line(green('✓ '), 'Removed the webhook to ', bold(url))
  },
})
