import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { Refusal } from '../../errors.ts'
import { bold, green } from '../../output.ts'
import { crArg, resolveChangeRequest } from './find.ts'

export const verify = command({
  summary: 'Make a merge again from its receipt and compare the result',
  about: ['The exit code is 0 when the same content and the same commit come out, and 1 when they do not.'],
  scope: 'project',
  args: { cr: crArg },
  flags: {},
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
        hint: found.reason ?? 'Something else came out.',
        next: [`svc cr show ${cr.number}`],
      })
  },
})
