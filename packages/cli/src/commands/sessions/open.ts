import { command } from '../../arguments/command.ts'
import { openPage, projectPage } from '../../browser/dashboard.ts'
import { sessionAt } from './find.ts'
import { sessionArg } from './labels.ts'

export const open = command({
  summary: 'Open the page of a session in the browser',
  about: ["Also prints the URL to stdout. SVC_DASHBOARD_URL overrides the dashboard's URL."],
  scope: 'project',
  args: { id: sessionArg },
  examples: ['svc sessions open 8f3a1c20', 'svc sessions open 8f3a1c20 --json'],
  async run(ctx, { args }) {
    const at = await sessionAt(ctx, args.id)
    const session = await at.get('')
    await openPage(ctx, projectPage(session.project_id, 'sessions', session.session_id))
  },
})
