import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { chosenAccountId } from '../members/account.ts'

export const whoami = command({
  summary: 'Show the user and account of the token in use',
  scope: 'host',
  examples: ['svc whoami', 'svc whoami --host work --json'],
  async run(ctx) {
    const who = await ctx.api.get('/v1/token')
    const chosen = who.kind === 'user' ? await chosenAccountId(ctx) : undefined
    if (chosen !== undefined) {
      const { accounts } = await ctx.api.get('/v1/accounts')
      who.account = accounts.find(({ account_id }) => account_id === chosen) ?? who.account
    }
    const host = await ctx.host()
    const { out } = ctx
    if (out.json) return out.document({ host: host.name, url: host.base, ...who })
    out.line(bold(who.user.name), who.user.email === null ? '' : ` <${who.user.email}>`)
    out.fields([
      ['account', who.account.name],
      ['host', `${host.name} · ${host.base}`],
      [
        'token',
        who.kind === 'user' ? 'user token: every project of your accounts' : `project token: ${who.project_id} only`,
      ],
      ['session', who.session_id],
      ['expires', who.expires_at],
    ])
  },
})
