import { ServiceError } from '@svc/contract/errors'
import { closest } from '@svc/contract/schemas/closest'
import { command } from '../../arguments/command.ts'
import { quote } from '../../arguments/shell-word.ts'
import { UsageError } from '../../errors.ts'
import { confirm } from '../../terminal/ask.ts'
import { bold, green } from '../../terminal/output.ts'
import { accountFlag, allMembers, findMember, invitedMembers, memberArg, resolveAccountId, roles } from './account.ts'

export const ls = command({
  summary: 'List the members of the account and its pending invitations',
  about: ['Only owners and admins see pending invitations. --json lists members only.'],
  scope: 'host',
  flags: { account: accountFlag },
  examples: ['svc members ls', 'svc members ls --json'],
  async run(ctx, { flags }) {
    const accountId = await resolveAccountId(ctx, flags.account)
    const members = await allMembers(ctx.api, accountId)
    const { out } = ctx
    if (out.json) return out.document(members)
    const invited = await invitedMembers(ctx.api, accountId).catch(seenByAdminsAlone)
    const rows = [
      ...members.map((one) => ({ ...one, state: 'member' })),
      ...invited.map((one) => ({ ...one, state: 'invited' })),
    ]
    out.table(rows, [
      { title: 'NAME', of: (member) => member.name, shrink: true },
      { title: 'EMAIL', of: (member) => member.email ?? '-', shrink: true },
      { title: 'ROLE', of: (member) => member.role },
      { title: 'SINCE', of: (member) => out.time(member.created_at) },
      { title: 'ID', of: (member) => member.user_id },
      { title: 'STATE', of: (member) => member.state },
    ])
  },
})

function seenByAdminsAlone(error: unknown): [] {
  if (error instanceof ServiceError && error.code === 'forbidden') return []
  throw error
}

export const add = command({
  summary: 'Invite a member by email address',
  about: [
    'The invitation is valid for seven days and gives no access until it is accepted. The service sends no email, and a token gets no sign-in link: create the link on the Members page and send it yourself. A user whose address is verified by the sign-in provider needs no link.',
  ],
  scope: 'host',
  args: { email: { summary: 'Email address' } },
  flags: {
    role: { kind: 'choice', summary: 'Role (default: member)', choices: roles },
    name: { kind: 'text', summary: 'Name (default: from the address)', value: 'text' },
    account: accountFlag,
  },
  examples: ['svc members add ada@example.com', 'svc members add ada@example.com --role viewer --json'],
  async run(ctx, { args, flags }) {
    if (!/^\S+@\S+$/.test(args.email))
      throw new UsageError(`${JSON.stringify(args.email)} is not an email address`, {
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
    if (signIn === null)
      return out.note(`Create a sign-in link on the Members page: ${(await ctx.host()).base}/account/members`)
    out.line(signIn.url)
    out.note(`Send it to them. It works once, until ${signIn.expires_at}.`)
  },
})

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
