import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { shortId } from './find.ts'
import { eventsFlag, eventsOf, secretFlag, secretOf } from './options.ts'

export const add = command({
  summary: 'Send signed events of the project to a URL, from the next event on',
  about: [
    'Prints the signing secret once to stdout; everything else goes to stderr. With --secret - you provide it, and it is not printed.',
  ],
  scope: 'project',
  args: { url: { summary: 'An https URL that answers 2xx' } },
  flags: { events: { ...eventsFlag, summary: `${eventsFlag.summary} (default: all)` }, secret: secretFlag },
  examples: [
    'svc webhooks add https://ci.example.com/svc > webhook-secret',
    "svc webhooks add https://ci.example.com/svc --events 'change_request.*,session.failed'",
    'svc webhooks add https://ci.example.com/svc --secret - < webhook-secret',
  ],
  async run(ctx, { args, flags }) {
    const secret = flags.secret === undefined ? undefined : await secretOf(ctx, flags.secret)
    const made = await ctx.project.post('/webhooks', {
      once: true,
      body: {
        url: args.url,
        events: flags.events === undefined ? ['*'] : eventsOf(flags.events),
        secret,
      },
    })
    const { out } = ctx
    if (out.json) return out.document(made)
    out.progress(green('✓ '), 'Events go to ', bold(made.url), `: ${made.events.join(', ')}`)
    if (secret === undefined) {
      out.line(made.secret)
      out.note('The secret is shown only once.')
    }
    out.note(`Try it: ${ctx.next(`svc webhooks ping ${shortId(made)} --wait`)}`)
  },
})
