import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { bold, green } from '../../terminal/output.ts'
import { findWebhook, webhookArg } from './find.ts'
import { eventsFlag, eventsOf, secretFlag, secretOf, stateOf } from './options.ts'

export const edit = command({
  summary: 'Change a webhook, pause or resume it, or give it a new secret',
  about: [
    'A resumed webhook continues where it stopped; --from-now drops the waiting events. --rotate-secret prints the new secret once; the previous one becomes invalid.',
  ],
  scope: 'project',
  args: { webhook: webhookArg },
  flags: {
    url: { kind: 'text', summary: 'New URL', value: 'url' },
    events: eventsFlag,
    pause: { kind: 'switch', summary: 'Send nothing until --resume' },
    resume: { kind: 'switch', summary: 'Continue sending' },
    'from-now': { kind: 'switch', summary: 'Drop unsent events' },
    'rotate-secret': { kind: 'switch', summary: 'Create a new secret' },
    secret: secretFlag,
  },
  examples: [
    'svc webhooks edit --resume',
    "svc webhooks edit 0a1b2c3d --events 'change_request.merged,deploy.*'",
    'svc webhooks edit 0a1b2c3d --rotate-secret > webhook-secret',
  ],
  async run(ctx, { args, flags }) {
    if (flags.pause && flags.resume) throw new UsageError("--pause and --resume can't be combined")
    if (flags['rotate-secret'] && flags.secret !== undefined)
      throw new UsageError("--rotate-secret and --secret can't be combined")
    const body = {
      url: flags.url,
      events: flags.events === undefined ? undefined : eventsOf(flags.events),
      paused: flags.pause || flags.resume ? flags.pause : undefined,
      from_now: flags['from-now'] || undefined,
      rotate_secret: flags['rotate-secret'] || undefined,
      secret: flags.secret === undefined ? undefined : await secretOf(ctx, flags.secret),
    }
    if (Object.values(body).every((value) => value === undefined))
      throw new UsageError('Nothing to change: pass at least one flag', { next: ['svc webhooks edit --help'] })
    const { webhook_id: webhookId } = await findWebhook(ctx, { named: args.webhook, command: 'edit' })
    const edited = await ctx.project.patch('/webhooks/{webhookId}', { path: { webhookId }, body })
    const { out } = ctx
    if (out.json) return out.document(edited)
    out.progress(green('✓ '), bold(edited.url), ' is ', stateOf(edited), `: ${edited.events.join(', ')}`)
    if (!flags['rotate-secret'] || edited.secret === null) return
    out.line(edited.secret)
    out.note('The secret is shown only once.')
  },
})
