import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { Refusal } from '../../errors.ts'
import { bold, green, red } from '../../output.ts'
import { argumentsLine } from './words.ts'

const deciding = (decision: 'approve' | 'deny', summary: string) =>
  command({
    summary,
    scope: 'project',
    args: { id: { summary: 'Its id, or the beginning of it' } },
    flags: {
      always: {
        kind: 'switch',
        summary: `Also for later calls of this tool: ${decision === 'approve' ? 'allow' : 'block'} it`,
      },
    },
    examples: [`svc connectors ${decision} 1c5f09aa`, `svc connectors ${decision} 1c5f09aa --always`],
    async run(ctx, { args, flags }) {
      const { api, projectId } = await ctx.project()
      const approvalId = await findApproval(ctx, args.id)
      const found = await reply(
        api.POST('/v1/projects/{projectId}/connector-approvals/{approvalId}/decide', {
          params: { path: { projectId, approvalId } },
          body: { decision, always: flags.always },
        }),
      )
      const { out } = ctx
      if (out.json) return out.document(found)
      const tool = bold(`${found.slug}/${found.tool}`)
      const mark = decision === 'approve' ? green('✓ ') : red('✗ ')
      out.line(mark, tool, ` is ${found.status}: ${argumentsLine(found)}`)
    },
  })

/** A whole id is left to the server; a beginning is looked up among those that wait. */
async function findApproval(ctx: Context, given: string): Promise<string> {
  if (given.length >= 36) return given
  const { api, projectId } = await ctx.project()
  const { approvals } = await reply(
    api.GET('/v1/projects/{projectId}/connector-approvals', { params: { path: { projectId }, query: {} } }),
  )
  const fits = approvals.filter((approval) => approval.approval_id.startsWith(given.toLowerCase()))
  if (fits.length === 1) return fits[0]!.approval_id
  if (fits.length === 0)
    throw new Refusal('not_found', `No call that waits has an id beginning with ${given}`, {
      next: ['svc connectors approvals'],
    })
  throw new Refusal('ambiguous', `${fits.length} ids begin with ${given}`, { next: ['svc connectors approvals'] })
}

export const approve = deciding('approve', 'Let a call go through that waits')
export const deny = deciding('deny', 'Refuse a call that waits')
