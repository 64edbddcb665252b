import * as contract from '@svc/contract'
import { sha256 } from '../../auth/credentials.ts'
import type { Deps } from '../../deps.ts'
import { handle, type Mounted, ok } from '../../http/mount.ts'
import { Page } from '../../http/page.ts'
import { acceptInvitation, unusableInvitation } from './accept.ts'
import { linkInvitation, revokeInvitation } from './invite.ts'
import { verifiedAddresses } from '../oidc/identity-store.ts'
import { listInvitations, receivedInvitations } from './store.ts'

export function invitationRoutes(deps: Deps): Mounted[] {
  return [
    handle(contract.listInvitationsRoute, async ({ account, query }) => {
      const { rows, next } = await listInvitations(deps.db, account.account_id, deps.now(), query)
      const invitations = rows.map(({ sha256, invited_by, inviter, ...row }) => ({
        ...row,
        invited_by: invited_by === null ? null : { user_id: invited_by, name: inviter ?? '' },
        has_link: sha256 !== null,
      }))
      return new Page({ invitations }, next)
    }),
    handle(contract.linkInvitationRoute, ({ account, caller, params }) =>
      linkInvitation(deps, { account, caller, id: params.invitationId }),
    ),
    handle(contract.revokeInvitationRoute, ({ account, caller, params }) =>
      ok(revokeInvitation(deps, { account, caller, id: params.invitationId })),
    ),
    handle(contract.readInvitationRoute, async ({ body }) => {
      const [found] = (await receivedInvitations(deps.db, { sha256: sha256(body.code) }, deps.now())).rows
      if (found === undefined) throw unusableInvitation()
      return found
    }),
    handle(contract.listReceivedInvitationsRoute, async ({ caller, query }) => {
      const emails = await verifiedAddresses(deps.db, caller.actor.user_id)
      const { rows, next } = await receivedInvitations(deps.db, { emails }, deps.now(), query)
      return new Page({ invitations: rows }, next)
    }),
    handle(contract.acceptInvitationRoute, ({ caller, body }) => acceptInvitation(deps, caller, body)),
  ]
}
