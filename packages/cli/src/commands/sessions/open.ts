import { command } from '../../arguments/command.ts'
import { openPage, projectPage } from '../../browser/dashboard.ts'
import { getSession, resolveSessionId } from './find.ts'
import { sessionArg } from './labels.ts'

export const open = command({
  summary: 'Open the page of a session in the browser',
  about: ["Also prints the URL to stdout. SVC_DASHBOARD_URL overrides the dashboard's URL."],
  scope: 'project',
  args: { id: sessionArg },
  examples: ['svc sessions open 8f3a1c20', 'svc sessions open 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const session = await getSession(api, projectId, await resolveSessionId(api, projectId, args.id))
    await openPage(ctx, projectPage(projectId, 'sessions', session.session_id))
  },
})
