import { command } from '../../arguments/command.ts'
import { changeConfig } from '../../config/config-file.ts'
import { bold } from '../../terminal/output.ts'
import { findAccount } from '../members/account.ts'

export const use = command({
  summary: 'Choose the active account on this host',
  about: ['New projects belong to it, and members, audit and usage apply to it.'],
  scope: 'host',
  args: { account: { summary: 'Name or id of the account' } },
  examples: ['svc accounts use Research', 'svc accounts use Personal --host work'],
  async run({ out, configPath, host, api }, { args }) {
    const account = await findAccount(api, args.account)
    const { origin } = await host()
    await changeConfig(configPath(), (config) => {
      config.accounts = { ...config.accounts, [origin]: account.account_id }
    })
    out.done(account, 'Using ', bold(account.name))
  },
})
