import { command } from '../../arguments/command.ts'
import { dim, green, red, yellow } from '../../terminal/output.ts'
import { policyOfAll, policyLabel, slugArg, stateOf } from './labels.ts'

export const show = command({
  summary: 'Show one connector: its tools with their policies, and its newest calls',
  scope: 'project',
  args: { slug: slugArg },
  examples: ['svc connectors show tracker', 'svc connectors show tracker --json'],
  async run({ out, project }, { args }) {
    const found = await project.get('/connectors/{slug}', { path: { slug: args.slug } })
    if (out.json) return out.document(found)
    const { auth } = found
    out.fields([
      ['slug', found.slug],
      ['type', found.type],
      ['url', found.url],
      ['state', stateOf(found)],
      ['why', found.error],
      ['what to do', found.hint],
      ['credential', auth === null ? dim('none') : `${auth.secret_env ?? 'none'}, as ${auth.header ?? auth.type}`],
      ['asked', found.checked_at === null ? dim('not yet') : out.time(found.checked_at)],
      ['policy', policyOfAll(found)],
    ])
    out.section(found.tools, [
      { title: 'TOOL', of: (tool) => tool.name },
      { title: 'POLICY', of: (tool) => policyLabel(tool.policy) },
      { title: '', of: (tool) => dim(tool.read_only ? 'reads' : '') },
      { title: 'DOES', of: (tool) => tool.description.split('\n')[0] ?? '', shrink: true },
    ])
    out.section(found.calls, [
      { title: 'CALLED', of: (call) => out.time(call.at) },
      { title: 'TOOL', of: (call) => call.tool },
      {
        title: 'OUTCOME',
        of: ({ outcome }) => (outcome === 'ok' ? green : outcome === 'unanswered' ? yellow : red)(outcome),
      },
      { title: 'MS', of: (call) => String(call.ms) },
      { title: 'SESSION', of: (call) => call.session_id?.slice(0, 8) ?? '' },
      { title: 'WITH', of: (call) => call.arguments.join(', '), shrink: true },
    ])
  },
})
