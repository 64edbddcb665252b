import { command } from '../../arguments/command.ts'
import { chosenAccountId } from '../members/account.ts'

export const ls = command({
  summary: 'List your accounts',
  about: ['Marks the active account; `svc accounts use <name>` switches to another.'],
  scope: 'host',
  examples: ['svc accounts ls', 'svc accounts ls --json'],
  async run(ctx) {
    const { accounts } = await ctx.api.get('/v1/accounts')
    const { out } = ctx
    if (out.json) return out.document(accounts)
    const active = (await chosenAccountId(ctx)) ?? accounts[0]?.account_id
    out.table(accounts, [
      { title: '', of: (account) => (account.account_id === active ? '*' : ' ') },
      { title: 'NAME', of: (account) => account.name, shrink: true },
      { title: 'PLAN', of: (account) => account.plan },
      { title: 'ROLE', of: (account) => account.role },
      { title: 'ID', of: (account) => account.account_id },
    ])
  },
})
