import { confirm } from '../../terminal/ask.ts'
import { command } from '../../arguments/command.ts'
import { bold } from '../../terminal/output.ts'
import { quote } from '../../arguments/shell-word.ts'
import { accountFlag, findMember, memberArg, resolveAccountId } from './account.ts'

export const rm = command({
  summary: 'Remove a member from the account, or leave it',
  about: ['Their tokens lose access to the account at once. Their work stays.'],
  scope: 'host',
  args: { member: memberArg },
  flags: { account: accountFlag, yes: { kind: 'switch', summary: 'Do not ask' } },
  examples: ['svc members rm ada@example.com', 'svc members rm ada@example.com --yes'],
  async run(ctx, { args, flags }) {
    const accountId = await resolveAccountId(ctx, flags.account)
    const member = await findMember(ctx.api, accountId, args.member)
    await confirm(ctx, {
      question: `Remove ${member.email ?? member.name} (${member.role}) from the account?`,
      yes: flags.yes,
      corrected: `svc members rm ${quote(args.member)} --yes`,
    })
    const path = { accountId, userId: member.user_id }
    await ctx.api.delete('/v1/accounts/{accountId}/members/{userId}', { path })
    ctx.out.done({ user_id: member.user_id, removed: true }, 'Removed ', bold(member.email ?? member.name))
  },
})
