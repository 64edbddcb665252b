import { command } from '../../arguments/command.ts'
import { appArg } from './labels.ts'

export const stop = command({
  summary: 'Stop an app until it is deployed again',
  scope: 'project',
  args: { app: appArg },
  examples: ['svc apps stop site', 'svc apps stop site --json'],
  async run(ctx, { args }) {
    const project = await ctx.project()
    const app = await project.post('/apps/{slug}/stop', { path: { slug: args.app } })
    ctx.out.done(app, `Stopped ${app.slug}`)
    ctx.out.note(`Start it again: ${ctx.next(`svc apps deploy ${app.slug}`)}`)
  },
})
