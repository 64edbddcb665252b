import { openUrl } from '../../browser/dashboard.ts'
import { command } from '../../arguments/command.ts'
import { appArg } from './labels.ts'

export const open = command({
  summary: 'Open an app in the browser',
  about: [
    'Also prints the URL to stdout. The URL works once: the first browser that opens it stays signed in to this app.',
  ],
  scope: 'project',
  args: { app: appArg },
  examples: ['svc apps open site', 'svc apps open site --json'],
  async run(ctx, { args }) {
    const { url } = await ctx.project.get('/apps/{slug}/open', { path: { slug: args.app } })
    return openUrl(ctx, url)
  },
})
