import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { planFlag } from './plan.ts'

export const create = command({
  summary: "Create an account that you own (for owners of the server's first account)",
  scope: 'host',
  args: { name: { summary: 'Name of the account' } },
  flags: { plan: planFlag },
  examples: ['svc accounts create Research', 'svc accounts create Trial --plan free'],
  async run(ctx, { args, flags }) {
    const body = { name: args.name, plan: flags.plan }
    const account = await (await ctx.api()).post('/v1/accounts', { once: true, body })
    ctx.out.done(account, 'Created ', bold(account.name), ` on the plan ${account.plan}`)
    ctx.out.note('Next:')
    ctx.out.note('  $ ', `svc accounts use ${account.account_id}`)
  },
})
