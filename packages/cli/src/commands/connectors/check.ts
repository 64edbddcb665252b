import { reply } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { bold, green, red } from '../../terminal/output.ts'
import { slugArg } from './labels.ts'

export const check = command({
  summary: 'Check a connector now and read its tools',
  scope: 'project',
  args: { slug: slugArg },
  examples: ['svc connectors check tracker', 'svc connectors check tracker --json'],
  async run(ctx, { args }) {
    const { api, projectId } = await ctx.project()
    const found = await reply(
      api.POST('/v1/projects/{projectId}/connectors/{slug}/check', {
        params: { path: { projectId, slug: args.slug } },
      }),
    )
    const { out } = ctx
    if (out.json) return out.document(found)
    if (found.status === 'ready') return out.line(green('✓ '), bold(found.slug), ` has ${found.tools.length} tools`)
    out.line(red('✗ '), bold(found.slug), `: ${found.error ?? found.status}`)
    if (found.hint !== null) out.note(found.hint)
  },
})
