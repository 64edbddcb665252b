import { createOwnerLinkRoute, getMeRoute, ServiceError, signInRoute, signOutRoute } from '@svc/contract'
import { recordAudit } from '../audit/record.ts'
import { endDashboardSession, refuseForeignOrigin, startDashboardSession } from '../auth/dashboard-session.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { makeOwnerLink, redeemOwnerLink } from './owner-link.ts'
import { accountsOfUser, getUser } from './store.ts'

export function accountRoutes(deps: Deps): Mounted[] {
  return [
    handle(getMeRoute, async ({ caller }) => {
      const accounts = await accountsOfUser(deps.db, caller.actor.user_id)
      const account = accounts[0]
      if (account === undefined) throw new ServiceError('forbidden', 'You are not a member of any account.')
      return { user: await getUser(deps.db, caller.actor.user_id), account, accounts }
    }),
    handle(createOwnerLinkRoute, async ({ caller }) => {
      const accounts = await accountsOfUser(deps.db, caller.actor.user_id)
      const owned = accounts.find((account) => account.role === 'owner')
      if (owned === undefined)
        throw new ServiceError('forbidden', 'Only an owner of the account may make an owner link.')
      const link = await makeOwnerLink(deps, caller.actor.user_id)
      await recordAudit(deps.db, caller, {
        account_id: owned.account_id,
        project_id: null,
        action: 'owner_link.create',
        object_type: 'user',
        object_id: caller.actor.user_id,
      })
      return link
    }),
    handle(signInRoute, async ({ body, request }) => {
      refuseForeignOrigin(originOf(request))
      const userId = await redeemOwnerLink(deps, body.code)
      const caller = {
        actor: { kind: 'user', user_id: userId, token_id: null, expires_at: null },
        requestId: request.id,
        address: request.address,
      } as const
      await recordAudit(deps.db, caller, {
        account_id: null,
        project_id: null,
        action: 'user.sign_in',
        object_type: 'user',
        object_id: userId,
      })
      return withCookie(await startDashboardSession(deps, userId))
    }),
    handle(signOutRoute, async ({ request }) => {
      refuseForeignOrigin(originOf(request))
      return withCookie(await endDashboardSession(deps, request.headers.get('cookie')))
    }),
  ]
}

function originOf(request: { method: string; headers: Headers }) {
  return {
    method: request.method,
    origin: request.headers.get('origin'),
    secFetchSite: request.headers.get('sec-fetch-site'),
    host: request.headers.get('host'),
  }
}

function withCookie(cookie: string): Response {
  return Response.json({ ok: true }, { headers: { 'set-cookie': cookie, 'cache-control': 'no-store' } })
}
