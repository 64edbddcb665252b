import { command } from '../../arguments/command.ts'
import { UsageError } from '../../errors.ts'
import { bold, green } from '../../terminal/output.ts'
import { accountFlag, resolveAccountId, roles } from './account.ts'

export const add = command({
  summary: 'Invite a member by e-mail address',
  about: [
    'The invitation is valid for seven days and gives no access until it is accepted. The service sends no e-mail, and a token gets no sign-in link: create the link on the Members page and send it yourself. A user whose address is verified by the sign-in provider needs no link.',
  ],
  scope: 'host',
  args: { email: { summary: 'E-mail address' } },
  flags: {
    role: { kind: 'choice', summary: 'Role (default: member)', choices: roles },
    name: { kind: 'text', summary: 'Name (default: from the address)', value: 'text' },
    account: accountFlag,
  },
  examples: ['svc members add ada@example.com', 'svc members add ada@example.com --role viewer --json'],
  async run(ctx, { args, flags }) {
    if (!/^\S+@\S+$/.test(args.email))
      throw new UsageError(`${JSON.stringify(args.email)} is not an e-mail address`, {
        next: ['svc members add ada@example.com'],
      })
    const accountId = await resolveAccountId(ctx, flags.account)
    const added = await ctx.api.post('/v1/accounts/{accountId}/members', {
      path: { accountId },
      body: {
        email: args.email,
        role: flags.role ?? 'member',
        name: flags.name,
      },
    })
    const { out } = ctx
    if (out.json) return out.document(added)
    const { member, sign_in: signIn } = added
    out.progress(green('✓ '), 'Invited ', bold(member.email ?? member.name), ` as ${member.role}`)
    if (signIn === null) return out.note('Create a sign-in link on the Members page: /account/members')
    out.line(signIn.url)
    out.note(`Send it to them. It works once, until ${signIn.expires_at}.`)
  },
})
