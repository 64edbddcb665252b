import { command } from '../../arguments/command.ts'
import { ServiceError } from '@svc/contract/errors'
import { accountFlag, allMembers, invitedMembers, resolveAccountId } from './account.ts'

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
      { title: 'E-MAIL', of: (member) => member.email ?? '-', shrink: true },
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
