import { command } from '../arguments/command.ts'
import { findOne } from '../arguments/find-one.ts'
import { bold } from '../terminal/output.ts'

export const ls = command({
  summary: 'List the browsers in which you are signed in',
  scope: 'host',
  examples: ['svc browsers ls', 'svc browsers ls --json'],
  async run({ out, api }) {
    const found = await api.get('/v1/accounts/dashboard-sessions')
    out.list(found, found, 'You are not signed in to any browser.', [
      { title: 'ID', of: (one) => (out.terminal ? one.dashboard_session_id.slice(0, 8) : one.dashboard_session_id) },
      { title: 'BROWSER', of: (one) => one.user_agent ?? 'unknown', shrink: true },
      { title: 'FROM', of: (one) => one.address ?? '-' },
      { title: 'BY', of: (one) => one.began_by },
      { title: 'USED', of: (one) => out.time(one.last_used_at ?? one.created_at) },
    ])
  },
})

export const revoke = command({
  summary: 'Sign a browser out',
  scope: 'host',
  args: { id: { summary: 'Id of the browser session, or its first characters' } },
  examples: ['svc browsers revoke 8f3a1c20', 'svc browsers revoke 8f3a1c20 --json'],
  async run({ out, api }, { args }) {
    const all = await api.get('/v1/accounts/dashboard-sessions')
    const { dashboard_session_id: dashboardSessionId, user_agent: userAgent } = findOne(all, args.id, {
      what: ['browser session', 'browser sessions'],
      id: (session) => session.dashboard_session_id,
      next: ['svc browsers ls'],
    })
    await api.delete('/v1/accounts/dashboard-sessions/{dashboardSessionId}', { path: { dashboardSessionId } })
    out.done({ revoked: dashboardSessionId }, 'Signed out ', bold(userAgent ?? dashboardSessionId.slice(0, 8)))
  },
})
