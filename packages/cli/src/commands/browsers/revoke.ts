import { findOne } from '../../arguments/find-one.ts'
import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'

export const revoke = command({
  summary: 'Sign a browser out',
  scope: 'host',
  args: { id: { summary: 'Id of the browser session, or its first characters' } },
  examples: ['svc browsers revoke 8f3a1c20', 'svc browsers revoke 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const api = await ctx.api()
    const all = await api.get('/v1/accounts/dashboard-sessions')
    const { dashboard_session_id: dashboardSessionId, user_agent: userAgent } = findOne(all, args.id, {
      what: ['browser session', 'browser sessions'],
      id: (session) => session.dashboard_session_id,
      next: ['svc browsers ls'],
    })
    await api.delete('/v1/accounts/dashboard-sessions/{dashboardSessionId}', { path: { dashboardSessionId } })
    ctx.out.done({ revoked: dashboardSessionId }, 'Signed out ', bold(userAgent ?? dashboardSessionId.slice(0, 8)))
  },
})
