import { command } from '../../arguments/command.ts'
import { bold, green, red } from '../../terminal/output.ts'
import { slugArg } from './labels.ts'

export const check = command({
  summary: 'Check a connector now and read its tools',
  scope: 'project',
  args: { slug: slugArg },
  examples: ['svc connectors check tracker', 'svc connectors check tracker --json'],
  async run({ out, project }, { args }) {
    const found = await project.post('/connectors/{slug}/check', { path: { slug: args.slug } })
    if (out.json) return out.document(found)
    if (found.status === 'ready') return out.line(green('✓ '), bold(found.slug), ` has ${found.tools.length} tools`)
    out.line(red('✗ '), bold(found.slug), `: ${found.error ?? found.status}`)
    if (found.hint !== null) out.note(found.hint)
  },
})
