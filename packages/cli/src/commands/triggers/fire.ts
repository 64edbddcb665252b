import { reply } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { slugArg } from './labels.ts'

export const fire = command({
  summary: 'Fire a trigger now, even if disabled: starts a session',
  scope: 'project',
  args: { slug: slugArg },
  flags: { message: { kind: 'text', summary: "Message added to the trigger's prompt", value: 'text' } },
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
