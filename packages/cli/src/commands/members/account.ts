/** Resolves the account and the members that a command works on. */
import type { Account, Member } from '@svc/sdk'
import type { Context } from '../../context.ts'
import type { Flag } from '../../arguments/command.ts'
import { allPages, pageSize } from '../../pages.ts'
import { quote } from '../../arguments/shell-word.ts'
import { findOne, matching, uuid } from '../../arguments/find-one.ts'
import type { Client } from '../../requests.ts'

export const accountFlag = {
  kind: 'text',
  summary: 'Account (default: the one of `svc accounts use <name>`, otherwise your first)',
  value: 'id|name',
} as const satisfies Flag

export const memberArg = { summary: 'Email address, name or id of the member', names: 'member' } as const
export const roles = ['owner', 'admin', 'member', 'viewer'] as const

export async function resolveAccountId(ctx: Context, named: string | undefined): Promise<string> {
  const chosen = named ?? (await chosenAccountId(ctx))
  if (chosen !== undefined && uuid.test(chosen)) return chosen.toLowerCase()
  if (named === undefined) return (await ctx.api.get('/v1/accounts/me')).account.account_id
  return (await findAccount(ctx.api, named)).account_id
}

/** The account of `svc accounts use <name>` on this host. */
export async function chosenAccountId(ctx: Context): Promise<string | undefined> {
  const { origin } = await ctx.host()
  return (await ctx.config()).accounts?.[origin]
}

export async function findAccount(api: Client, named: string): Promise<Account> {
  const { accounts } = await api.get('/v1/accounts')
  return findOne(accounts, named, {
    what: ['account', 'accounts'],
    id: (account) => account.account_id,
    isNamed: (account) => account.name === named,
    hint: `Your accounts: ${accounts.map((one) => `${one.name} (${one.account_id})`).join(', ')}.`,
    next: ['svc accounts ls'],
    wholeId: true,
  })
}

export function allMembers(api: Client, accountId: string): Promise<Member[]> {
  return allPages((query) => api.page('/v1/accounts/{accountId}/members', { path: { accountId }, query }))
}

/** Pending invitations, as the members they become. Only owners and admins see them. */
export async function invitedMembers(api: Client, accountId: string): Promise<Member[]> {
  const query = { limit: pageSize }
  const { invitations } = await api.get('/v1/accounts/{accountId}/invitations', { path: { accountId }, query })
  return invitations.map(({ invitation_id: user_id, ...rest }) => ({ user_id, ...rest }))
}

/** Searches the invitations if no member matches. */
export async function findMember(api: Client, accountId: string, named: string): Promise<Member> {
  const wanted = named.toLowerCase()
  const kind = {
    what: ['member', 'members'],
    id: (member: Member) => member.user_id,
    isNamed: (member: Member) => member.email === wanted || member.name.toLowerCase() === wanted,
    next: ['svc members ls', ...(named.includes('@') ? [`svc members add ${quote(named)}`] : [])],
    wholeId: true,
  } as const
  const members = await allMembers(api, accountId)
  const found = matching(members, named, kind)
  return findOne(found.length > 0 ? found : await invitedMembers(api, accountId), named, kind)
}
