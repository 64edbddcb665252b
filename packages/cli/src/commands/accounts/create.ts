import { onlyOnce, reply } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { bold, green } from '../../terminal/output.ts'
import { planFlag } from './plan.ts'

export const create = command({
  summary: "Create an account that you own (for owners of the server's first account)",
  scope: 'host',
  args: { name: { summary: 'Name of the account' } },
  flags: { plan: planFlag },
  examples: ['svc accounts create Research', 'svc accounts create Trial --plan free'],
  async run(ctx, { args, flags }) {
    const body = { name: args.name, ...(flags.plan === undefined ? {} : { plan: flags.plan }) }
    const account = await reply((await ctx.api()).POST('/v1/accounts', { headers: onlyOnce(ctx.io), body }))
    if (ctx.out.json) return ctx.out.document(account)
    ctx.out.line(green('✓ '), 'Created ', bold(account.name), ` on the plan ${account.plan}`)
    ctx.out.note('Next:')
    ctx.out.note('  $ ', `svc accounts use ${account.account_id}`)
  },
})
