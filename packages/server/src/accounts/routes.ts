import {
  addMemberRoute,
  changeRoleRoute,
  createOwnerLinkRoute,
  getMeRoute,
  listAuditRoute,
  listMembersRoute,
  removeMemberRoute,
  ServiceError,
  signInRoute,
  signOutRoute,
} from '@svc/contract'
import { listAudit } from '../audit/list.ts'
import { recordAudit } from '../audit/record.ts'
import type { Caller, UserActor } from '../auth/actor.ts'
import { endDashboardSession, refuseForeignOrigin, startDashboardSession } from '../auth/dashboard-session.ts'
import type { DbOrTransaction } from '../db/schema.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { addMember, changeRole, removeMember } from './members.ts'
import { makeOwnerLink, redeemOwnerLink } from './owner-link.ts'
import { accountsOfUser, getUser, listMembers } from './store.ts'

export function accountRoutes(deps: Deps): Mounted[] {
  return [
    handle(getMeRoute, async ({ caller }) => {
      const accounts = await accountsOfUser(deps.db, caller.actor.user_id)
      const account = accounts[0]
      if (account === undefined) throw new ServiceError('forbidden', 'You are not a member of any account.')
      return { user: await getUser(deps.db, caller.actor.user_id), account, accounts }
    }),
    handle(listMembersRoute, async ({ account, query }) => {
      const { rows, next } = await listMembers(deps.db, account.account_id, query)
      return new Page(rows, next)
    }),
    handle(addMemberRoute, async ({ account, body, caller }) => addMember(deps, { account, caller, ...body })),
    handle(changeRoleRoute, async ({ account, body, caller, params }) =>
      changeRole(deps, { account, caller, userId: params.userId, role: body.role }),
    ),
    handle(removeMemberRoute, async ({ account, caller, params }) => {
      await removeMember(deps, { account, caller, userId: params.userId })
      return { ok: true }
    }),
    handle(listAuditRoute, async ({ account, query }) => {
      const of = {
        accountId: account.account_id,
        projectId: query.project_id,
        action: query.action,
        userId: query.actor_user_id,
      }
      const { rows, next } = await listAudit(deps.db, of, query)
      return new Page(rows, next)
    }),
    handle(createOwnerLinkRoute, async ({ caller }) => {
      const accounts = await accountsOfUser(deps.db, caller.actor.user_id)
      const owned = accounts.find((account) => account.role === 'owner')
      if (owned === undefined)
        throw new ServiceError('forbidden', 'Only an owner of the account may make an owner link.')
      return deps.db.transaction().execute(async (trx) => {
        const link = await makeOwnerLink({ ...deps, db: trx }, caller.actor.user_id)
        await recordAudit(trx, caller, {
          account_id: owned.account_id,
          project_id: null,
          action: 'owner_link.create',
          object_type: 'user',
          object_id: caller.actor.user_id,
        })
        return link
      })
    }),
    handle(signInRoute, async ({ body, request }) => {
      refuseForeignOrigin(originOf(request))
      return deps.db.transaction().execute(async (trx) => {
        const userId = await redeemOwnerLink({ ...deps, db: trx }, body.code)
        await recordAudit(trx, pageCaller(userId, request), await onUser(trx, 'user.sign_in', userId))
        return withCookie(await startDashboardSession({ ...deps, db: trx }, userId))
      })
    }),
    handle(signOutRoute, async ({ request }) => {
      refuseForeignOrigin(originOf(request))
      return deps.db.transaction().execute(async (trx) => {
        const { cookie, userId } = await endDashboardSession({ ...deps, db: trx }, request.headers.get('cookie'))
        if (userId !== null)
          await recordAudit(trx, pageCaller(userId, request), await onUser(trx, 'user.sign_out', userId))
        return withCookie(cookie)
      })
    }),
  ]
}

/** Who signs in or out: known by the link or the cookie, and by no token. */
function pageCaller(userId: string, request: RequestInfo): Caller<UserActor> {
  const actor = { kind: 'user', user_id: userId, token_id: null, expires_at: null } as const
  return { actor, requestId: request.id, address: request.address }
}

/** What concerns a user alone is told in the account they start in. */
async function onUser(db: DbOrTransaction, action: string, userId: string) {
  const [account] = await accountsOfUser(db, userId)
  return { account_id: account?.account_id ?? null, project_id: null, action, object_type: 'user', object_id: userId }
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
