import { command } from '../../arguments/command.ts'

export const ls = command({
  summary: 'List the browsers in which you are signed in',
  scope: 'host',
  examples: ['svc browsers ls', 'svc browsers ls --json'],
  async run(ctx) {
    const found = await (await ctx.api()).get('/v1/accounts/dashboard-sessions')
    const { out } = ctx
    if (out.json) return out.document(found)
    if (found.length === 0) return out.note('You are not signed in to any browser.')
    out.table(found, [
      { title: 'ID', of: (one) => (out.terminal ? one.dashboard_session_id.slice(0, 8) : one.dashboard_session_id) },
      { title: 'BROWSER', of: (one) => one.user_agent ?? 'unknown', shrink: true },
      { title: 'FROM', of: (one) => one.address ?? '-' },
      { title: 'BY', of: (one) => one.began_by },
      { title: 'USED', of: (one) => out.time(one.last_used_at ?? one.created_at) },
    ])
  },
})
