import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { bold, green } from '../../output.ts'
import { slugArg } from './words.ts'

export const fire = command({
  summary: 'Fire a trigger now, enabled or not: starts a session',
  scope: 'project',
  args: { slug: slugArg },
  flags: { message: { kind: 'text', summary: 'Said to the agent beside the prompt of the trigger', value: 'text' } },
  examples: ['svc triggers fire nightly', 'svc triggers fire triage --message "Only the parser"'],
  async run(ctx, { args, flags }) {
    const { api, projectId } = await ctx.project()
    const fired = await reply(
      api.POST('/v1/projects/{projectId}/triggers/{slug}/fire', {
        params: { path: { projectId, slug: args.slug }, header: { 'Idempotency-Key': ctx.io.newId() } },
        body: flags.message === undefined ? {} : { message: flags.message },
      }),
    )
    const { out } = ctx
    if (out.json) return out.document(fired)
    out.line(green('✓ '), 'Session ', bold(fired.session_id))
    out.note(`Follow it: ${ctx.next(`svc sessions chat ${fired.session_id.slice(0, 8)}`)}`)
  },
})
