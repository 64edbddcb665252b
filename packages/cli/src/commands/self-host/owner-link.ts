import { reply } from '../../api.ts'
import { command } from '../../command.ts'

export const ownerLink = command({
  summary: 'Make a one-time link that signs its opener in to the dashboard as you',
  scope: 'host',
  args: {},
  flags: {},
  examples: ['svc self-host owner-link', 'svc self-host owner-link --json'],
  async run(ctx) {
    const link = await reply((await ctx.api()).POST('/v1/accounts/owner-links'))
    if (ctx.out.json) return ctx.out.document(link)
    ctx.out.line(link.url)
    ctx.out.note(`Works once, until ${link.expires_at}. Whoever opens it is signed in as you.`)
  },
})
