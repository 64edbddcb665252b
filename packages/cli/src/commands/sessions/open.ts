import { command } from '../../command.ts'
import { openPage, projectPage } from '../../dashboard.ts'
import { getSession, resolveSessionId } from './find.ts'
import { sessionArg } from './words.ts'

export const open = command({
  summary: 'Open the page of a session in the browser',
  about: ['The address goes to stdout too. SVC_DASHBOARD_URL names a dashboard elsewhere.'],
  scope: 'project',
  args: { id: sessionArg },
  flags: {},
  examples: ['svc sessions open 8f3a1c20', 'svc sessions open 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const session = await getSession(api, projectId, await resolveSessionId(api, projectId, args.id))
    await openPage(ctx, projectPage(projectId, 'sessions', session.session_id))
  },
})
