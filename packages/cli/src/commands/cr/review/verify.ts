import { reply } from '../../../api.ts'
import { command } from '../../../arguments/command.ts'
import { Refusal } from '../../../errors.ts'
import { bold, green } from '../../../terminal/output.ts'
import { crArg, resolveChangeRequest } from '../find.ts'

export const verify = command({
  summary: 'Repeat a merge from its receipt and compare the results',
  about: ['The exit code is 0 if content and commit are the same, otherwise 1.'],
  scope: 'project',
  args: { cr: crArg },
  examples: ['svc cr verify 3', 'svc cr verify 3 --json'],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const cr = await resolveChangeRequest(ctx, api, projectId, args.cr)
    const found = await reply(
      api.GET('/v1/projects/{projectId}/change-requests/{crId}/verify', {
        params: { path: { projectId, crId: cr.cr_id } },
      }),
    )
    const { out } = ctx
    if (out.json) out.document(found)
    else {
      if (found.verified) out.line(green('✓ '), 'Verified ', bold(`#${cr.number} ${cr.title}`))
      out.fields([
        ['kind', found.kind],
        ['commit', found.expected.commit],
        ['tree', found.expected.tree],
        ...(found.verified
          ? []
          : ([
              ['got commit', found.got.commit],
              ['got tree', found.got.tree],
            ] as const)),
        ['git', found.git_version],
      ])
    }
    if (!found.verified)
      throw new Refusal('not_verified', `The merge of #${cr.number} could not be verified`, {
        hint: found.reason ?? 'The repeated merge has a different result.',
        next: [`svc cr show ${cr.number}`],
      })
  },
})
