import { command } from '../../command.ts'
import { changeConfig } from '../../config-file.ts'
import { bold, green } from '../../output.ts'
import { findAccount } from '../members/account.ts'

export const use = command({
  summary: 'Choose the account that commands are about on this host',
  about: ['New projects belong to it, and members, audit and usage show it.'],
  scope: 'host',
  args: { account: { summary: 'Its name or id' } },
  flags: {},
  examples: ['svc accounts use Research', 'svc accounts use Personal --host work'],
  async run(ctx, { args }) {
    const account = await findAccount(await ctx.api(), args.account)
    const { origin } = await ctx.host()
    await changeConfig(ctx.configPath(), (config) => {
      config.accounts = { ...config.accounts, [origin]: account.account_id }
    })
    if (ctx.out.json) return ctx.out.document(account)
    ctx.out.line(green('✓ '), 'Using ', bold(account.name))
  },
})
