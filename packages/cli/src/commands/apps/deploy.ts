import { command } from '../../arguments/command.ts'
import { recordDeployEvent } from './watch.ts'
import { appArg } from './labels.ts'

export const deploy = command({
  summary: 'Deploy an app from the default branch now, even if it is stopped',
  about: [
    'Changes on the default branch deploy automatically. The running version keeps serving until the new one responds.',
  ],
  scope: 'project',
  args: { app: appArg },
  flags: { wait: { kind: 'switch', summary: 'Wait until it serves; fail with the reason if it does not' } },
  examples: ['svc apps deploy site', 'svc apps deploy site --wait'],
  async run(ctx, { args, flags }) {
    const project = await ctx.project()
    const asked = await project.post('/apps/{slug}/deploy', { path: { slug: args.app }, once: true })
    await recordDeployEvent(ctx, project, asked, flags.wait === true)
  },
})
