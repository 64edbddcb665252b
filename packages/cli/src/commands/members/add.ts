import { reply } from '../../api.ts'
import { command } from '../../command.ts'
import { UsageError } from '../../errors.ts'
import { bold, green } from '../../output.ts'
import { accountFlag, resolveAccountId, roles } from './account.ts'

export const add = command({
  summary: 'Invite a member by e-mail address',
  about: [
    'The invitation holds for seven days and gives nothing until the person accepts it. The service sends no mail, and a token gets no sign-in link: create the link on the page Members and send it to them. A person whose address the sign-in provider verifies needs no link.',
  ],
  scope: 'host',
  args: { email: { summary: 'Their e-mail address' } },
  flags: {
    role: { kind: 'choice', summary: 'What they may do (default: member)', choices: roles },
    name: { kind: 'text', summary: 'What to call them (default: from the address)', value: 'text' },
    account: accountFlag,
  },
  examples: ['svc members add ada@example.com', 'svc members add ada@example.com --role viewer --json'],
  async run(ctx, { args, flags }) {
    if (!/^\S+@\S+$/.test(args.email))
      throw new UsageError(`${JSON.stringify(args.email)} is not an e-mail address`, {
        next: ['svc members add ada@example.com'],
      })
    const api = await ctx.api()
    const accountId = await resolveAccountId(ctx, flags.account)
    const added = await reply(
      api.POST('/v1/accounts/{accountId}/members', {
        params: { path: { accountId } },
        body: {
          email: args.email,
          role: flags.role ?? 'member',
          ...(flags.name === undefined ? {} : { name: flags.name }),
        },
      }),
    )
    const { out } = ctx
    if (out.json) return out.document(added)
    const { member, sign_in: signIn } = added
    out.progress(green('✓ '), 'Invited ', bold(member.email ?? member.name), ` as ${member.role}`)
    if (signIn === null) return out.note('Create the link for them on the page Members: /account/members')
    out.line(signIn.url)
    out.note(`Send it to them. It works once, until ${signIn.expires_at}.`)
  },
})
