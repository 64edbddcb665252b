import { reply } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { green } from '../../terminal/output.ts'
import { appArg } from './labels.ts'

export const stop = command({
  summary: 'Stop an app until it is deployed again',
  scope: 'project',
  args: { app: appArg },
  examples: ['svc apps stop site', 'svc apps stop site --json'],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const app = await reply(
      api.POST('/v1/projects/{projectId}/apps/{slug}/stop', { params: { path: { projectId, slug: args.app } } }),
    )
    const { out } = ctx
    if (out.json) return out.document(app)
    out.line(green('✓ '), `Stopped ${app.slug}`)
    out.note(`Start it again: ${ctx.next(`svc apps deploy ${app.slug}`)}`)
  },
})
