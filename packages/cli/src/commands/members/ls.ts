import { command } from '../../command.ts'
import { accountFlag, allMembers, resolveAccountId } from './account.ts'

export const ls = command({
  summary: 'List who is in the account, with their roles',
  scope: 'host',
  args: {},
  flags: { account: accountFlag },
  examples: ['svc members ls', 'svc members ls --json'],
  async run(ctx, { flags }) {
    const api = await ctx.api()
    const members = await allMembers(api, await resolveAccountId(ctx, flags.account))
    const { out } = ctx
    if (out.json) return out.document(members)
    out.table(members, [
      { title: 'NAME', of: (member) => member.name, shrink: true },
      { title: 'E-MAIL', of: (member) => member.email ?? '-', shrink: true },
      { title: 'ROLE', of: (member) => member.role },
      { title: 'SINCE', of: (member) => out.time(member.created_at) },
      { title: 'ID', of: (member) => member.user_id },
    ])
  },
})
