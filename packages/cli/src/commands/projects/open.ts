import { command } from '../../command.ts'
import { openPage, projectPage } from '../../dashboard.ts'
import { getProject, resolveProject } from './find.ts'

export const open = command({
  summary: 'Open the page of a project in the browser',
  about: ['The address goes to stdout too. SVC_DASHBOARD_URL names a dashboard elsewhere.'],
  scope: 'project',
  args: { project: { summary: 'Its id or slug (default: the linked one)', names: 'project', optional: true } },
  flags: {},
  examples: ['svc projects open', 'svc projects open my-app'],
  async run(ctx, { args }) {
    const api = await ctx.api()
    const project =
      args.project === undefined
        ? await getProject(api, await ctx.projectId())
        : await resolveProject(api, args.project)
    await openPage(ctx, projectPage(project.slug))
  },
})
