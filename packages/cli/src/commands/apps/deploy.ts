import { onlyOnce, reply } from '../../api.ts'
import { command } from '../../command.ts'
import { tellDeploy } from './watch.ts'
import { appArg } from './words.ts'

export const deploy = command({
  summary: 'Deploy an app from the default branch now, also one that was stopped',
  about: ['A change on the default branch is deployed by itself. What runs goes on until the new one answers.'],
  scope: 'project',
  args: { app: appArg },
  flags: { wait: { kind: 'switch', summary: 'Wait until it serves; fail with its reason when it does not' } },
  examples: ['svc apps deploy site', 'svc apps deploy site --wait'],
  async run(ctx, { args, flags }) {
    const { api, projectId } = await ctx.project()
    const asked = await reply(
      api.POST('/v1/projects/{projectId}/apps/{slug}/deploy', {
        params: { path: { projectId, slug: args.app }, header: onlyOnce(ctx.io) },
      }),
    )
    await tellDeploy(ctx, api, projectId, asked, flags.wait === true)
  },
})
