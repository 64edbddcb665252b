import { reply } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { crArg, resolveChangeRequest } from './find.ts'

export const ready = command({
  summary: 'Mark a draft as ready, so that it can be merged',
  scope: 'project',
  args: { cr: crArg },
  flags: { undo: { kind: 'switch', summary: 'Make it a draft again' } },
  examples: ['svc cr ready 3', 'svc cr ready @ --undo'],
  async run(ctx, { args, flags }) {
    const { api, projectId } = await ctx.project()
    const cr = await resolveChangeRequest(ctx, api, projectId, args.cr)
    const { draft: _, ...rest } = cr.metadata
    const edited = await reply(
      api.PATCH('/v1/projects/{projectId}/change-requests/{crId}', {
        params: { path: { projectId, crId: cr.cr_id } },
        body: { metadata: flags.undo ? { ...rest, draft: true } : rest },
      }),
    )
    if (ctx.out.json) return ctx.out.document(edited)
    ctx.out.line(
      green('✓ '),
      bold(`#${edited.number} ${edited.title}`),
      flags.undo ? ' is a draft' : ' is ready to merge',
    )
  },
})
