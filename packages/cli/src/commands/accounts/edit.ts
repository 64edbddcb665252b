import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { bold } from '../../terminal/output.ts'
import { resolveAccountId } from '../members/account.ts'
import { planFlag } from './plan.ts'

export const edit = command({
  summary: 'Rename an account, or change its plan',
  about: [
    "Only owners of the server's first account can change a plan. Running sessions continue under a lower limit.",
  ],
  scope: 'host',
  args: { account: { summary: 'Name or id of the account (default: the active one)', optional: true } },
  flags: { name: { kind: 'text', summary: 'New name of the account', value: 'name' }, plan: planFlag },
  examples: ['svc accounts edit Research --name Labs', 'svc accounts edit Trial --plan pro'],
  async run(ctx, { args, flags }) {
    const { name, plan } = flags
    if (name === undefined && plan === undefined)
      throw new UsageError('Nothing to change: pass --name or --plan', { next: ['svc accounts edit --name <name>'] })
    const accountId = await resolveAccountId(ctx, args.account)
    const api = await ctx.api()
    const account = await api.patch('/v1/accounts/{accountId}', { path: { accountId }, body: { name, plan } })
    ctx.out.done(account, bold(account.name), ` has the plan ${account.plan}`)
  },
})
