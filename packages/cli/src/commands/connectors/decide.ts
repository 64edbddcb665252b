import { findOne, uuid } from '../../arguments/find-one.ts'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { bold, green, red } from '../../terminal/output.ts'
import { argumentsLine } from './labels.ts'

const deciding = (decision: 'approve' | 'deny', summary: string) =>
  command({
    summary,
    scope: 'project',
    args: { id: { summary: 'Id of the call, or its first characters' } },
    flags: {
      always: {
        kind: 'switch',
        summary: `Also ${decision === 'approve' ? 'allow' : 'block'} later calls of this tool`,
      },
    },
    examples: [`svc connectors ${decision} 1c5f09aa`, `svc connectors ${decision} 1c5f09aa --always`],
    async run(ctx, { args, flags }) {
      const approvalId = await findApproval(ctx, args.id)
      const found = await ctx.project.post('/connector-approvals/{approvalId}/decide', {
        path: { approvalId },
        body: { decision, always: flags.always },
      })
      const { out } = ctx
      if (out.json) return out.document(found)
      const tool = bold(`${found.slug}/${found.tool}`)
      const mark = decision === 'approve' ? green('✓ ') : red('✗ ')
      out.line(mark, tool, ` is ${found.status}: ${argumentsLine(found)}`)
    },
  })

/** A whole id needs no look-up: the server refuses a call that is not waiting. */
async function findApproval(ctx: Context, given: string): Promise<string> {
  if (uuid.test(given)) return given.toLowerCase()
  const { approvals } = await ctx.project.get('/connector-approvals', { query: {} })
  const found = findOne(approvals, given, {
    what: ['waiting call', 'waiting calls'],
    id: (approval) => approval.approval_id,
    next: ['svc connectors approvals'],
  })
  return found.approval_id
}

export const approve = deciding('approve', 'Approve a waiting call')
export const deny = deciding('deny', 'Deny a waiting call')
