import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { bold, green } from '../../output.ts'
import { UsageError } from '../../errors.ts'
import { policyOfAll, policyWord, slugArg } from './words.ts'

const words = ['allow', 'ask', 'block', 'default'] as const

export const policy = command({
  summary: 'Say what agents may do with the tools of a connector',
  about: [
    'allow: calls go through. ask: each waits for a person. block: the tool is not offered. default: what was said is taken back, so that reading is allowed and the rest asks.',
  ],
  scope: 'project',
  args: { slug: slugArg, policy: { summary: words.join(', ') } },
  flags: { tool: { kind: 'text', summary: 'One tool; all of them when left out', value: 'name' } },
  examples: ['svc connectors policy tracker ask', 'svc connectors policy tracker allow --tool search'],
  async run(ctx, { args, flags }) {
    const word = words.find((one) => one === args.policy)
    if (word === undefined) throw new UsageError(`The policy is one of ${words.join(', ')}, not ${args.policy}.`)
    const said = word === 'default' ? null : word
    const { api, projectId } = await ctx.project()
    const found = await reply(
      api.PATCH('/v1/projects/{projectId}/connectors/{slug}/policies', {
        params: { path: { projectId, slug: args.slug } },
        body: flags.tool === undefined ? { policy: said } : { tools: { [flags.tool]: said } },
      }),
    )
    const { out } = ctx
    if (out.json) return out.document(found)
    const tool = found.tools.find(({ name }) => name === flags.tool)
    if (tool === undefined) return out.line(green('✓ '), bold(found.slug), ': ', policyOfAll(found))
    out.line(green('✓ '), bold(`${found.slug}/${tool.name}`), ': ', policyWord(tool.policy))
  },
})
