import { command, type Flag } from '../../arguments/command.ts'
import { changeConfig } from '../../config/config-file.ts'
import { UsageError } from '../../errors.ts'
import { bold } from '../../terminal/output.ts'
import { chosenAccountId, findAccount, resolveAccountId } from '../members/account.ts'

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

const planFlag = {
  kind: 'choice',
  summary: 'Plan, which limits live sessions: free 3, pro 50, team 200, selfhost unlimited',
  choices: ['free', 'pro', 'team', 'selfhost'],
} as const satisfies Flag

export const create = command({
  summary: "Create an account that you own (for owners of the server's first account)",
  scope: 'host',
  args: { name: { summary: 'Name of the account' } },
  flags: { plan: planFlag },
  examples: ['svc accounts create Research', 'svc accounts create Trial --plan free'],
  async run({ out, api }, { args, flags }) {
    const body = { name: args.name, plan: flags.plan }
    const account = await api.post('/v1/accounts', { once: true, body })
    out.done(account, 'Created ', bold(account.name), ` on the plan ${account.plan}`)
    out.note('Next:')
    out.note('  $ ', `svc accounts use ${account.account_id}`)
  },
})

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
    const account = await ctx.api.patch('/v1/accounts/{accountId}', { path: { accountId }, body: { name, plan } })
    ctx.out.done(account, bold(account.name), ` has the plan ${account.plan}`)
  },
})
