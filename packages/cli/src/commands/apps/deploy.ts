import { onlyOnce, reply } from '../../api.ts'
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
    const { api, projectId } = await ctx.project()
    const asked = await reply(
      api.POST('/v1/projects/{projectId}/apps/{slug}/deploy', {
        params: { path: { projectId, slug: args.app }, header: onlyOnce(ctx.io) },
      }),
    )
    await recordDeployEvent(ctx, api, projectId, asked, flags.wait === true)
  },
})
