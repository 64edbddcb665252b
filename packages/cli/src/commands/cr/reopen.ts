import { reply } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { crArg, resolveChangeRequest } from './find.ts'

export const reopen = command({
  summary: 'Reopen a closed change request',
  scope: 'project',
  args: { cr: crArg },
  examples: ['svc cr reopen 3', "svc cr reopen '#3' --json"],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const { cr_id: crId } = await resolveChangeRequest(ctx, api, projectId, args.cr)
    const cr = await reply(
      api.POST('/v1/projects/{projectId}/change-requests/{crId}/reopen', { params: { path: { projectId, crId } } }),
    )
    if (ctx.out.json) return ctx.out.document(cr)
    ctx.out.line(green('✓ '), 'Reopened ', bold(`#${cr.number} ${cr.title}`))
    ctx.out.note(`${ctx.next(`svc cr show ${cr.number}`)} shows whether it can merge.`)
  },
})
