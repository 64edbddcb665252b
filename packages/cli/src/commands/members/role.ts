import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { bold } from '../../terminal/output.ts'
import { closest } from '@svc/contract/schemas/closest'
import { quote } from '../../arguments/shell-word.ts'
import { accountFlag, findMember, memberArg, resolveAccountId, roles } from './account.ts'

type Role = (typeof roles)[number]

export const role = command({
  summary: 'Change the role of a member',
  about: ['Their tokens are limited to the new role from the next request on.'],
  scope: 'host',
  args: { member: memberArg, role: { summary: `One of ${roles.join(', ')}` } },
  flags: { account: accountFlag },
  examples: ['svc members role ada@example.com admin', 'svc members role ada@example.com viewer --json'],
  async run(ctx, { args, flags }) {
    if (!isRole(args.role)) {
      const meant = closest(args.role, roles)
      throw new UsageError(`A role must be one of ${roles.join(', ')}, not ${JSON.stringify(args.role)}`, {
        next: [`svc members role ${quote(args.member)} ${meant ?? '<role>'}`],
      })
    }
    const accountId = await resolveAccountId(ctx, flags.account)
    const { user_id: userId } = await findMember(ctx.api, accountId, args.member)
    const member = await ctx.api.patch('/v1/accounts/{accountId}/members/{userId}', {
      path: { accountId, userId },
      body: { role: args.role },
    })
    ctx.out.done(member, bold(member.email ?? member.name), ` is ${member.role} now`)
  },
})

function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text)
}
