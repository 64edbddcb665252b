import { reply } from '../../api.ts'
import { openBrowser } from '../../browser.ts'
import { command } from '../../command.ts'
import { appArg } from './words.ts'

export const open = command({
  summary: 'Open an app in the browser',
  about: [
    'The address goes to stdout too. It works once, in the browser that visits it first; that browser then stays signed in to this app.',
  ],
  scope: 'project',
  args: { app: appArg },
  flags: {},
  examples: ['svc apps open site', 'svc apps open site --json'],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const { url } = await reply(
      api.GET('/v1/projects/{projectId}/apps/{slug}/open', { params: { path: { projectId, slug: args.app } } }),
    )
    const { io, out } = ctx
    if (out.json) return out.document({ url })
    out.line(url)
    if (!out.terminal) return
    if (await openBrowser(io, url)) out.note('Opened in the browser.')
    else out.note('No browser can be opened here: follow the address, or set BROWSER.')
  },
})
