import { replyWarned } from '../../api.ts'
import { command } from '../../command.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { bold, green } from '../../output.ts'
import { readStdin } from '../../read-stdin.ts'

export const set = command({
  summary: 'Set secrets; running sessions get them, too',
  about: ['NAME=- reads the value from stdin, which keeps it out of the history of your shell.'],
  scope: 'project',
  args: { pairs: { summary: 'NAME=VALUE, or NAME=- for stdin', many: true } },
  flags: {},
  examples: ['svc secrets set STRIPE_KEY=-', 'svc secrets set REGION=eu STAGE=test'],
  async run(ctx, { args }) {
    const pairs = args.pairs.map(splitPair)
    if (pairs.filter(({ value }) => value === '-').length > 1)
      throw new UsageError('Only one value can come from stdin')
    for (const pair of pairs) if (pair.value === '-') pair.value = await readStdin(ctx.io, `the value of ${pair.name}`)
    const { api, projectId } = await ctx.project()
    const items = []
    for (const body of pairs) {
      const { data: item, warnings } = await replyWarned(
        api.POST('/v1/projects/{projectId}/secrets', { params: { path: { projectId } }, body }),
      )
      items.push(item)
      for (const warning of warnings) ctx.out.warn(warning)
      if (!ctx.out.json) ctx.out.line(green('✓ '), 'Set ', bold(item.name))
    }
    if (ctx.out.json) ctx.out.document({ items })
    else ctx.out.note(sentToSessions(ctx))
  },
})

/** The service sends a change on to sessions that run. */
export function sentToSessions({ next }: Pick<Context, 'next'>): string {
  return `Running sessions get it within seconds, for what their agents start from then on. A program that runs already keeps its environment: ${next('svc sessions restart <id>')} starts it again.`
}

/** Never repeats the value in a message. */
function splitPair(pair: string): { name: string; value: string } {
  const at = pair.indexOf('=')
  if (at > 0) return { name: pair.slice(0, at), value: pair.slice(at + 1) }
  throw new UsageError('A secret is given as NAME=VALUE, or NAME=- to read it from stdin', {
    next: [
      `svc secrets set ${/^[A-Za-z_][A-Za-z0-9_]{0,40}$/.test(pair) && pair === pair.toUpperCase() ? pair : 'NAME'}=-`,
    ],
  })
}
