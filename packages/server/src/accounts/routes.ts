import {
  addMemberRoute,
  changeRoleRoute,
  confirmSignInRoute,
  createAccountRoute,
  createOwnerLinkRoute,
  endDashboardSessionRoute,
  getMeRoute,
  getPasswordRoute,
  listAccountsRoute,
  listAuditRoute,
  listDashboardSessionsRoute,
  listMembersRoute,
  removeMemberRoute,
  ServiceError,
  setPasswordRoute,
  type SignInWay,
  signInMethodsRoute,
  signInRoute,
  signInWithPasswordRoute,
  signOutRoute,
  updateAccountRoute,
} from '@svc/contract'
import { listAudit } from '../audit/list.ts'
import { recordAudit } from '../audit/record.ts'
import type { Caller, UserActor } from '../auth/actor.ts'
import { isUuid, notFound } from '../auth/allow.ts'
import {
  endDashboardSession,
  endDashboardSessionById,
  listDashboardSessions,
  refuseForeignOrigin,
  startDashboardSession,
} from '../auth/dashboard-session.ts'
import type { Deps } from '../deps.ts'
import { handle, type Mounted } from '../http/mount.ts'
import { Page } from '../http/page.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { createAccount, updateAccount } from './change.ts'
import { signUp } from './invitations/accept.ts'
import { invite } from './invitations/invite.ts'
import { changeRole, removeMember } from './members.ts'
import { onUser } from './on-user.ts'
import { createOwnerLink, redeemOwnerLink } from './owner-link.ts'
import { checkPassword, confirmPassword, setPassword } from './password.ts'
import { accountsOfUser, findPassword, getUser, listMembers } from './store.ts'
import { deviceOf, trustDevice } from './trusted-devices.ts'

export function accountRoutes(deps: Deps): Mounted[] {
  return [
    handle(getMeRoute, async ({ caller }) => {
      const accounts = await accountsOfUser(deps.db, caller.actor.user_id)
      const account = accounts[0]
      if (account === undefined) throw new ServiceError('forbidden', 'You are not a member of any account.')
      return { user: await getUser(deps.db, caller.actor.user_id), account, accounts }
    }),
    handle(listAccountsRoute, async ({ caller }) => ({
      accounts: await accountsOfUser(deps.db, caller.actor.user_id),
    })),
    handle(createAccountRoute, ({ body, caller, request }) =>
      createAccount(deps, { ...body, caller, accountId: request.resourceId }),
    ),
    handle(updateAccountRoute, ({ account, body, caller }) => updateAccount(deps, { ...body, account, caller })),
    handle(listMembersRoute, async ({ account, query }) => {
      const { rows, next } = await listMembers(deps.db, account.account_id, query)
      return new Page(rows, next)
    }),
    handle(addMemberRoute, ({ account, body, caller }) => invite(deps, { account, caller, ...body })),
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
    handle(createOwnerLinkRoute, ({ caller }) => createOwnerLink(deps, caller)),
    handle(signInMethodsRoute, async () => ({ password: true as const, oidc: deps.config.oidc?.name ?? null })),
    handle(signInRoute, async ({ body, request }) => {
      refuseForeignOrigin(deps.config.publicUrl, originOf(request))
      return deps.db.transaction().execute(async (trx) => {
        const inTrx = { ...deps, db: trx }
        const callerOf = (userId: string) => pageCaller(userId, request)
        const userId = (await redeemOwnerLink(inTrx, body.code)) ?? (await signUp(deps, trx, { ...body, callerOf }))
        if (userId === null) throw spentLink()
        await recordAudit(trx, callerOf(userId), {
          ...(await onUser(trx, 'user.sign_in', userId)),
          after: { by: 'link' },
        })
        return withCookies(
          await startDashboardSession(inTrx, userId, browserOf(request, 'link')),
          await trustDevice(inTrx, userId, request.headers.get('cookie')),
        )
      })
    }),
    handle(signInWithPasswordRoute, async ({ body, request }) => {
      refuseForeignOrigin(deps.config.publicUrl, originOf(request))
      const device = deviceOf(deps.config.publicUrl, request.headers.get('cookie'))
      const by = { address: request.address, device: device === null ? null : { kind: 'cookie' as const, id: device } }
      const userId = await checkPassword(deps, { ...body, by })
      return deps.db.transaction().execute(async (trx) => {
        await recordAudit(trx, pageCaller(userId, request), await onUser(trx, 'user.sign_in', userId))
        return withCookies(
          await startDashboardSession({ ...deps, db: trx }, userId, browserOf(request, 'password')),
          await trustDevice({ ...deps, db: trx }, userId, request.headers.get('cookie')),
        )
      })
    }),
    handle(getPasswordRoute, async ({ caller }) => {
      const found = await findPassword(deps.db, { user_id: caller.actor.user_id })
      return { email: found?.email ?? null, is_set: found?.hash != null }
    }),
    handle(setPasswordRoute, async ({ caller, body }) => {
      await setPassword(deps, caller, body)
      return { ok: true }
    }),
    handle(confirmSignInRoute, async ({ caller, body }) => {
      await confirmPassword(deps, caller, body.password)
      return { ok: true }
    }),
    handle(listDashboardSessionsRoute, async ({ caller: { actor } }) => {
      const sessions = await listDashboardSessions(deps, actor.user_id)
      return sessions.map((session) => ({
        ...session,
        current: session.dashboard_session_id === actor.dashboard_session?.id,
      }))
    }),
    handle(endDashboardSessionRoute, async ({ caller, params }) => {
      const { user_id: userId } = caller.actor
      const id = params.dashboardSessionId
      await deps.db.transaction().execute(async (trx) => {
        if (!isUuid(id) || !(await endDashboardSessionById(trx, { id, userId }))) throw notFound('dashboard session')
        await recordAudit(trx, caller, {
          ...(await onUser(trx, 'dashboard_session.end', userId)),
          object_type: 'dashboard_session',
          object_id: id,
        })
      })
      return { ok: true }
    }),
    handle(signOutRoute, async ({ request }) => {
      refuseForeignOrigin(deps.config.publicUrl, originOf(request))
      return deps.db.transaction().execute(async (trx) => {
        const { cookie, userId } = await endDashboardSession({ ...deps, db: trx }, request.headers.get('cookie'))
        if (userId !== null)
          await recordAudit(trx, pageCaller(userId, request), await onUser(trx, 'user.sign_out', userId))
        return withCookies(cookie)
      })
    }),
  ]
}

function spentLink(): ServiceError {
  return new ServiceError('unauthenticated', 'This link was used already or has expired.', {
    hint: 'An owner makes a new one: `svc self-host owner-link` where the server runs, or an invitation on the page Members.',
  })
}

function browserOf(request: RequestInfo, began_by: SignInWay) {
  return { began_by, address: request.address, user_agent: request.headers.get('user-agent')?.slice(0, 300) ?? null }
}

/** Who signs in or out: known by the link or the cookie, and by no token. */
function pageCaller(userId: string, request: RequestInfo): Caller<UserActor> {
  const actor = { kind: 'user', user_id: userId, token_id: null, expires_at: null } as const
  return { actor, requestId: request.id, address: request.address }
}

function originOf(request: { method: string; headers: Headers }) {
  return {
    method: request.method,
    origin: request.headers.get('origin'),
    secFetchSite: request.headers.get('sec-fetch-site'),
    host: request.headers.get('host'),
  }
}

function withCookies(...cookies: string[]): Response {
  const headers = new Headers({ 'cache-control': 'no-store' })
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return Response.json({ ok: true }, { headers })
}
