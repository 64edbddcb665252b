import { reply } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { crArg, resolveChangeRequest } from './find.ts'

export const close = command({
  summary: 'Close a change request without merging it',
  scope: 'project',
  args: { cr: crArg },
  examples: ['svc cr close 3', "svc cr close '#3' --json"],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const { cr_id: crId } = await resolveChangeRequest(ctx, api, projectId, args.cr)
    const cr = await reply(
      api.POST('/v1/projects/{projectId}/change-requests/{crId}/close', { params: { path: { projectId, crId } } }),
    )
    if (ctx.out.json) return ctx.out.document(cr)
    ctx.out.line(green('✓ '), 'Closed ', bold(`#${cr.number} ${cr.title}`))
    ctx.out.note(`The branch ${cr.head_ref} stays. ${ctx.next(`svc cr reopen ${cr.number}`)} reopens it.`)
  },
})
