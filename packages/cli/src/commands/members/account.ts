/** Which account a command is about, and who is in it. */
import type { ApiClient } from '@svc/contract/api'
import { reply, replyPage } from '../../api.ts'
import type { Context } from '../../context.ts'
import type { Flag } from '../../command.ts'
import { Refusal } from '../../errors.ts'
import { quote } from '../../shell.ts'
import type { Account, Member } from '../../wire.ts'
import { uuid } from '../projects/find.ts'

export const accountFlag = {
  kind: 'text',
  summary: 'Which account (default: the one of `svc accounts use <name>`, else the one you started in)',
  value: 'id|name',
} as const satisfies Flag

export const memberArg = { summary: 'Their e-mail address, name or id', names: 'member' } as const
export const roles = ['owner', 'admin', 'member', 'viewer'] as const

const pageSize = 1000
const pagesMax = 20

export async function resolveAccountId(ctx: Context, named: string | undefined): Promise<string> {
  const chosen = named ?? (await chosenAccountId(ctx))
  if (chosen !== undefined && uuid.test(chosen)) return chosen.toLowerCase()
  const api = await ctx.api()
  if (named === undefined) return (await reply(api.GET('/v1/accounts/me'))).account.account_id
  return (await findAccount(api, named)).account_id
}

/** The one of `svc accounts use <name>`, on this host. */
export async function chosenAccountId(ctx: Context): Promise<string | undefined> {
  const { origin } = await ctx.host()
  return (await ctx.config()).accounts?.[origin]
}

/** By id or name; a name must be of one account only. */
export async function findAccount(api: ApiClient, named: string): Promise<Account> {
  const { accounts } = await reply(api.GET('/v1/accounts'))
  const found = accounts.filter((one) => one.name === named || one.account_id === named.toLowerCase())
  if (found.length === 1) return found[0]!
  throw new Refusal(
    found.length === 0 ? 'not_found' : 'ambiguous',
    `${found.length === 0 ? 'No account' : `${found.length} accounts`} of yours ${found.length > 1 ? 'have' : 'has'} the name ${JSON.stringify(named)}`,
    { hint: `Yours: ${accounts.map((one) => `${one.name} (${one.account_id})`).join(', ')}.` },
  )
}

export async function allMembers(api: ApiClient, accountId: string): Promise<Member[]> {
  const found: Member[] = []
  let cursor: string | null = null
  for (let i = 0; i < pagesMax; i++) {
    const query: { limit: number; cursor?: string } = { limit: pageSize, ...(cursor === null ? {} : { cursor }) }
    const next: { data: Member[]; cursor: string | null } = await replyPage(
      api.GET('/v1/accounts/{accountId}/members', { params: { path: { accountId }, query } }),
    )
    found.push(...next.data)
    cursor = next.cursor
    if (cursor === null) break
  }
  return found
}

/** Those who have not accepted yet, as the members they become. Only owners and admins see them. */
export async function invitedMembers(api: ApiClient, accountId: string): Promise<Member[]> {
  const query = { limit: pageSize }
  const { invitations } = await reply(
    api.GET('/v1/accounts/{accountId}/invitations', { params: { path: { accountId }, query } }),
  )
  return invitations.map(({ invitation_id: user_id, ...rest }) => ({ user_id, ...rest }))
}

/** By id, e-mail address or name; a name must be of one member only. An invitation counts where no member is meant. */
export async function findMember(api: ApiClient, accountId: string, named: string): Promise<Member> {
  const wanted = named.toLowerCase()
  const isMeant = (member: Member) =>
    member.user_id === wanted || member.email === wanted || member.name.toLowerCase() === wanted
  const members = (await allMembers(api, accountId)).filter(isMeant)
  const found = members.length > 0 ? members : (await invitedMembers(api, accountId)).filter(isMeant)
  if (found.length === 1) return found[0]!
  if (found.length > 1)
    throw new Refusal('ambiguous', `${found.length} members are named ${JSON.stringify(named)}`, {
      hint: 'Give an e-mail address or an id.',
      next: ['svc members ls'],
    })
  throw new Refusal('not_found', `There is no member ${JSON.stringify(named)}`, {
    next: ['svc members ls', ...(named.includes('@') ? [`svc members add ${quote(named)}`] : [])],
  })
}
