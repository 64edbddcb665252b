import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { Refusal } from '../../errors.ts'
import { bold, green } from '../../output.ts'

export const revoke = command({
  summary: 'Sign a browser out',
  scope: 'host',
  args: { id: { summary: 'Its id, or the first characters of it' } },
  flags: {},
  examples: ['svc browsers revoke 8f3a1c20', 'svc browsers revoke 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const api = await ctx.api()
    const all = await reply(api.GET('/v1/accounts/dashboard-sessions'))
    const found = all.filter((one) => one.dashboard_session_id.startsWith(args.id.toLowerCase()))
    const [one] = found
    if (one === undefined || found.length > 1)
      throw new Refusal(
        one === undefined ? 'not_found' : 'ambiguous',
        one === undefined
          ? `No browser session begins with ${args.id}`
          : `${found.length} of them begin with ${args.id}`,
        { next: ['svc browsers ls'] },
      )
    const { dashboard_session_id: dashboardSessionId } = one
    await reply(
      api.DELETE('/v1/accounts/dashboard-sessions/{dashboardSessionId}', { params: { path: { dashboardSessionId } } }),
    )
    if (ctx.out.json) return ctx.out.document({ revoked: dashboardSessionId })
    ctx.out.line(green('✓ '), 'Signed out ', bold(one.user_agent ?? dashboardSessionId.slice(0, 8)))
  },
})
