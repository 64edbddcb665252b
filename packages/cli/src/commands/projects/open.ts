import { command } from '../../arguments/command.ts'
import { openPage, projectPage } from '../../browser/dashboard.ts'
import { projectNamed } from './find.ts'

export const open = command({
  summary: 'Open the page of a project in the browser',
  about: ["Also prints the URL to stdout. SVC_DASHBOARD_URL overrides the dashboard's URL."],
  scope: 'project',
  args: {
    project: { summary: 'Id or slug of the project (default: the linked one)', names: 'project', optional: true },
  },
  examples: ['svc projects open', 'svc projects open my-app'],
  async run(ctx, { args }) {
    const project = await projectNamed(ctx, args.project)
    await openPage(ctx, projectPage(project.slug))
  },
})
