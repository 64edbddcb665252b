import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'

export const unset = command({
  summary: 'Remove secrets',
  scope: 'project',
  args: { names: { summary: 'Names of the secrets', names: 'secret', many: true } },
  examples: ['svc secrets unset STRIPE_KEY', 'svc secrets unset REGION STAGE --json'],
  async run(ctx, { args }) {
    const project = await ctx.project()
    for (const name of args.names) {
      await project.delete('/secrets/{name}', { path: { name } })
      if (!ctx.out.json) ctx.out.line(green('✓ '), 'Removed ', bold(name))
    }
    if (ctx.out.json) ctx.out.document({ removed: args.names })
  },
})
