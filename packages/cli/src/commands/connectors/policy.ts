import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { UsageError } from '../../errors.ts'
import { policyOfAll, policyLabel, slugArg } from './labels.ts'

const words = ['allow', 'ask', 'block', 'default'] as const

export const policy = command({
  summary: 'Set what agents may do with the tools of a connector',
  about: [
    "allow: calls run. ask: each call waits for approval. block: agents don't get the tool. default: removes the policy, which allows reads and asks for the rest.",
  ],
  scope: 'project',
  args: { slug: slugArg, policy: { summary: words.join(', ') } },
  flags: { tool: { kind: 'text', summary: 'Name of one tool (default: all)', value: 'name' } },
  examples: ['svc connectors policy tracker ask', 'svc connectors policy tracker allow --tool search'],
  async run({ out, project }, { args, flags }) {
    const word = words.find((one) => one === args.policy)
    if (word === undefined) throw new UsageError(`The policy must be one of ${words.join(', ')}, not ${args.policy}`)
    const said = word === 'default' ? null : word
    const found = await project.patch('/connectors/{slug}/policies', {
      path: { slug: args.slug },
      body: flags.tool === undefined ? { policy: said } : { tools: { [flags.tool]: said } },
    })
    if (out.json) return out.document(found)
    const tool = found.tools.find(({ name }) => name === flags.tool)
    if (tool === undefined) return out.line(green('✓ '), bold(found.slug), ': ', policyOfAll(found))
    out.line(green('✓ '), bold(`${found.slug}/${tool.name}`), ': ', policyLabel(tool.policy))
  },
})
